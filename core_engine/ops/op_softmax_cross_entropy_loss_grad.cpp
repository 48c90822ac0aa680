// SoftmaxCrossEntropyLossGrad: (softmax - one hot) * dloss / rows.
#include "core_engine/ops/axis_lines.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/labels.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kName = "SoftmaxCrossEntropyLossGrad";

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  MSDBG_TRY(checkInputs(kName, inputs, {"log_prob", "labels", "dloss"}));
  MSDBG_TRY(checkFloatingInputs(kName, inputs.first(1), {"log_prob"}));
  MSDBG_TRY(checkDType(kName, "labels", inputs[1], DType::Int64));
  MSDBG_ASSIGN(const Shape wanted, labelShape(kName, inputs[0]));
  MSDBG_TRY(checkShape(kName, "labels", inputs[1], wanted));
  MSDBG_TRY(checkDType(kName, "dloss", inputs[2], inputs[0].dtype));
  MSDBG_TRY(checkShape(kName, "dloss", inputs[2], Shape{}));
  return std::vector<TensorType>{inputs[0]};
}

Status reference(const KernelArgs& args) {
  const AxisLines rows = axisLines(args.inputs[0]->shape(), 1);
  MSDBG_TRY(checkLabels(args.node, *args.inputs[1], rows.length));
  const auto label = args.inputs[1]->data<std::int64_t>();
  const double scale = args.inputs[2]->at(0) / static_cast<double>(rows.lines());
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto y = args.inputs[0]->data<T>();
    const auto dx = args.outputs[0]->data<T>();
    parallelFor(rows.lines(), args.state.threads, 64, [&](std::int64_t row) {
      for (std::int64_t c = 0; c < rows.length; ++c) {
        const std::int64_t i = rows.begin(row) + c * rows.inner;
        dx[i] = static_cast<T>((std::exp(static_cast<double>(y[i])) - (c == label[row] ? 1.0 : 0.0)) * scale);
      }
    });
  });
  return Ok{};
}

}  // namespace

OpDef softmaxCrossEntropyLossGradOp() {
  return {.name = kName,
          .doc = "dlogits = (exp(log_prob) - onehot(labels)) * dloss / rows. msdbg",
          .minInputs = 3,
          .maxInputs = 3,
          .inputNames = {"log_prob", "labels", "dloss"},
          .outputNames = {"dlogits"},
          .infer = infer,
          .reference = reference};
}

}  // namespace msdbg::core
