// Pools of windows, and their gradients.
#include "core_engine/ops/average_pool.h"
#include "replay/explain/rows_internal.h"

namespace msdbg::replay {

using core::Span1d;
using core::Window;

namespace {

struct Pool {
  Window w;
  std::int64_t plane, at;  // the plane of the element, and where it is in that
};

/// `x`: the shape of the pooled tensor; `size`: the elements of a plane of what is asked for.
core::Result<Pool> poolOf(const Asked& asked, const core::Shape& x, bool gradient) {
  MSDBG_ASSIGN(const Window w, core::makeWindow(asked.node().opType, asked.attributes(), x[2], x[3]));
  const std::int64_t size = gradient ? w.inPlane() : w.outPlane();
  return Pool{w, asked.element() / size, asked.element() % size};
}

struct Covered {
  Span1d rows, columns;
};
Covered windowAt(const Window& w, std::int64_t at) {
  return {core::coveredRows(w, at / w.outW), core::coveredColumns(w, at % w.outW)};
}

template <typename F>
void forCovered(const Window& w, const Covered& c, const F& f) {
  for (std::int64_t i = c.rows.first; i < c.rows.last; i += c.rows.step)
    for (std::int64_t j = c.columns.first; j < c.columns.last; j += c.columns.step) f(i * w.inW + j);
}

bool holds(const Span1d& span, std::int64_t at) {
  return at >= span.first && at < span.last && (at - span.first) % span.step == 0;
}

/// f(window, what it covers) of all that cover an element of the plane.
template <typename F>
void forWindowsOver(const Window& w, std::int64_t element, const F& f) {
  for (std::int64_t at = 0; at < w.outPlane(); ++at) {
    const Covered c = windowAt(w, at);
    if (holds(c.rows, element / w.inW) && holds(c.columns, element % w.inW)) f(at, c);
  }
}

/// The place in the plane of what MaxPool takes of a window; -1: nothing.
std::int64_t taken(const Asked& asked, const Window& w, std::int64_t plane, const Covered& c) {
  const core::Tensor values =
      asked.input(0).part(plane * w.inPlane(), {w.inPlane()}).cast(core::DType::Float64);
  return core::firstMaximum(w, values.data<double>().data(), c.rows, c.columns);
}

}  // namespace

RowResult maxPoolRow(const Asked& asked) {
  MSDBG_ASSIGN(const Pool p, poolOf(asked, asked.shapeOf(0), false));
  const Covered c = windowAt(p.w, p.at);
  const std::int64_t best = taken(asked, p.w, p.plane, c), begin = p.plane * p.w.inPlane();
  if (best < 0) return core::Error(core::ErrorCode::kUnavailable, "the window is empty");
  asked.add(1, {{0, begin + best}});
  forCovered(p.w, c, [&](std::int64_t at) {
    if (at != best) asked.read(0, begin + at);
  });
  return Relation::kChoice;
}

RowResult maxPoolGradRow(const Asked& asked) {
  MSDBG_ASSIGN(const Pool p, poolOf(asked, asked.shapeOf(0), true));
  forWindowsOver(p.w, p.at, [&](std::int64_t window, const Covered& c) {
    if (taken(asked, p.w, p.plane, c) == p.at) asked.add(1, {{2, p.plane * p.w.outPlane() + window}});
    forCovered(p.w, c, [&](std::int64_t at) { asked.read(0, p.plane * p.w.inPlane() + at); });
  });
  return Relation::kSum;
}

RowResult averagePoolRow(const Asked& asked) {
  MSDBG_ASSIGN(const Pool p, poolOf(asked, asked.shapeOf(0), false));
  const Covered c = windowAt(p.w, p.at);
  const double share =
      1 / core::windowCount(p.w, p.at, c.rows, c.columns, core::includesPad(asked.attributes()));
  forCovered(p.w, c, [&](std::int64_t at) { asked.add(share, {{0, p.plane * p.w.inPlane() + at}}); });
  return Relation::kSum;
}

RowResult averagePoolGradRow(const Asked& asked) {
  MSDBG_ASSIGN(const Pool p, poolOf(asked, asked.shape(), true));
  forWindowsOver(p.w, p.at, [&](std::int64_t window, const Covered& c) {
    const double share =
        1 / core::windowCount(p.w, window, c.rows, c.columns, core::includesPad(asked.attributes()));
    asked.add(share, {{0, p.plane * p.w.outPlane() + window}});
  });
  return Relation::kSum;
}

}  // namespace msdbg::replay
