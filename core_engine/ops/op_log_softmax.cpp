// LogSoftmax: Y = X - log(sum(exp(X))) along an axis, shifted by the maximum.
#include "core_engine/ops/axis_lines.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/gradient.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  return inferAlongAxis("LogSoftmax", inputs, {"X"}, attributes);
}

Gradients gradient(GradientBuilder& b) {
  return unaryGradient(b, "LogSoftmaxGrad", {b.output(0)}, b.forward().attributes);
}

Status reference(const KernelArgs& args) {
  const AxisLines lines = axisLines(args);
  forLines(args, lines, [&]<typename T>(T, std::int64_t begin) {
    const T* x = args.inputs[0]->data<T>().data() + begin;
    T* y = args.outputs[0]->data<T>().data() + begin;
    const LogSumExp s = logSumExp(x, lines);
    const double logSum = std::log(s.sum);
    for (std::int64_t i = 0; i < lines.length * lines.inner; i += lines.inner)
      y[i] = static_cast<T>((x[i] - s.largest) - logSum);
  });
  return Ok{};
}

}  // namespace

OpDef logSoftmaxOp() {
  return {.name = "LogSoftmax",
          .doc = "Y = X - log(sum(exp(X))) along an axis, shifted by the maximum. ONNX LogSoftmax-13",
          .inputNames = {"X"},
          .outputNames = {"Y"},
          .attributes = {{"axis", "int", "-1", "the axis to normalise along; negative counts from the end"}},
          .infer = infer,
          .gradient = gradient,
          .reference = reference,
          .activation = true};
}

}  // namespace msdbg::core
