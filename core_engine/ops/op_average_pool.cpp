// AveragePool: the mean of each window, summed in row-major order.
#include "core_engine/ops/average_pool.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/gradient.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkFloatingInputs("AveragePool", inputs, {"X"}));
  MSDBG_ASSIGN(const Shape pooled, pooledShape("AveragePool", inputs[0], attributes));
  return std::vector<TensorType>{{inputs[0].dtype, pooled}};
}

Gradients gradient(GradientBuilder& b) {
  return unaryGradient(b, "AveragePoolGrad", {}, with(b.forward().attributes, "shape", b.input(0).shape()));
}

template <typename T>
double sumOf(const Window& w, const T* x, const Span1d& rows, const Span1d& columns) {
  double sum = 0;
  for (std::int64_t i = rows.first; i < rows.last; i += rows.step)
    for (std::int64_t j = columns.first; j < columns.last; j += columns.step) sum += x[i * w.inW + j];
  return sum;
}

Status reference(const KernelArgs& args) {
  const Shape& shape = args.inputs[0]->shape();
  const Window w = makeWindow("AveragePool", args.node.attributes, shape[2], shape[3]).value();
  const bool includePad = includesPad(args.node.attributes);
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    parallelFor(shape[0] * shape[1], args.state.threads, 2, [&](std::int64_t plane) {
      const T* x = args.inputs[0]->data<T>().data() + plane * w.inPlane();
      T* y = args.outputs[0]->data<T>().data() + plane * w.outPlane();
      forWindows(w, [&](std::int64_t at, const Span1d& rows, const Span1d& columns) {
        y[at] = static_cast<T>(sumOf(w, x, rows, columns) / windowCount(w, at, rows, columns, includePad));
      });
    });
  });
  return Ok{};
}

}  // namespace

OpDef averagePoolOp() {
  return {.name = "AveragePool",
          .doc =
              "Mean of each window of X [N,C,H,W], without padding unless count_include_pad. ONNX "
              "AveragePool-19",
          .inputNames = {"X"},
          .outputNames = {"Y"},
          .attributes = averagePoolAttributes(),
          .infer = infer,
          .gradient = gradient,
          .reference = reference};
}

}  // namespace msdbg::core
