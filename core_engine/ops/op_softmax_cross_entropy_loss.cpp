// SoftmaxCrossEntropyLoss: the mean of -log softmax(logits)[label] over all rows, summed in row order.
#include <string>

#include "core_engine/ops/axis_lines.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/labels.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kName = "SoftmaxCrossEntropyLoss";

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkInputs(kName, inputs, {"logits", "labels"}));
  MSDBG_TRY(checkFloatingInputs(kName, inputs.first(1), {"logits"}));
  MSDBG_TRY(checkDType(kName, "labels", inputs[1], DType::Int64));
  if (stringAttribute(attributes, "reduction", "mean") != "mean")
    return Error(ErrorCode::kUnsupported, std::string(kName) + ": only reduction mean is implemented");
  MSDBG_ASSIGN(const Shape wanted, labelShape(kName, inputs[0]));
  MSDBG_TRY(checkShape(kName, "labels", inputs[1], wanted));
  return std::vector<TensorType>{{inputs[0].dtype, Shape{}}, inputs[0]};
}

Gradients gradient(GradientBuilder& b) {
  Gradients gradients(2);
  if (!b.wanted(0)) return gradients;
  const Value logProb = b.output(1);
  if (b.outputGradient(0))
    gradients[0] = b.apply1("SoftmaxCrossEntropyLossGrad", {logProb, b.input(1), *b.outputGradient(0)});
  if (!b.outputGradient(1)) return gradients;
  const Value through =
      b.apply1("LogSoftmaxGrad", {*b.outputGradient(1), logProb}, {{"axis", std::int64_t{1}}});
  gradients[0] = gradients[0] ? b.apply1("Add", {*gradients[0], through}) : through;
  return gradients;
}

template <typename T>
void logProbability(const KernelArgs& args, const AxisLines& rows) {
  const T* x = args.inputs[0]->data<T>().data();
  T* y = args.outputs[1]->data<T>().data();
  parallelFor(rows.lines(), args.state.threads, 64, [&](std::int64_t row) {
    const std::int64_t begin = rows.begin(row);
    const LogSumExp s = logSumExp(x + begin, rows);
    const double logSum = std::log(s.sum);
    for (std::int64_t i = begin; i < begin + rows.length * rows.inner; i += rows.inner)
      y[i] = static_cast<T>((x[i] - s.largest) - logSum);
  });
}

template <typename T>
void meanLoss(const KernelArgs& args, const AxisLines& rows) {
  const auto label = args.inputs[1]->data<std::int64_t>();
  const auto y = args.outputs[1]->data<T>();
  double sum = 0;
  for (std::int64_t row = 0; row < rows.lines(); ++row) sum -= y[rows.begin(row) + label[row] * rows.inner];
  args.outputs[0]->data<T>()[0] = static_cast<T>(sum / static_cast<double>(rows.lines()));
}

Status reference(const KernelArgs& args) {
  const AxisLines rows = axisLines(args.inputs[0]->shape(), 1);
  MSDBG_TRY(checkLabels(args.node, *args.inputs[1], rows.length));
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) {
    logProbability<decltype(zero)>(args, rows);
    meanLoss<decltype(zero)>(args, rows);
  });
  return Ok{};
}

}  // namespace

OpDef softmaxCrossEntropyLossOp() {
  return {.name = kName,
          .doc =
              "loss = mean over rows of -log_prob[label], log_prob = LogSoftmax(logits) along axis 1. ONNX "
              "SoftmaxCrossEntropyLoss-13 with reduction mean, without weights and ignore_index",
          .minInputs = 2,
          .maxInputs = 2,
          .inputNames = {"logits", "labels"},
          .outputNames = {"loss", "log_prob"},
          .attributes = {{"reduction", "string", "mean", "only mean"}},
          .infer = infer,
          .gradient = gradient,
          .reference = reference};
}

}  // namespace msdbg::core
