// MaxPoolGrad: each window's gradient goes to the element that MaxPool took.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/pool.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkFloatingInputs("MaxPoolGrad", inputs, {"X", "Y", "dY"}));
  MSDBG_ASSIGN(const Shape pooled, pooledShape("MaxPoolGrad", inputs[0], attributes));
  MSDBG_TRY(checkShape("MaxPoolGrad", "Y", inputs[1], pooled));
  MSDBG_TRY(checkShape("MaxPoolGrad", "dY", inputs[2], pooled));
  return std::vector{inputs[0]};
}

/// Sums of overlapping windows in window order, in double.
template <typename T>
void routePlane(const Window& w, const T* x, const T* dy, T* dx) {
  std::vector<double> sums(w.inPlane(), 0.0);
  forWindows(w, [&](std::int64_t at, const Span1d& rows, const Span1d& columns) {
    const std::int64_t best = firstMaximum(w, x, rows, columns);
    if (best >= 0) sums[best] += dy[at];
  });
  for (std::int64_t i = 0; i < w.inPlane(); ++i) dx[i] = static_cast<T>(sums[i]);
}

Status reference(const KernelArgs& args) {
  const Shape& shape = args.inputs[0]->shape();
  const Window w = makeWindow("MaxPoolGrad", args.node.attributes, shape[2], shape[3]).value();
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    parallelFor(shape[0] * shape[1], args.state.threads, 2, [&](std::int64_t plane) {
      routePlane(w, args.inputs[0]->data<T>().data() + plane * w.inPlane(),
                 args.inputs[2]->data<T>().data() + plane * w.outPlane(),
                 args.outputs[0]->data<T>().data() + plane * w.inPlane());
    });
  });
  return Ok{};
}

}  // namespace

OpDef maxPoolGradOp() {
  return {.name = "MaxPoolGrad",
          .doc =
              "dX receives each dY at the first maximum (or first NaN) of its window, found again from X; Y "
              "is there "
              "for kernels that compare instead. msdbg",
          .minInputs = 3,
          .maxInputs = 3,
          .inputNames = {"X", "Y", "dY"},
          .outputNames = {"dX"},
          .attributes = poolAttributes(),
          .infer = infer,
          .reference = reference};
}

}  // namespace msdbg::core
