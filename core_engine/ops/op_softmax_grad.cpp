// SoftmaxGrad: dX = (dY - sum(dY * Y)) * Y, sums along the axis.
#include "core_engine/ops/axis_lines.h"
#include "core_engine/ops/builtin_ops.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  return inferAlongAxis("SoftmaxGrad", inputs, {"dY", "Y"}, attributes);
}

Status reference(const KernelArgs& args) {
  const AxisLines lines = axisLines(args);
  forLines(args, lines, [&]<typename T>(T, std::int64_t begin) {
    const T* dy = args.inputs[0]->data<T>().data() + begin;
    const T* y = args.inputs[1]->data<T>().data() + begin;
    T* dx = args.outputs[0]->data<T>().data() + begin;
    const std::int64_t end = lines.length * lines.inner;
    double dot = 0;
    for (std::int64_t i = 0; i < end; i += lines.inner) dot += static_cast<double>(dy[i]) * y[i];
    for (std::int64_t i = 0; i < end; i += lines.inner) dx[i] = static_cast<T>((dy[i] - dot) * y[i]);
  });
  return Ok{};
}

}  // namespace

OpDef softmaxGradOp() {
  return {.name = "SoftmaxGrad",
          .doc = "dX = (dY - sum(dY * Y)) * Y, sums along the axis. msdbg",
          .minInputs = 2,
          .maxInputs = 2,
          .inputNames = {"dY", "Y"},
          .outputNames = {"dX"},
          .attributes = {{"axis", "int", "-1", "as in Softmax"}},
          .infer = infer,
          .reference = reference};
}

}  // namespace msdbg::core
