// The layout of one scope: sizes of boxes in, places of boxes and curves of edges out. Two ways, chosen by
// layOut(): layers of linear cost, and columns for the parts of a training graph side by side. Pure functions
// of their input, the same on every run; any thread. Lengths are in pixels at zoom 1, y grows downwards.
#pragma once

#include <vector>

#include "core_engine/base/cancel.h"

namespace msdbg::graphview {

struct Size {
  double width = 0, height = 0;
  bool operator==(const Size&) const = default;
};
struct Point {
  double x = 0, y = 0;
  bool operator==(const Point&) const = default;
};
struct Rect {
  double x = 0, y = 0, width = 0, height = 0;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
  Point center() const { return {x + width / 2, y + height / 2}; }
  bool operator==(const Rect&) const = default;
};

struct Link {
  int from = 0, to = 0;   // boxes; any direction, but mostly from a lower to a higher index
  double labelWidth = 0;  // room wanted beside the curve; 0: no label
};

struct LayoutProblem {
  std::vector<Size> boxes;    // their order is the order of time: a link against it is drawn backwards
  std::vector<Link> links;    // each pair of boxes at most once, no loops
  int entry = -1, exit = -1;  // the boxes that stand for the scope's upper and lower border; -1: none
  bool columns = false;       // side by side, from left to right
};

/// A curve of cubic Bézier pieces: start, then (control, control, end) again and again. It starts at the
/// border of `from` and its last point is where the arrow's tip touches `to`.
using Curve = std::vector<Point>;

struct LayoutResult {
  Size size;                // all of it; boxes and curves lie within (0, 0, size)
  std::vector<Rect> boxes;  // entry and exit: points in the middle of the upper and lower side
  std::vector<Curve> curves;
  std::vector<Point> labels;  // where the label of a link is centred
};

LayoutResult layOut(const LayoutProblem& problem, const core::CancelToken& cancel = {});

/// Layers by longest path, crossings reduced by medians. Time and space grow linearly with boxes and links.
LayoutResult layeredLayout(const LayoutProblem& problem, const core::CancelToken& cancel = {});
LayoutResult columnsLayout(const LayoutProblem& problem);

// Shared by the ways above.
inline constexpr double kBoxGap = 26, kLayerGap = 38, kArrowLength = 9;
/// From the middle of one box's lower side to the middle of another's upper side.
Curve straightCurve(Point from, Point to);
Point curvePoint(const Curve& curve, double share);  // share in [0, 1] of its pieces
/// Labels beside the first stretch of each curve.
void placeLabels(const LayoutProblem& problem, LayoutResult& result);
/// Moves everything so that the upper left corner is at (0, 0), entry and exit to the middle of their side,
/// and sets the size.
void frame(const LayoutProblem& problem, LayoutResult& result);

}  // namespace msdbg::graphview
