// SigmoidGrad: dX = dY * Y * (1 - Y).
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("SigmoidGrad", inputs, {"dY", "Y"});
}

Status reference(const KernelArgs& args) {
  return mapBinary(args, [](double dy, double y) { return dy * y * (1 - y); });
}

}  // namespace

OpDef sigmoidGradOp() {
  return {.name = "SigmoidGrad",
          .doc = "dX = dY * Y * (1 - Y). msdbg",
          .minInputs = 2,
          .maxInputs = 2,
          .inputNames = {"dY", "Y"},
          .outputNames = {"dX"},
          .infer = infer,
          .reference = reference};
}

}  // namespace msdbg::core
