// GraphSide: what one rank computes in one iteration, in its order, by the ids of the run's graph: one side
// of a comparison. A view: what it looks at outlives it.
#pragma once

#include <span>
#include <vector>

#include "core_engine/graph/graph_union.h"

namespace msdbg::replay {

class GraphSide {
 public:
  /// `part`: nullptr where it is all of the graph, in its own order.
  explicit GraphSide(const core::Graph& graph, const core::GraphPart* part = nullptr)
      : m_graph(&graph), m_part(part) {}

  const core::Graph& graph() const { return *m_graph; }
  std::int64_t nodeCount() const {
    return m_part ? m_part->nodeCount() : static_cast<std::int64_t>(m_graph->nodes().size());
  }
  const core::Node& nodeAt(std::int64_t order) const {
    return m_graph->node(m_part ? m_part->nodeAt(order) : core::NodeId(order));
  }
  /// -1: there is none such.
  std::int64_t order(core::NodeId node) const { return m_part ? m_part->order(node) : node.value; }
  bool has(core::TensorId tensor) const { return !m_part || m_part->has(tensor); }
  std::span<const core::TensorId> inputs(const core::Node& node) const {
    return m_part ? m_part->inputs(*m_graph, node.id) : std::span<const core::TensorId>(node.inputs);
  }
  const core::Attributes& attributes(const core::Node& node) const {
    return m_part ? m_part->attributes(*m_graph, node.id) : node.attributes;
  }
  const core::Shape& shape(core::TensorId tensor) const {
    return m_part ? m_part->shape(*m_graph, tensor) : m_graph->tensor(tensor).shape;
  }
  /// Ranks among which it is equal; empty: all, if it is at all.
  std::span<const std::int32_t> replicas(core::TensorId tensor) const {
    return m_part ? m_part->replicas(*m_graph, tensor)
                  : std::span<const std::int32_t>(m_graph->tensor(tensor).replicas);
  }
  std::vector<core::TensorId> sources() const {
    std::vector<core::TensorId> found;
    for (const core::TensorInfo& info : m_graph->tensors())
      if (info.isSource() && has(info.id)) found.push_back(info.id);
    return found;
  }

 private:
  const core::Graph* m_graph;
  const core::GraphPart* m_part;
};

}  // namespace msdbg::replay
