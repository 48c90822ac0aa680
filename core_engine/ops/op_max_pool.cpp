// MaxPool: the largest value of each window. NaN counts as larger than everything; of equal values the first
// wins.
#include <limits>

#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/pool.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkFloatingInputs("MaxPool", inputs, {"X"}));
  MSDBG_ASSIGN(const Shape pooled, pooledShape("MaxPool", inputs[0], attributes));
  return std::vector<TensorType>{{inputs[0].dtype, pooled}};
}

Gradients gradient(GradientBuilder& b) {
  Gradients gradients(1);
  if (b.wanted(0))
    gradients[0] =
        b.apply1("MaxPoolGrad", {b.input(0), b.output(0), *b.outputGradient(0)}, b.forward().attributes);
  return gradients;
}

Status reference(const KernelArgs& args) {
  const Shape& shape = args.inputs[0]->shape();
  const Window w = makeWindow("MaxPool", args.node.attributes, shape[2], shape[3]).value();
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    parallelFor(shape[0] * shape[1], args.state.threads, 2, [&](std::int64_t plane) {
      const T* x = args.inputs[0]->data<T>().data() + plane * w.inPlane();
      T* y = args.outputs[0]->data<T>().data() + plane * w.outPlane();
      forWindows(w, [&](std::int64_t at, const Span1d& rows, const Span1d& columns) {
        const std::int64_t best = firstMaximum(w, x, rows, columns);
        y[at] = best < 0 ? -std::numeric_limits<T>::infinity() : x[best];
      });
    });
  });
  return Ok{};
}

}  // namespace

OpDef maxPoolOp() {
  return {
      .name = "MaxPool",
      .doc =
          "Largest value of each window of X [N,C,H,W]; padding never wins; NaN propagates. ONNX MaxPool-12 "
          "without indices",
      .inputNames = {"X"},
      .outputNames = {"Y"},
      .attributes = poolAttributes(),
      .infer = infer,
      .gradient = gradient,
      .reference = reference};
}

}  // namespace msdbg::core
