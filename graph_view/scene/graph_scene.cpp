#include "graph_view/scene/graph_scene.h"

#include <QElapsedTimer>
#include <QTimer>
#include <algorithm>
#include <cmath>
#include <limits>

namespace msdbg::graphview {

using core::NodeId;

namespace {

constexpr double kSlice = 8;  // milliseconds

QRectF qt(const Rect& rect) { return {rect.x, rect.y, rect.width, rect.height}; }

Curve moved(const Curve& curve, QPointF by) {
  Curve result = curve;
  for (Point& point : result) point.x += by.x(), point.y += by.y();
  return result;
}

// The worst of what the nodes below a scope have, for every scope.
template <typename Value>
std::vector<Value> worstBelow(const FoldedGraph& folded, Value none, auto valueOf) {
  std::vector<Value> worst(folded.scopes().size(), none);
  for (const core::Node& node : folded.graph().nodes()) {
    const Value value = valueOf(node.id);
    for (ScopeId at = folded.scopeOf(node.id); at.valid(); at = folded.scope(at).parent)
      worst[at.index()] = std::max<Value>(worst[at.index()], value);
  }
  return worst;
}

}  // namespace

GraphScene::GraphScene(const QPalette& palette, const QFont& font, QObject* parent)
    : QGraphicsScene(parent), m_drawing{lookOf(palette), BoxStyle(font)} {
  setBackgroundBrush(m_drawing.look.background);
}

void GraphScene::setPalette(const QPalette& palette) {
  m_drawing.look = lookOf(palette);
  setBackgroundBrush(m_drawing.look.background);
  update();
}

void GraphScene::setPicture(const FoldedGraph* folded, std::shared_ptr<const Placement> placement) {
  clear();
  m_todo.clear(), m_rects.clear();
  m_boxes.clear(), m_edges.clear(), m_kernels.clear();
  if (m_folded != folded)
    m_health.clear(), m_hits.clear(), m_selection.clear(), m_path.clear(), m_current = {};
  m_folded = folded;
  m_placement = std::move(placement);
  m_picture = {};
  if (!m_folded || !m_placement) return;
  enterBlock(m_folded->root(), *m_placement, {});
  m_picture = QRectF(0, 0, m_placement->size.width, m_placement->size.height);
  setHealth(std::move(m_health));
  setHits(std::move(m_hits));
  setPath(std::move(m_path));
  setSelection(std::move(m_selection), m_current);
  fillFor(kSlice);
}

void GraphScene::enterBlock(ScopeId scope, const Placement& placement, QPointF origin) {
  m_todo.push_back({scope, &placement, origin, 0});
  const std::vector<Item>& items = m_folded->contents(scope).items;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].kind == Item::Kind::kEntry || items[i].kind == Item::Kind::kExit) continue;
    const QRectF rect = qt(placement.layout.boxes[i]).translated(origin);
    m_rects[items[i]] = rect;
    if (placement.inner[i]) enterBlock(items[i].scope(), *placement.inner[i], rect.topLeft());
  }
}

// The window goes on between slices: a training graph has thousands of items.
void GraphScene::fillFor(double milliseconds) {
  QElapsedTimer timer;
  timer.start();
  while (filling() && static_cast<double>(timer.nsecsElapsed()) < milliseconds * 1e6) addNext(m_todo.front());
  if (filling())
    QTimer::singleShot(0, this, [this, placement = m_placement] {
      if (placement == m_placement) fillFor(kSlice);
    });
}

void GraphScene::fillAll() {
  while (filling()) addNext(m_todo.front());
}

void GraphScene::addNext(Block& block) {
  const ScopeContents& contents = m_folded->contents(block.scope);
  const std::size_t at = block.next++;
  if (at < contents.items.size()) {
    const Item& item = contents.items[at];
    if (const auto rect = m_rects.find(item); rect != m_rects.end())
      addBox(item, rect->second, block.placement->inner[at] != nullptr);
  } else if (at < contents.items.size() + contents.edges.size()) {
    addEdge(block, at - contents.items.size());
  } else {
    addKernels(block.scope, *block.placement, block.origin);
    m_todo.pop_front();
  }
}

void GraphScene::addBox(Item item, const QRectF& rect, bool open) {
  BoxItem::Content content{item, boxText(*m_folded, item), {}, 0, open};
  if (item.isScope()) {
    content.phases = m_folded->scope(item.scope()).phases;
    content.depth = m_folded->scope(item.scope()).depth;
  } else if (item.isNode()) {
    content.phases[static_cast<std::size_t>(m_folded->graph().node(item.node()).phase)] = 1;
  }
  auto* box = new BoxItem(m_drawing, std::move(content), rect);
  box->setState(stateOf(*box));
  addItem(box);
  m_boxes[item] = box;
}

