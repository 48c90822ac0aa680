// What an open scope shows: its children, the edges among them, and the kernels that cover several of them.
#include <algorithm>
#include <map>

#include "graph_view/model/folded_graph.h"

namespace msdbg::graphview {

using core::NodeId;
using core::TensorId;

namespace {

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
    addKernels();
    return std::move(m_contents);
  }

 private:
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
      add(borderIndex(Item::entry()), child, tensor, phase, false);
    }
  }

  void addSource(NodeId node, int child, TensorId tensor) {
    if (!m_folded.isDrawnInput(tensor) || flow(node) != Flow::kForward) return;
    const ScopeId at = m_folded.scopeOf(Item::of(tensor));
    if (at == m_scope) {
      add(m_indexOf.at(Item::of(tensor)), child, tensor, core::Phase::kForward, false);
    } else if (m_folded.isBelow(m_scope, at)) {
      add(borderIndex(Item::entry()), child, tensor, core::Phase::kForward, false);
    }
  }

  void addExit(NodeId node, int child, TensorId output) {
    if (m_scope == m_folded.root()) return;
    for (const NodeId reader : m_graph.consumers(output)) {
      if (flow(reader) != flow(node) || m_folded.isBelow(m_folded.scopeOf(reader), m_scope)) continue;
      add(child, borderIndex(Item::exit()), output, m_graph.node(node).phase, false);
      return;
    }
  }

  int borderIndex(Item border) {
    const auto [at, made] = m_indexOf.try_emplace(border, static_cast<int>(m_contents.items.size()));
    if (made) m_contents.items.push_back(border);
    return at->second;
  }

  void add(int from, int to, TensorId tensor, core::Phase phase, bool across) {
    if (from == to) return;
    const auto [at, made] = m_edgeOf.try_emplace(std::pair(from, to), m_contents.edges.size());
    if (made) m_contents.edges.push_back({from, to, {}, phase, across});
    auto& tensors = m_contents.edges[at->second].tensors;
    if (m_carried.insert({at->second, tensor}).second) tensors.push_back(tensor);
  }

  void addKernels() {
    std::map<core::KernelId, std::vector<int>> covered;
    for (std::size_t i = 0; i < m_contents.items.size(); ++i) {
      if (!m_contents.items[i].isNode()) continue;
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
  std::map<std::pair<int, int>, std::size_t> m_edgeOf;
  std::set<std::pair<std::size_t, TensorId>> m_carried;
};

}  // namespace

ScopeContents FoldedGraph::makeContents(ScopeId id) const { return Builder(*this, id).build(); }

}  // namespace msdbg::graphview
