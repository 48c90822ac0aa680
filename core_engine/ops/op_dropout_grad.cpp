// DropoutGrad: the gradient passes where Dropout kept the element, with the same factor.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/dropout.h"
#include "core_engine/ops/elementwise.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kName = "DropoutGrad";

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkInputs(kName, inputs, {"dY", "mask"}));
  MSDBG_TRY(checkFloatingInputs(kName, inputs.first(1), {"dY"}));
  MSDBG_TRY(checkDType(kName, "mask", inputs[1], DType::Bool));
  MSDBG_TRY(checkShape(kName, "mask", inputs[1], inputs[0].shape));
  MSDBG_TRY(checkDropRatio(kName, attributes));
  return std::vector{inputs[0]};
}

Status reference(const KernelArgs& args) {
  const double scale = keptScale(dropRatio(args.node.attributes));
  const auto mask = args.inputs[1]->data<bool>();
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto dy = args.inputs[0]->data<T>();
    const auto dx = args.outputs[0]->data<T>();
    parallelFor(args.outputs[0]->elements(), args.state.threads,
                [&](std::int64_t i) { dx[i] = mask[i] ? static_cast<T>(dy[i] * scale) : T(0); });
  });
  return Ok{};
}

}  // namespace

OpDef dropoutGradOp() {
  return {.name = kName,
          .doc = "dX = mask * dY / (1 - ratio). msdbg",
          .minInputs = 2,
          .maxInputs = 2,
          .inputNames = {"dY", "mask"},
          .outputNames = {"dX"},
          .attributes = dropoutAttributes(),
          .infer = infer,
          .reference = reference};
}

}  // namespace msdbg::core
