// TanhGrad: dX = dY * (1 - Y * Y).
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("TanhGrad", inputs, {"dY", "Y"});
}

Status reference(const KernelArgs& args) {
  return mapBinary(args, [](double dy, double y) { return dy * (1 - y * y); });
}

}  // namespace

OpDef tanhGradOp() {
  return {.name = "TanhGrad",
          .doc = "dX = dY * (1 - Y * Y). msdbg",
          .minInputs = 2,
          .maxInputs = 2,
          .inputNames = {"dY", "Y"},
          .outputNames = {"dX"},
          .infer = infer,
          .reference = reference};
}

}  // namespace msdbg::core