void GraphScene::addEdge(const Block& block, std::size_t index) {
  const ScopeContents& contents = m_folded->contents(block.scope);
  const Edge& edge = contents.edges[index];
  const ScopeInfo& scope = m_folded->scope(block.scope);
  EdgeItem::Content content;
  content.from = contents.items[static_cast<std::size_t>(edge.from)];
  content.to = contents.items[static_cast<std::size_t>(edge.to)];
  content.scope = block.scope, content.edge = &edge;
  content.phases = scope.phases, content.depth = scope.depth;
  // Where an edge enters a scope its label stands outside already.
  if (content.from.kind != Item::Kind::kEntry && content.to.kind != Item::Kind::kExit)
    content.label = QString::fromStdString(edgeText(m_folded->graph(), edge));
  const LayoutResult& layout = block.placement->layout;
  content.labelCenter = QPointF(layout.labels[index].x, layout.labels[index].y) + block.origin;
  auto* item = new EdgeItem(m_drawing, std::move(content), moved(layout.curves[index], block.origin));
  item->setState(stateOf(*item));
  addItem(item);
  m_edges.push_back(item);
}

// One outline around all boxes of a kernel where nothing else would be inside; else one around each.
void GraphScene::addKernels(ScopeId scope, const Placement& placement, QPointF origin) {
  const ScopeContents& contents = m_folded->contents(scope);
  constexpr double kAround = 8;
  for (const KernelGroup& group : contents.kernels) {
    QRectF all;
    std::vector<QRectF> each;
    for (const int member : group.members) {
      const QRectF box = qt(placement.layout.boxes[static_cast<std::size_t>(member)]).translated(origin);
      each.push_back(box.adjusted(-kAround, -kAround, kAround, kAround));
      all = all.united(each.back());
    }
    bool alone = true;
    for (std::size_t i = 0; i < contents.items.size(); ++i) {
      const bool member = std::ranges::find(group.members, static_cast<int>(i)) != group.members.end();
      alone &= member || !all.intersects(qt(placement.layout.boxes[i]).translated(origin));
    }
    if (alone) each = {all};
    const core::Kernel& kernel = m_folded->graph().kernels()[group.kernel.index()];
    auto* item = new KernelItem(m_drawing, QString::fromStdString(kernel.name), std::move(each));
    addItem(item);
    m_kernels.push_back(item);
  }
}

void GraphScene::setHealth(std::vector<Health> byNode) {
  m_health = std::move(byNode);
  if (!m_folded) return;
  m_health.resize(m_folded->graph().nodes().size(), Health::kUnknown);
  m_scopeHealth = worstBelow(*m_folded, Health::kAbsent, [&](NodeId node) { return m_health[node.index()]; });
  const std::vector<char> any = worstBelow<char>(*m_folded, 0, [](NodeId) { return 1; });
  for (std::size_t scope = 0; scope < any.size(); ++scope)
    if (any[scope] == 0) m_scopeHealth[scope] = Health::kUnknown;  // of inputs only
  refreshStates();
}

void GraphScene::setHits(std::unordered_map<NodeId, HitMark> hits) {
  m_hits = std::move(hits);
  if (!m_folded) return;
  m_scopeHit.assign(m_folded->scopes().size(), HitMark::kNone);
  for (const auto& [node, mark] : m_hits)
    for (ScopeId at = m_folded->scopeOf(node); at.valid(); at = m_folded->scope(at).parent)
      m_scopeHit[at.index()] = std::max(m_scopeHit[at.index()], mark);
  refreshStates();
}

void GraphScene::setSelection(std::vector<NodeId> nodes, Item current) {
  m_selection = std::move(nodes), m_current = current;
  if (!m_folded) return;
  m_nodeSelected.assign(m_folded->graph().nodes().size(), false);
  m_scopeSelected.assign(m_folded->scopes().size(), false);
  for (const NodeId node : m_selection) {
    m_nodeSelected[node.index()] = true;
    for (ScopeId at = m_folded->scopeOf(node); at.valid(); at = m_folded->scope(at).parent)
      m_scopeSelected[at.index()] = true;
  }
  refreshStates();
}

void GraphScene::setPath(std::vector<bool> nodes) {
  m_path = std::move(nodes);
  if (!m_folded) return;
  m_scopeOnPath.assign(m_folded->scopes().size(), false);
  for (std::size_t i = 0; i < m_path.size(); ++i)
    for (ScopeId at = m_folded->scopeOf(NodeId(static_cast<std::int64_t>(i))); m_path[i] && at.valid();
         at = m_folded->scope(at).parent)
      m_scopeOnPath[at.index()] = true;
  refreshStates();
}

