// What MaxPool, AveragePool and their gradients share: the output shape, the walk over windows and the place
// of a window's maximum.
#pragma once

#include <cmath>

#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/window.h"

namespace msdbg::core {

inline Result<Shape> pooledShape(std::string_view op, const TensorType& x, const Attributes& attributes) {
  MSDBG_TRY(checkRank(op, "X", x, 4));
  MSDBG_ASSIGN(const Window w, makeWindow(op, attributes, x.shape[2], x.shape[3]));
  return Shape{x.shape[0], x.shape[1], w.outH, w.outW};
}

/// f(output index in the plane, rows, columns) for every window of a plane, in row-major order.
template <typename F>
void forWindows(const Window& w, const F& f) {
  for (std::int64_t oy = 0; oy < w.outH; ++oy)
    for (std::int64_t ox = 0; ox < w.outW; ++ox)
      f(oy * w.outW + ox, coveredRows(w, oy), coveredColumns(w, ox));
}

/// Index in the plane of the first NaN, else of the first maximum, in row-major order; -1: an empty window.
template <typename T>
std::int64_t firstMaximum(const Window& w, const T* plane, const Span1d& rows, const Span1d& columns) {
  if (rows.first >= rows.last || columns.first >= columns.last) return -1;
  std::int64_t best = rows.first * w.inW + columns.first;
  for (std::int64_t y = rows.first; y < rows.last; y += rows.step) {
    for (std::int64_t x = columns.first; x < columns.last; x += columns.step) {
      const std::int64_t at = y * w.inW + x;
      if (std::isnan(plane[best])) return best;
      if (plane[at] > plane[best] || std::isnan(plane[at])) best = at;
    }
  }
  return best;
}

/// The attributes of pools: a window's, and ceil_mode.
inline std::vector<AttributeDoc> poolAttributes() {
  std::vector<AttributeDoc> attributes = windowAttributes("required");
  attributes.push_back({"ceil_mode", "int", "0", "1: the output size is rounded up"});
  return attributes;
}

}  // namespace msdbg::core
