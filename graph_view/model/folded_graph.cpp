#include "graph_view/model/folded_graph.h"

#include <algorithm>
#include <deque>
#include <ranges>

namespace msdbg::graphview {

using core::NodeId;
using core::TensorId;

namespace {

constexpr std::size_t kFewChildren = 40;

std::string parentPath(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::string labelOf(const std::string& path, const std::string& parent) {
  return parent.empty() ? path : path.substr(parent.size() + 1);
}

// The scopes as the names say them, before runs of single scopes become one.
struct RawScope {
  std::string path;
  RawScope* parent = nullptr;
  std::vector<RawScope*> inner;
  std::vector<NodeId> nodes;
};

class RawTree {
 public:
  explicit RawTree(const core::Graph& graph) {
    m_scopes.push_back({});
    m_byPath[""] = &m_scopes.front();
    for (const core::Node& node : graph.nodes()) at(node.scope).nodes.push_back(node.id);
  }
  RawScope& root() { return m_scopes.front(); }

 private:
  RawScope& at(const std::string& path) {
    if (const auto found = m_byPath.find(path); found != m_byPath.end()) return *found->second;
    RawScope& parent = at(parentPath(path));
    m_scopes.push_back({path, &parent, {}, {}});
    RawScope& made = m_scopes.back();
    parent.inner.push_back(&made);
    m_byPath[path] = &made;
    return made;
  }
  std::deque<RawScope> m_scopes;  // addresses stay
  std::unordered_map<std::string, RawScope*> m_byPath;
};

}  // namespace

Flow flowOf(core::Phase phase) {
  switch (phase) {
    case core::Phase::kForward:
      return Flow::kForward;
    case core::Phase::kUpdate:
      return Flow::kUpdate;
    case core::Phase::kBackward:
    case core::Phase::kCollective:
      break;
  }
  return Flow::kBackward;
}

FoldedGraph::FoldedGraph(std::shared_ptr<const core::Graph> graph) : m_graph(std::move(graph)) {
  buildScopes();
  placeInputs();
  sortChildren();
  m_contents.resize(m_scopes.size());
}

// Preorder, so that a scope's parent stands before it and everything below it right behind it.
void FoldedGraph::buildScopes() {
  RawTree tree(*m_graph);
  m_scopeOf.resize(m_graph->nodes().size());
  struct Todo {
    RawScope* raw;
    ScopeId parent;
  };
  std::vector<Todo> todo = {{&tree.root(), {}}};
  while (!todo.empty()) {
    auto [raw, parent] = todo.back();
    todo.pop_back();
    while (raw->parent && raw->nodes.empty() && raw->inner.size() == 1) raw = raw->inner.front();
    const ScopeId id(static_cast<std::int64_t>(m_scopes.size()));
    ScopeInfo info;
    info.id = id, info.parent = parent, info.path = raw->path;
    if (parent.valid()) {
      info.label = labelOf(raw->path, m_scopes[parent.index()].path);
      info.depth = m_scopes[parent.index()].depth + 1;
      m_scopes[parent.index()].children.push_back(Item::of(id));
    } else {
      info.label = m_graph->name();
    }
    for (const NodeId node : raw->nodes) {
      info.children.push_back(Item::of(node));
      m_scopeOf[node.index()] = id;
    }
    m_scopeByPath[raw->path] = id;
    m_scopes.push_back(std::move(info));
    for (auto inner = raw->inner.rbegin(); inner != raw->inner.rend(); ++inner) todo.push_back({*inner, id});
  }
  for (const core::Node& node : m_graph->nodes()) {
    for (ScopeId at = scopeOf(node.id); at.valid(); at = scope(at).parent) {
      ++m_scopes[at.index()].nodeCount;
      ++m_scopes[at.index()].phases[static_cast<std::size_t>(node.phase)];
    }
  }
}

// An input belongs to the outermost scope of the forward node that reads it first: it stays in sight while
// the scopes inside are folded.
void FoldedGraph::placeInputs() {
  for (const core::TensorInfo& tensor : m_graph->tensors()) {
    if (tensor.role != core::TensorRole::kInput && tensor.role != core::TensorRole::kLabel) continue;
    if (!tensor.isSource()) continue;
    for (const NodeId reader : m_graph->consumers(tensor.id)) {
      if (flowOf(m_graph->node(reader).phase) != Flow::kForward) continue;
      ScopeId at = scopeOf(reader);
      while (scope(at).depth > 1) at = scope(at).parent;
      m_inputScope[tensor.id] = at;
      m_scopes[at.index()].children.push_back(Item::of(tensor.id));
      break;
    }
  }
}

void FoldedGraph::sortChildren() {
  std::vector<std::int64_t> firstNode(m_scopes.size(), 0);
  for (const core::Node& node : m_graph->nodes() | std::views::reverse)
    for (ScopeId at = scopeOf(node.id); at.valid(); at = scope(at).parent)
      firstNode[at.index()] = node.id.value;
  const auto key = [&](const Item& item) -> std::int64_t {
    if (item.isScope()) return 2 * firstNode[item.scope().index()] + 1;
    if (item.isNode()) return 2 * item.index + 1;
    return 2 * m_graph->consumers(item.input()).front().value;
  };
  for (ScopeInfo& info : m_scopes) {
    std::vector<std::pair<std::int64_t, Item>> sorted;
    for (const Item& item : info.children) sorted.emplace_back(key(item), item);
    std::ranges::sort(sorted);
    std::ranges::transform(sorted, info.children.begin(), [](const auto& entry) { return entry.second; });
  }
}

ScopeId FoldedGraph::findScope(const std::string& path) const {
  const auto found = m_scopeByPath.find(path);
  return found == m_scopeByPath.end() ? ScopeId() : found->second;
}

ScopeId FoldedGraph::scopeOf(Item item) const {
  if (item.isNode()) return scopeOf(item.node());
  if (item.isScope()) return scope(item.scope()).parent;
  const auto found = m_inputScope.find(item.input());
  return found == m_inputScope.end() ? ScopeId() : found->second;
}

const ScopeContents& FoldedGraph::contents(ScopeId id) const {
  auto& slot = m_contents.at(id.index());
  if (!slot) slot = std::make_unique<const ScopeContents>(makeContents(id));
  return *slot;
}

std::vector<NodeId> FoldedGraph::nodesBelow(ScopeId id) const {
  std::vector<NodeId> nodes;
  for (std::size_t at = id.index(); at < m_scopes.size() && isBelow(m_scopes[at].id, id); ++at)
    for (const Item& item : m_scopes[at].children)
      if (item.isNode()) nodes.push_back(item.node());
  std::ranges::sort(nodes);
  return nodes;
}

bool FoldedGraph::isBelow(ScopeId inner, ScopeId outer) const {
  while (inner.valid() && scope(inner).depth > scope(outer).depth) inner = scope(inner).parent;
  return inner == outer;
}

Item FoldedGraph::childHolding(ScopeId outer, NodeId node) const {
  ScopeId at = scopeOf(node);
  if (at == outer) return Item::of(node);
  while (at.valid() && scope(at).parent != outer) at = scope(at).parent;
  return at.valid() ? Item::of(at) : Item();
}

bool FoldedGraph::setExpanded(ScopeId id, bool expanded) {
  if (id == root() || !id.valid() || id.index() >= m_scopes.size()) return false;
  return expanded ? m_expanded.insert(id).second : m_expanded.erase(id) > 0;
}

bool FoldedGraph::expandTo(Item item) {
  bool changed = false;
  for (ScopeId at = scopeOf(item); at.valid(); at = scope(at).parent) changed |= setExpanded(at, true);
  return changed;
}

bool FoldedGraph::expandAll(ScopeId id) {
  bool changed = false;
  for (const ScopeInfo& info : m_scopes)
    if (isBelow(info.id, id)) changed |= setExpanded(info.id, true);
  return changed;
}

bool FoldedGraph::collapseAll(ScopeId id) {
  return std::erase_if(m_expanded, [&](ScopeId at) { return isBelow(at, id); }) > 0;
}

void FoldedGraph::expandInitially() {
  for (const Item& item : scope(root()).children) {
    if (!item.isScope()) continue;
    if (scope(item.scope()).children.size() <= kFewChildren) setExpanded(item.scope(), true);
    return;
  }
}

Item FoldedGraph::visible(NodeId node) const {
  Item shown = Item::of(node);
  for (ScopeId at = scopeOf(node); at.valid(); at = scope(at).parent)
    if (!isExpanded(at)) shown = Item::of(at);
  return shown;
}

bool FoldedGraph::isVisible(Item item) const {
  for (ScopeId at = scopeOf(item); at.valid(); at = scope(at).parent)
    if (!isExpanded(at)) return false;
  return true;
}

// Ids are a topological order, so one sweep in the right direction finds everything.
std::vector<bool> pathOf(const core::Graph& graph, NodeId node, Direction direction) {
  const auto nodes = graph.nodes();
  std::vector<bool> on(nodes.size(), false);
  on.at(node.index()) = true;
  const auto producerOn = [&](TensorId input) {
    const NodeId producer = graph.tensor(input).producer;
    return producer.valid() && on[producer.index()];
  };
  if (direction == Direction::kDownstream) {
    for (std::size_t i = node.index() + 1; i < nodes.size(); ++i)
      on[i] = std::ranges::any_of(nodes[i].inputs, producerOn);
    return on;
  }
  for (std::size_t i = node.index() + 1; i-- > 0;) {
    if (!on[i]) continue;
    for (const TensorId input : nodes[i].inputs)
      if (const NodeId producer = graph.tensor(input).producer; producer.valid()) on[producer.index()] = true;
  }
  return on;
}

}  // namespace msdbg::graphview