bool GraphScene::onPath(Item item) const {
  if (m_path.empty()) return true;
  if (item.isNode()) return m_path[item.node().index()];
  if (item.isScope()) return m_scopeOnPath[item.scope().index()];
  if (!item.isInput()) return true;
  const auto readers = m_folded->graph().consumers(item.input());
  return std::ranges::any_of(readers, [&](NodeId node) { return m_path[node.index()]; });
}

BoxItem::State GraphScene::stateOf(const BoxItem& box) const {
  const Item item = box.content().item;
  BoxItem::State state;
  state.current = item == m_current;
  state.dimmed = !onPath(item);
  if (item.isNode()) {
    if (item.node().index() < m_health.size()) state.health = m_health[item.node().index()];
    // A hit is marked where the node is, not wherever it is read.
    if (const auto hit = m_hits.find(item.node()); hit != m_hits.end() && !item.isCopy())
      state.hit = hit->second;
    state.selected = item.node().index() < m_nodeSelected.size() && m_nodeSelected[item.node().index()];
  } else if (item.isScope()) {
    const std::size_t at = item.scope().index();
    if (at < m_scopeHealth.size()) state.health = m_scopeHealth[at];
    // An open scope shows where inside it is.
    if (!box.content().open && at < m_scopeHit.size()) state.hit = m_scopeHit[at];
    if (!box.content().open && at < m_scopeSelected.size()) state.selected = m_scopeSelected[at];
  }
  return state;
}

EdgeItem::State GraphScene::stateOf(const EdgeItem& edge) const {
  if (m_path.empty()) return EdgeItem::State::kPlain;
  const bool on = onPath(edge.content().from) && onPath(edge.content().to);
  return on ? EdgeItem::State::kOnPath : EdgeItem::State::kDimmed;
}

void GraphScene::refreshStates() {
  for (const auto& [item, box] : m_boxes) box->setState(stateOf(*box));
  for (EdgeItem* edge : m_edges) edge->setState(stateOf(*edge));
}

QString GraphScene::tooltipAt(const QPointF& at) const {
  const auto found = items(at);
  const auto* edge = found.isEmpty() ? nullptr : dynamic_cast<const EdgeItem*>(found.front());
  return edge ? QString::fromStdString(tooltip(*m_folded, *edge->content().edge)) : QString();
}

const BoxItem* GraphScene::box(Item item) const {
  const auto found = m_boxes.find(item);
  return found == m_boxes.end() ? nullptr : found->second;
}

std::vector<const BoxItem*> GraphScene::boxes() const {
  std::vector<const BoxItem*> all;
  for (const auto& [item, box] : m_boxes) all.push_back(box);
  return all;
}

QRectF GraphScene::rectOf(Item item) const {
  const auto found = m_rects.find(item);
  return found == m_rects.end() ? QRectF() : found->second;
}

Item GraphScene::itemAt(const QPointF& at, bool* onButton) const {
  if (onButton) *onButton = false;
  for (QGraphicsItem* found : items(at)) {
    const auto* box = dynamic_cast<const BoxItem*>(found);
    if (!box) continue;
    if (onButton) *onButton = box->buttonRect().adjusted(-5, -5, 5, 5).contains(at);
    return box->content().item;
  }
  return {};
}

Item GraphScene::alongEdge(Item item, int key) const {
  if (key != Qt::Key_Up && key != Qt::Key_Down) return {};
  for (const EdgeItem* edge : m_edges) {
    const Item from = edge->content().from, to = edge->content().to;
    const Item next = key == Qt::Key_Down && from == item ? to
                      : key == Qt::Key_Up && to == item   ? from
                                                          : Item();
    const bool vertical = next.valid() && box(next) &&
                          (key == Qt::Key_Down ? rectOf(next).top() >= rectOf(item).bottom()
                                               : rectOf(next).bottom() <= rectOf(item).top());
    if (vertical) return next;
  }
  return {};
}

Item GraphScene::neighbour(Item item, int key) const {
  const QRectF from = rectOf(item);
  if (from.isNull()) return {};
  if (const Item next = alongEdge(item, key); next.valid()) return next;
  Item best;
  double nearest = std::numeric_limits<double>::max();
  for (const auto& [other, box] : m_boxes) {
    if (other == item || (box->content().open && box->rect().contains(from))) continue;
    const QPointF step = box->rect().center() - from.center();
    const bool across = key == Qt::Key_Left || key == Qt::Key_Right;
    const double ahead = (across ? step.x() : step.y()) * (key == Qt::Key_Left || key == Qt::Key_Up ? -1 : 1);
    const double aside = std::abs(across ? step.y() : step.x());
    const double distance = ahead + 2.5 * aside;
    if (ahead < 1 || distance > nearest || (distance == nearest && other > best)) continue;
    nearest = distance, best = other;
  }
  return best;
}

}  // namespace msdbg::graphview
