// A tensor as lines along one axis: Softmax and its relatives work on one line at a time.
#pragma once

#include <algorithm>
#include <cmath>

#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {

/// Element i of line l lies at begin(l) + i * inner.
struct AxisLines {
  std::int64_t outer = 1, length = 1, inner = 1;
  std::int64_t lines() const { return length == 0 ? 0 : outer * inner; }
  std::int64_t begin(std::int64_t line) const { return line / inner * length * inner + line % inner; }
};

inline AxisLines axisLines(const Shape& shape, std::size_t axis) {
  AxisLines lines;
  for (std::size_t d = 0; d < shape.rank(); ++d)
    (d < axis ? lines.outer : d == axis ? lines.length : lines.inner) *= shape[d];
  return lines;
}
/// Along attribute `axis` (default -1), which infer has checked.
inline AxisLines axisLines(const KernelArgs& args) {
  const Shape& shape = args.outputs[0]->shape();
  return axisLines(shape,
                   checkAxis("", intAttribute(args.node.attributes, "axis", -1), shape.rank()).value());
}
/// infer of operators along an axis: shapes as inferSameShape.
inline Result<std::vector<TensorType>> inferAlongAxis(std::string_view op, InputTypes inputs,
                                                      InputNames names, const Attributes& attributes) {
  MSDBG_ASSIGN(std::vector<TensorType> types, inferSameShape(op, inputs, names));
  if (auto axis = checkAxis(op, intAttribute(attributes, "axis", -1), types[0].shape.rank()); !axis)
    return axis.error();
  return types;
}

/// f(T{}, line) for every line, on the node's threads.
template <typename F>
void forLines(const KernelArgs& args, const AxisLines& lines, const F& f) {
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) {
    parallelFor(lines.lines(), args.state.threads, 64,
                [&](std::int64_t line) { f(zero, lines.begin(line)); });
  });
}

/// log(sum(exp(x))) = largest + log(sum(exp(x - largest))), summed in line order. NaN if one is NaN.
struct LogSumExp {
  double largest = 0, sum = 0;
};
template <typename T>
LogSumExp logSumExp(const T* x, const AxisLines& lines) {
  LogSumExp r{static_cast<double>(x[0]), 0};
  for (std::int64_t i = 1; i < lines.length; ++i)
    r.largest = std::max(r.largest, static_cast<double>(x[i * lines.inner]));
  for (std::int64_t i = 0; i < lines.length; ++i) r.sum += std::exp(x[i * lines.inner] - r.largest);
  return r;
}

}  // namespace msdbg::core
