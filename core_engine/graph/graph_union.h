// GraphUnion: one graph of all the graphs that a run has: of its ranks, and of its iterations where what is
// computed changes. Its ids are those of the run. What is the same in several graphs is there once: a node or
// source of the same full name, operator, dtypes and line of the user's source. The same name with any other
// of these is something else, called `name@2`. A backward node is the same where it comes from the same
// forward node: its number is what varies with the length of a sequence. Who adds graphs in another order
// gets other ids.
//
// GraphPart: what one of these graphs has of the union, and in which order. Not synchronised while add()
// runs; all else is const.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core_engine/graph/graph.h"

namespace msdbg::core {

/// All ids are the union's, unless called local: those are the graph's own.
class GraphPart {
 public:
  bool has(NodeId node) const { return order(node) >= 0; }
  bool has(TensorId tensor) const;
  /// The node's place among those of this graph, from 0: as it computes them. -1: it has none such.
  std::int64_t order(NodeId node) const;
  std::int64_t nodeCount() const { return m_nodeCount; }
  std::int64_t tensorCount() const { return m_tensorCount; }
  NodeId nodeAt(std::int64_t order) const;  // the local id is the order
  TensorId tensorAt(std::int64_t localId) const;
  TensorId localTensor(TensorId tensor) const;  // invalid: it has none such
  /// The tensor of that full name with slot, as the graph itself has it. Invalid: it has none such.
  TensorId find(const Graph& whole, const std::string& fullName) const;
  /// What the node reads here. `whole`: the union's graph.
  std::span<const TensorId> inputs(const Graph& whole, NodeId node) const;
  const Attributes& attributes(const Graph& whole, NodeId node) const;
  /// As the graph itself describes it, with the union's ids.
  TensorInfo info(const Graph& whole, TensorId tensor) const;
  /// Whether that is not what the union's graph says.
  bool differs(const Graph& whole, TensorId tensor) const {
    return m_names.contains(tensor) || m_types.contains(tensor) ||
           device(whole, tensor) != whole.tensor(tensor).device;
  }
  const Shape& shape(const Graph& whole, TensorId tensor) const;
  /// Ranks among which it is equal; empty: all.
  std::span<const std::int32_t> replicas(const Graph& whole, TensorId tensor) const;
  const std::string& device(const Graph& whole, TensorId tensor) const;

  /// With what is its own of a node as `rewrite` makes it of the node as it is here.
  GraphPart rewritten(const Graph& whole, const std::function<Node(const Node&)>& rewrite) const;

 private:
  friend class GraphUnion;
  struct Typed {
    Shape shape;
    std::vector<std::int32_t> replicas;
  };
  std::int64_t m_nodeCount = 0, m_tensorCount = 0;
  // Empty where local ids are the union's.
  std::vector<std::int32_t> m_nodes, m_tensors;            // by local id
  std::vector<std::int32_t> m_localNodes, m_localTensors;  // by the union's id, as it was then; -1: none
  // Where it is not as the union's graph says.
  std::map<NodeId, std::vector<TensorId>> m_inputs;
  std::map<NodeId, Attributes> m_attributes;
  std::map<TensorId, Typed> m_types;
  // Every tensor of another rank lies on another device: by the union's device, and those of which that is
  // not true.
  std::map<std::string, std::string, std::less<>> m_devices;
  std::map<TensorId, std::string> m_deviceOf;
  std::map<std::string, TensorId, std::less<>> m_renamed;  // by the full name here
  std::map<TensorId, std::string> m_names;                 // the other way round, without slot
};

class GraphUnion {
 public:
  /// The whole of the first graph is the union's beginning: its ids stay what they are.
  explicit GraphUnion(Graph first);

  /// Ids of what is there already stay; what is new comes after it. Who adds a graph twice gets two parts.
  const GraphPart& add(const Graph& graph);

  /// Nodes and tensors as the first graph that has them says; a node's id is no order where there are more
  /// graphs than one.
  const Graph& graph() const { return m_graph; }
  Graph& graph() { return m_graph; }
  std::size_t size() const { return m_parts.size(); }
  /// Whether the first graph has it, whose structure the union's graph shows. Either may be invalid.
  bool isOfFirst(NodeId node, TensorId tensor) const {
    return node.value < m_parts[0]->nodeCount() && tensor.value < m_parts[0]->tensorCount();
  }
  const GraphPart& part(std::size_t index) const { return *m_parts.at(index); }  // stays where it is

 private:
  class Adding;
  Graph m_graph;
  std::vector<std::unique_ptr<GraphPart>> m_parts;
};

}  // namespace msdbg::core
