#include "graph_view/layout/layout.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace msdbg::graphview {
namespace {

// Boxes that no link touches would make one long row: they are packed into rows under the others.
struct Split {
  LayoutProblem linked;
  std::vector<int> linkedBoxes, loose;
};

Split splitOf(const LayoutProblem& problem) {
  std::vector<int> at(problem.boxes.size(), -1);
  for (const Link& link : problem.links)
    at[static_cast<std::size_t>(link.from)] = at[static_cast<std::size_t>(link.to)] = 0;
  Split split;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (at[i] < 0) {
      split.loose.push_back(static_cast<int>(i));
      continue;
    }
    at[i] = static_cast<int>(split.linkedBoxes.size());
    split.linkedBoxes.push_back(static_cast<int>(i));
    split.linked.boxes.push_back(problem.boxes[i]);
  }
  const auto moved = [&](int box) { return box < 0 ? -1 : at[static_cast<std::size_t>(box)]; };
  for (const Link& link : problem.links)
    split.linked.links.push_back({moved(link.from), moved(link.to), link.labelWidth});
  split.linked.entry = moved(problem.entry), split.linked.exit = moved(problem.exit);
  return split;
}

// Rows of about the golden ratio; wide things wrap later.
void packLoose(const LayoutProblem& problem, const std::vector<int>& loose, LayoutResult& result) {
  double area = 0, widest = result.size.width;
  for (const int box : loose) {
    const Size& size = problem.boxes[static_cast<std::size_t>(box)];
    area += (size.width + kBoxGap) * (size.height + kBoxGap);
    widest = std::max(widest, size.width);
  }
  const double limit = std::max(widest, std::sqrt(area * 1.3));
  double x = 0, y = result.size.height > 0 ? result.size.height + kLayerGap : 0, rowHeight = 0;
  for (const int box : loose) {
    const Size& size = problem.boxes[static_cast<std::size_t>(box)];
    if (x > 0 && x + size.width > limit) x = 0, y += rowHeight + kBoxGap, rowHeight = 0;
    result.boxes[static_cast<std::size_t>(box)] = {x, y, size.width, size.height};
    result.size.width = std::max(result.size.width, x + size.width);
    x += size.width + kBoxGap;
    rowHeight = std::max(rowHeight, size.height);
  }
  result.size.height = y + rowHeight;
}

// Where the curve is half a gap away from its start or end.
Point curveAt(const Curve& curve, bool fromEnd) {
  if (curve.empty()) return {};
  const double length = std::abs(curve.back().y - curve.front().y);
  const double away = std::min(length / 2, kLayerGap / 2);
  const double wanted = fromEnd ? curve.back().y - away : curve.front().y + away;
  Point best = curve.front();
  for (int step = 0; step <= 48; ++step) {
    const Point at = curvePoint(curve, step / 48.0);
    if (std::abs(at.y - wanted) < std::abs(best.y - wanted)) best = at;
  }
  return best;
}

}  // namespace

LayoutResult layOut(const LayoutProblem& problem, const core::CancelToken& cancel) {
  if (problem.columns) return columnsLayout(problem);
  const Split split = splitOf(problem);
  LayoutResult linked = split.linkedBoxes.empty() ? LayoutResult() : layeredLayout(split.linked, cancel);
  if (split.loose.empty()) return linked;
  LayoutResult result;
  result.size = linked.size;
  result.boxes.resize(problem.boxes.size());
  for (std::size_t i = 0; i < split.linkedBoxes.size(); ++i)
    result.boxes[static_cast<std::size_t>(split.linkedBoxes[i])] = linked.boxes[i];
  result.curves = std::move(linked.curves), result.labels = std::move(linked.labels);
  packLoose(problem, split.loose, result);
  return result;
}

// Training graphs have few parts; the ones without a link between them stand under each other.
LayoutResult columnsLayout(const LayoutProblem& problem) {
  constexpr double kColumnGap = 120, kHeader = 22;
  const std::size_t count = problem.boxes.size();
  std::vector<int> column(count, 0);
  for (std::size_t i = 0; i < count; ++i)
    for (const Link& link : problem.links)
      if (static_cast<std::size_t>(link.to) == i && link.from < link.to)
        column[i] = std::max(column[i], column[static_cast<std::size_t>(link.from)] + 1);
  LayoutResult result;
  result.boxes.resize(count);
  double left = 0;
  for (int at = 0; at <= (count ? *std::ranges::max_element(column) : -1); ++at) {
    double y = 0, width = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (column[i] != at) continue;
      result.boxes[i] = {left, y, problem.boxes[i].width, problem.boxes[i].height};
      y += problem.boxes[i].height + kLayerGap;
      width = std::max(width, problem.boxes[i].width);
    }
    left += width + kColumnGap;
  }
  for (const Link& link : problem.links) {
    const Rect &from = result.boxes[static_cast<std::size_t>(link.from)],
               &to = result.boxes[static_cast<std::size_t>(link.to)];
    const Point start{from.right(), from.y + std::min(kHeader, from.height / 2)},
        end{to.x, to.y + std::min(kHeader, to.height / 2)};
    const double reach = std::max(40.0, std::abs(end.x - start.x) / 2);
    Curve curve{start, {start.x + reach, start.y}, {end.x - reach, end.y}, end};
    const int span = column[static_cast<std::size_t>(link.to)] - column[static_cast<std::size_t>(link.from)];
    // Over the top of what stands between.
    if (span > 1) curve[1] = {start.x + reach, -70.0 * span}, curve[2] = {end.x - reach, -70.0 * span};
    result.curves.push_back(std::move(curve));
    result.labels.push_back(curvePoint(result.curves.back(), 0.5));
    if (span <= 1) result.labels.back().y -= 10;
  }
  frame(problem, result);
  return result;
}

