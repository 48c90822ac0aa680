// What an open scope shows: its children, the edges among them, and the kernels that cover several of them.
#include <algorithm>
#include <map>

#include "graph_view/model/folded_graph.h"

namespace msdbg::graphview {

using core::NodeId;
using core::TensorId;

namespace {

// Readers further down than the first ones that still get an edge across the scope.
constexpr std::size_t kMostFarReaders = 3;

class Builder {
 public:
  Builder(const FoldedGraph& folded, ScopeId scope)
      : m_folded(folded), m_graph(folded.graph()), m_scope(scope) {
    m_contents.items = folded.scope(scope).children;
    for (std::size_t i = 0; i < m_contents.items.size(); ++i)
      m_indexOf[m_contents.items[i]] = static_cast<int>(i);
  }

  ScopeContents build() && {
    for (const NodeId node : m_folded.nodesBelow(m_scope)) {
      const int child = m_indexOf.at(m_folded.childHolding(m_scope, node));
      for (const TensorId input : m_graph.node(node).inputs) addInput(node, child, input);
      for (const TensorId output : m_graph.node(node).outputs) addExit(node, child, output);
    }
    addEdges();
    addKernels();
    placeCopies();
    return std::move(m_contents);
  }

 private:
  // A tensor that one item reads from another.
  struct Passed {
    int from, to;
    TensorId tensor;
    core::Phase phase;
    bool across;
  };

  Flow flow(NodeId node) const { return flowOf(m_graph.node(node).phase); }

  void addInput(NodeId node, int child, TensorId tensor) {
    const NodeId producer = m_graph.tensor(tensor).producer;
    if (!producer.valid()) {
      addSource(node, child, tensor);
      return;
    }
    const Item from = m_folded.childHolding(m_scope, producer);
    const bool across = flow(producer) != flow(node);
    const core::Phase phase = m_graph.node(producer).phase;
    if (from.valid()) {
      add(m_indexOf.at(from), child, tensor, phase, across);
    } else if (!across) {
      add(indexOf(Item::entry()), child, tensor, phase, false);
    }
  }

  void addSource(NodeId node, int child, TensorId tensor) {
    if (!m_folded.isDrawnInput(tensor) || flow(node) != Flow::kForward) return;
    const ScopeId at = m_folded.scopeOf(Item::of(tensor));
    if (at == m_scope) {
      add(m_indexOf.at(Item::of(tensor)), child, tensor, core::Phase::kForward, false);
    } else if (m_folded.isBelow(m_scope, at)) {
      add(indexOf(Item::entry()), child, tensor, core::Phase::kForward, false);
    }
  }

  void addExit(NodeId node, int child, TensorId output) {
    if (m_scope == m_folded.root()) return;
    for (const NodeId reader : m_graph.consumers(output)) {
      if (flow(reader) != flow(node) || m_folded.isBelow(m_folded.scopeOf(reader), m_scope)) continue;
      add(child, indexOf(Item::exit()), output, m_graph.node(node).phase, false);
      return;
    }
  }

  // Of an item that is no child: a border, a copy.
  int indexOf(Item item) {
    const auto [known, made] = m_indexOf.try_emplace(item, static_cast<int>(m_contents.items.size()));
    if (made) m_contents.items.push_back(item);
    return known->second;
  }

  void add(int from, int to, TensorId tensor, core::Phase phase, bool across) {
    if (from != to) m_passed.push_back({from, to, tensor, phase, across});
  }

  // What is read far away at many places goes along an edge that is there anyway, else it has a copy.
  void addEdges() {
    const auto far = farReaders();
    const auto isFar = [&](const Passed& passed) { return far.contains({passed.tensor, passed.to}); };
    for (const Passed& passed : m_passed)
      if (!isFar(passed)) draw(passed);
    for (Passed passed : m_passed) {
      if (!isFar(passed)) continue;
      if (!m_edgeOf.contains({passed.from, passed.to})) passed.from = copyBeside(passed.to, passed.tensor);
      draw(passed);
    }
  }

