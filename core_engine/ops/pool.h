// What MaxPool and MaxPoolGrad share: the output shape, the walk over windows and the place of a window's
// maximum.
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

/// Index in the plane of the first NaN, else of the first maximum, in row-major order. Windows are never
/// empty (makeWindow: pads are smaller than the kernel).
template <typename T>
std::int64_t firstMaximum(const Window& w, const T* plane, const Span1d& rows, const Span1d& columns) {
  std::int64_t best = rows.first * w.inW + columns.first;
  for (std::int64_t y = rows.first; y < rows.last; ++y) {
    for (std::int64_t at = y * w.inW + columns.first; at < y * w.inW + columns.last; ++at) {
      if (std::isnan(plane[best])) return best;
      if (plane[at] > plane[best] || std::isnan(plane[at])) best = at;
    }
  }
  return best;
}

}  // namespace msdbg::core