Curve straightCurve(Point from, Point to) {
  const double reach = std::max(14.0, (to.y - from.y) / 2);
  return {from, {from.x, from.y + reach}, {to.x, to.y - reach}, to};
}

Point curvePoint(const Curve& curve, double share) {
  if (curve.size() < 4) return curve.empty() ? Point() : curve.front();
  const double pieces = static_cast<double>((curve.size() - 1) / 3);
  const double at = std::clamp(share, 0.0, 1.0) * pieces;
  const auto piece = std::min(static_cast<std::size_t>(at), static_cast<std::size_t>(pieces) - 1);
  const double t = at - static_cast<double>(piece), u = 1 - t;
  const Point* p = &curve[3 * piece];
  const double a = u * u * u, b = 3 * u * u * t, c = 3 * u * t * t, d = t * t * t;
  return {a * p[0].x + b * p[1].x + c * p[2].x + d * p[3].x,
          a * p[0].y + b * p[1].y + c * p[2].y + d * p[3].y};
}

// Beside the curve, in the gap under the box it leaves; where several leave one box, in the gap over the box
// that it alone enters: there no other label stands.
void placeLabels(const LayoutProblem& problem, LayoutResult& result) {
  std::vector<int> leaving(problem.boxes.size(), 0), entering(problem.boxes.size(), 0);
  for (const Link& link : problem.links)
    ++leaving[static_cast<std::size_t>(link.from)], ++entering[static_cast<std::size_t>(link.to)];
  result.labels.clear();
  for (std::size_t i = 0; i < problem.links.size(); ++i) {
    const Link& link = problem.links[i];
    const bool atEnd =
        leaving[static_cast<std::size_t>(link.from)] > 1 && entering[static_cast<std::size_t>(link.to)] == 1;
    Point at = curveAt(result.curves[i], atEnd);
    at.x += link.labelWidth / 2 + 7;
    result.labels.push_back(at);
  }
}

void frame(const LayoutProblem& problem, LayoutResult& result) {
  double left = std::numeric_limits<double>::max(), top = left, right = -left, bottom = -left;
  const auto cover = [&](double x, double y) {
    left = std::min(left, x), right = std::max(right, x);
    top = std::min(top, y), bottom = std::max(bottom, y);
  };
  for (const Rect& box : result.boxes) cover(box.x, box.y), cover(box.right(), box.bottom());
  for (const Curve& curve : result.curves)
    for (double share = 0; share <= 1; share += 0.125) {
      const Point at = curvePoint(curve, share);
      if (!curve.empty()) cover(at.x, at.y);
    }
  if (left > right) return;
  // Labels stand at the right of their curve; as much room at the left keeps a chain in the middle of its
  // scope.
  double beyond = 0;
  for (std::size_t i = 0; i < result.labels.size(); ++i) {
    if (problem.links[i].labelWidth <= 0) continue;
    beyond = std::max(beyond, result.labels[i].x + problem.links[i].labelWidth / 2 - right);
    top = std::min(top, result.labels[i].y), bottom = std::max(bottom, result.labels[i].y);
  }
  left -= beyond, right += beyond;
  const auto move = [&](Point& point) { point.x -= left, point.y -= top; };
  for (Rect& box : result.boxes) box.x -= left, box.y -= top;
  for (Curve& curve : result.curves) std::ranges::for_each(curve, move);
  std::ranges::for_each(result.labels, move);
  result.size = {right - left, bottom - top};
  // The curves of the border start or end in its middle, wherever the point was put.
  for (std::size_t i = 0; i < problem.links.size(); ++i) {
    Curve& curve = result.curves[i];
    if (curve.size() < 4) continue;
    if (problem.links[i].from == problem.entry) {
      curve[0] = {result.size.width / 2, 0};
      curve[1] = {result.size.width / 2, std::max(curve[1].y, kLayerGap / 3)};
    }
    if (problem.links[i].to == problem.exit) {
      curve[curve.size() - 1] = {result.size.width / 2, result.size.height};
      curve[curve.size() - 2] = {result.size.width / 2,
                                 std::min(curve[curve.size() - 2].y, result.size.height - kLayerGap / 3)};
    }
  }
  const auto pin = [&](int box, double y) {
    if (box >= 0) result.boxes[static_cast<std::size_t>(box)] = {result.size.width / 2, y, 0, 0};
  };
  pin(problem.entry, 0), pin(problem.exit, result.size.height);
}

}  // namespace msdbg::graphview
