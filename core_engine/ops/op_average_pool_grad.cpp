// AveragePoolGrad: each window's gradient, divided by its count, goes to all its elements.
#include "core_engine/ops/average_pool.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/gradient.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kName = "AveragePoolGrad";

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkFloatingInputs(kName, inputs, {"dY"}));
  const Shape x(intsAttribute(attributes, "shape", {}));
  MSDBG_TRY(checkSize(kName, "attribute shape", x));
  MSDBG_ASSIGN(const Shape pooled, pooledShape(kName, {inputs[0].dtype, x}, attributes));
  MSDBG_TRY(checkShape(kName, "dY", inputs[0], pooled));
  return std::vector<TensorType>{{inputs[0].dtype, x}};
}

/// Sums of overlapping windows in window order, in double.
template <typename T>
void spreadPlane(const Window& w, bool includePad, const T* dy, T* dx) {
  std::vector<double> sums(w.inPlane(), 0.0);
  forWindows(w, [&](std::int64_t at, const Span1d& rows, const Span1d& columns) {
    const double share = dy[at] / windowCount(w, at, rows, columns, includePad);
    for (std::int64_t i = rows.first; i < rows.last; i += rows.step)
      for (std::int64_t j = columns.first; j < columns.last; j += columns.step) sums[i * w.inW + j] += share;
  });
  for (std::int64_t i = 0; i < w.inPlane(); ++i) dx[i] = static_cast<T>(sums[i]);
}

Status reference(const KernelArgs& args) {
  const Shape& shape = args.outputs[0]->shape();
  const Window w = makeWindow(kName, args.node.attributes, shape[2], shape[3]).value();
  const bool includePad = includesPad(args.node.attributes);
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    parallelFor(shape[0] * shape[1], args.state.threads, 2, [&](std::int64_t plane) {
      spreadPlane(w, includePad, args.inputs[0]->data<T>().data() + plane * w.outPlane(),
                  args.outputs[0]->data<T>().data() + plane * w.inPlane());
    });
  });
  return Ok{};
}

}  // namespace

OpDef averagePoolGradOp() {
  OpDef op{.name = kName,
           .doc = "dX receives dY / count of every window that covers it. msdbg",
           .inputNames = {"dY"},
           .outputNames = {"dX"},
           .attributes = averagePoolAttributes(),
           .infer = infer,
           .reference = reference};
  op.attributes.push_back({"shape", "ints", "required", "the shape of X"});
  return op;
}

}  // namespace msdbg::core
