// ReluGrad: dX = dY where Y > 0 or Y is NaN, else 0.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("ReluGrad", inputs, {"dY", "Y"});
}

Status reference(const KernelArgs& args) {
  return mapBinary(args, [](double dy, double y) { return y <= 0 ? 0.0 : dy; });
}

}  // namespace

OpDef reluGradOp() {
  return {.name = "ReluGrad",
          .doc = "dX = dY where Y > 0 or Y is NaN, else 0. msdbg",
          .minInputs = 2,
          .maxInputs = 2,
          .inputNames = {"dY", "Y"},
          .outputNames = {"dX"},
          .infer = infer,
          .reference = reference};
}

}  // namespace msdbg::core
