// GraphVersion: a graph of a recorded program, made of the definitions that one iteration used, and of those
// that the graph before it had: it only grows, so that iterations which do a part of it (an evaluation left
// out, a step skipped) are of the same graph. Nodes lie in the order of the iteration that made it; what only
// the older graph has comes where that had it. Immutable.
#pragma once

#include "dump/python/record/definitions.h"

namespace msdbg::dump {

class GraphVersion {
 public:
  /// What an iteration used, in its order.
  struct Used {
    std::vector<core::NodeId> nodes;      // all of them ran
    std::vector<core::TensorId> sources;  // that were read, or seen
  };
  /// `previous`: nullptr, there is none. kUsage: a node reads what no node before it made.
  static core::Result<GraphVersion> make(const Definitions& definitions, const Used& used,
                                         const GraphVersion* previous);

  const core::Graph& graph() const { return m_graph; }
  /// All of it is there, as it is defined now.
  bool has(const Definitions& definitions, const Used& used) const;
  /// Of a definition in graph(); not valid: it has none such.
  core::TensorId tensor(core::TensorId defined) const { return at(m_tensors, defined); }
  core::NodeId node(core::NodeId defined) const { return at(m_nodes, defined); }

 private:
  class Making;
  GraphVersion() : m_graph("network") {}
  template <typename Id>
  static Id at(const std::vector<Id>& ids, Id defined) {
    return defined.index() < ids.size() ? ids[defined.index()] : Id();
  }

  core::Graph m_graph;
  std::vector<core::TensorId> m_tensors;  // by definition
  std::vector<core::NodeId> m_nodes;      // by definition
  std::vector<std::int64_t> m_revisions;  // by definition, of those that are there
  std::vector<core::NodeId> m_order;      // definitions, as they lie in the graph
  std::vector<core::TensorId> m_sources;  // definitions
};

}  // namespace msdbg::dump
