#include "graph_view/layout/nested.h"

#include <algorithm>

namespace msdbg::graphview {
namespace {

constexpr std::size_t kMostKept = 400;

// What the layout of a block depends on: which scopes are open inside it.
std::string signatureOf(const Block& block) {
  std::string text = std::to_string(block.key) + "(";
  for (const Block& inner : block.inner)
    if (inner.open) text += signatureOf(inner);
  return text + ")";
}

void moveBy(LayoutResult& layout, double x, double y) {
  for (Rect& box : layout.boxes) box.x += x, box.y += y;
  for (Curve& curve : layout.curves)
    for (Point& point : curve) point.x += x, point.y += y;
  for (Point& label : layout.labels) label.x += x, label.y += y;
}

// The curves of the border run on through the margins to the header and to the lower side.
void reachBorder(const LayoutProblem& problem, const Size& size, LayoutResult& layout) {
  for (std::size_t i = 0; i < problem.links.size(); ++i) {
    Curve& curve = layout.curves[i];
    if (curve.empty()) continue;
    if (problem.links[i].from == problem.entry) curve.front() = {size.width / 2, kHeaderHeight};
    if (problem.links[i].to == problem.exit) curve.back() = {size.width / 2, size.height};
    if (problem.links[i].from == problem.entry) curve[1].x = size.width / 2;
    if (problem.links[i].to == problem.exit) curve[curve.size() - 2].x = size.width / 2;
  }
}

}  // namespace

std::shared_ptr<const Placement> NestedLayout::place(const Block& block, const core::CancelToken& cancel) {
  const std::string signature = signatureOf(block);
  if (const auto kept = m_kept.find(signature); kept != m_kept.end()) return kept->second;
  auto placement = std::make_shared<Placement>();
  LayoutProblem problem = block.links;
  problem.boxes.clear();
  for (const Block& inner : block.inner) {
    placement->inner.push_back(inner.open ? place(inner, cancel) : nullptr);
    if (cancel.cancelled()) return nullptr;
    problem.boxes.push_back(inner.open ? placement->inner.back()->size : inner.size);
  }
  placement->layout = layOut(problem, cancel);
  if (cancel.cancelled()) return nullptr;
  ++m_laidOut;
  placement->size = placement->layout.size;
  if (!block.bare) {
    const double wide = std::max(placement->layout.size.width + 2 * kScopeMargin, block.size.width);
    const double x = (wide - placement->layout.size.width) / 2;
    moveBy(placement->layout, x, kHeaderHeight + (problem.entry >= 0 ? 4 : kScopeMargin));
    placement->size = {wide, placement->layout.size.height + kHeaderHeight +
                                 (problem.entry >= 0 ? 4 : kScopeMargin) +
                                 (problem.exit >= 0 ? 4 : kScopeMargin)};
    reachBorder(problem, placement->size, placement->layout);
  }
  if (m_kept.size() >= kMostKept) {
    m_kept.erase(m_age.front());
    m_age.pop_front();
  }
  m_age.push_back(signature);
  m_kept[signature] = placement;
  return placement;
}

}  // namespace msdbg::graphview
