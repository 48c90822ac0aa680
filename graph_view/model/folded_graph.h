// FoldedGraph: a graph as a tree of scopes that are open or folded, and what an open scope shows: its
// children and the edges among them, carrying the tensors that flow. Parameters, states and the learning rate
// are folded into their consumers; inputs are items of their own where the forward pass reads them.
//
// The flow of a training graph has three parts: forward, backward (with its collectives), update. An edge
// between two parts is drawn once, between the outermost scopes that differ; inside these it would be drawn
// to nearly every node, so there it is a line of the node that reads it (see box_text.h). A tensor that is
// read at many places of a scope, as the causal mask by every layer, has an edge to the first of them and a
// copy of its producer beside each other one.
//
// Not synchronised; one thread. Everything is computed once per scope, in time linear in what lies below it.
#pragma once

#include <array>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core_engine/graph/graph.h"
#include "graph_view/model/item.h"

namespace msdbg::graphview {

enum class Flow : std::uint8_t { kForward, kBackward, kUpdate };
Flow flowOf(core::Phase phase);

/// A run of nested scopes that hold nothing but the next one is one scope: "grad/network".
struct ScopeInfo {
  ScopeId id, parent;          // the root has no parent
  std::string path, label;     // "grad/network/conv1", "conv1"
  std::vector<Item> children;  // in order of their first node; an input stands before its first reader
  std::int64_t nodeCount = 0;  // below it
  std::array<std::int64_t, 5> phases{};  // below it, by core::Phase
  std::int32_t depth = 0;
};

struct Edge {
  int from = 0, to = 0;  // indices in ScopeContents::items
  std::vector<core::TensorId> tensors;
  core::Phase phase = core::Phase::kForward;  // of the first producer
  bool acrossFlows = false;
};

struct KernelGroup {
  core::KernelId kernel;
  std::vector<int> members;  // at least two, indices in ScopeContents::items
};

struct ScopeContents {
  // The children, copies right before their reader; then entry and exit where something crosses the border.
  std::vector<Item> items;
  std::vector<Edge> edges;
  std::vector<KernelGroup> kernels;
};

class FoldedGraph {
 public:
  explicit FoldedGraph(std::shared_ptr<const core::Graph> graph);

  const core::Graph& graph() const { return *m_graph; }
  const std::vector<ScopeInfo>& scopes() const { return m_scopes; }
  const ScopeInfo& scope(ScopeId id) const { return m_scopes.at(id.index()); }
  ScopeId root() const { return ScopeId(0); }
  ScopeId findScope(const std::string& path) const;  // invalid: none
  ScopeId scopeOf(core::NodeId node) const { return m_scopeOf.at(node.index()); }
  ScopeId scopeOf(Item item) const;  // the scope that shows it
  const ScopeContents& contents(ScopeId id) const;
  std::vector<core::NodeId> nodesBelow(ScopeId id) const;  // in order
  bool isBelow(ScopeId inner, ScopeId outer) const;        // or the same
  /// The child of `scope` that holds the node; invalid when the node is not below it.
  Item childHolding(ScopeId scope, core::NodeId node) const;
  /// Whether the source is drawn by itself; its scope by scopeOf(Item::of(tensor)).
  bool isDrawnInput(core::TensorId tensor) const { return m_inputScope.contains(tensor); }

  // What is open. The root always is.
  bool isExpanded(ScopeId id) const { return id == root() || m_expanded.contains(id); }
  const std::set<ScopeId>& expanded() const { return m_expanded; }
  bool setExpanded(ScopeId id, bool expanded);  // whether anything changed
  bool expandTo(Item item);                     // opens every scope around it
  bool expandAll(ScopeId id);                   // it and all below
  bool collapseAll(ScopeId id);                 // all below; the root stays open
  /// The first picture: the forward part opened when it has few children.
  void expandInitially();
  /// The item that stands for the node now: itself, or the outermost folded scope around it.
  Item visible(core::NodeId node) const;
  bool isVisible(Item item) const;

 private:
  void buildScopes();
  void placeInputs();
  void sortChildren();
  ScopeContents makeContents(ScopeId id) const;
  std::shared_ptr<const core::Graph> m_graph;
  std::vector<ScopeInfo> m_scopes;
  std::vector<ScopeId> m_scopeOf;  // by node
  std::unordered_map<core::TensorId, ScopeId> m_inputScope;
  std::unordered_map<std::string, ScopeId> m_scopeByPath;
  std::set<ScopeId> m_expanded;
  mutable std::vector<std::unique_ptr<const ScopeContents>> m_contents;  // by scope
};

/// Everything the node's outputs come from (upstream) or go into (downstream), itself included; by node.
enum class Direction { kUpstream, kDownstream };
std::vector<bool> pathOf(const core::Graph& graph, core::NodeId node, Direction direction);

}  // namespace msdbg::graphview