  std::set<std::pair<TensorId, int>> farReaders() const {
    std::map<TensorId, std::set<int>> readers;
    for (const Passed& passed : m_passed)
      if (!passed.across && m_contents.items[at(passed.to)].kind != Item::Kind::kExit)
        readers[passed.tensor].insert(passed.to);
    std::erase_if(readers, [](const auto& entry) { return entry.second.size() <= kMostFarReaders; });
    std::set<std::pair<TensorId, int>> far;
    if (readers.empty()) return far;
    const std::vector<int> depth = depths();
    for (const auto& [tensor, items] : readers) {
      int first = depth[at(*items.begin())];
      for (const int item : items) first = std::min(first, depth[at(item)]);
      const auto further = [&](int item) { return depth[at(item)] > first; };
      if (static_cast<std::size_t>(std::ranges::count_if(items, further)) <= kMostFarReaders) continue;
      for (const int item : items)
        if (further(item)) far.insert({tensor, item});
    }
    return far;
  }

  // Of each item, the length of the longest way to it.
  std::vector<int> depths() const {
    std::vector<const Passed*> byReader;
    for (const Passed& passed : m_passed)
      if (passed.from < passed.to || m_contents.items[at(passed.from)].kind == Item::Kind::kEntry)
        byReader.push_back(&passed);
    std::ranges::stable_sort(byReader, {}, [](const Passed* passed) { return passed->to; });
    std::vector<int> depth(m_contents.items.size(), 0);
    for (const Passed* passed : byReader)
      depth[at(passed->to)] = std::max(depth[at(passed->to)], depth[at(passed->from)] + 1);
    return depth;
  }

  int copyBeside(int reader, TensorId tensor) {
    const NodeId producer = m_graph.tensor(tensor).producer;
    const Item original = producer.valid() ? Item::of(producer) : Item::of(tensor);
    return indexOf(original.beside(m_contents.items[at(reader)]));
  }

  void draw(const Passed& passed) {
    const auto [known, made] =
        m_edgeOf.try_emplace(std::pair(passed.from, passed.to), m_contents.edges.size());
    if (made) m_contents.edges.push_back({passed.from, passed.to, {}, passed.phase, passed.across});
    auto& tensors = m_contents.edges[known->second].tensors;
    if (m_carried.insert({known->second, passed.tensor}).second) tensors.push_back(passed.tensor);
  }

  // The order of items is that of time: a copy comes right before its reader.
  void placeCopies() {
    const std::size_t count = m_contents.items.size();
    std::vector<std::vector<int>> copiesOf(count);
    for (const Edge& edge : m_contents.edges)
      if (m_contents.items[at(edge.from)].isCopy()) copiesOf[at(edge.to)].push_back(edge.from);
    std::vector<Item> items;
    std::vector<int> moved(count, -1);
    const auto place = [&](int item) {
      moved[at(item)] = static_cast<int>(items.size());
      items.push_back(m_contents.items[at(item)]);
    };
    for (std::size_t i = 0; i < count; ++i) {
      std::ranges::for_each(copiesOf[i], place);
      if (!m_contents.items[i].isCopy()) place(static_cast<int>(i));
    }
    m_contents.items = std::move(items);
    for (Edge& edge : m_contents.edges) edge.from = moved[at(edge.from)], edge.to = moved[at(edge.to)];
    for (KernelGroup& kernel : m_contents.kernels)
      for (int& member : kernel.members) member = moved[at(member)];
  }

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  void addKernels() {
    std::map<core::KernelId, std::vector<int>> covered;
    for (std::size_t i = 0; i < m_contents.items.size(); ++i) {
      if (!m_contents.items[i].isNode() || m_contents.items[i].isCopy()) continue;
      for (const core::KernelId kernel : m_graph.kernelsOf(m_contents.items[i].node()))
        covered[kernel].push_back(static_cast<int>(i));
    }
    for (auto& [kernel, members] : covered)
      if (members.size() > 1) m_contents.kernels.push_back({kernel, std::move(members)});
  }

  const FoldedGraph& m_folded;
  const core::Graph& m_graph;
  ScopeId m_scope;
  ScopeContents m_contents;
  std::unordered_map<Item, int> m_indexOf;
  std::vector<Passed> m_passed;
  std::map<std::pair<int, int>, std::size_t> m_edgeOf;
  std::set<std::pair<std::size_t, TensorId>> m_carried;
};

}  // namespace

ScopeContents FoldedGraph::makeContents(ScopeId id) const { return Builder(*this, id).build(); }

}  // namespace msdbg::graphview
