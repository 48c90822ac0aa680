// What a user's program holds while it builds a graph: Value (a tensor of a graph), Operand (a Value with the
// line that used it, so that overloaded operators carry their source line too), Scope. All are cheap handles;
// the Graph must outlive them. Mistakes in a model (wrong shapes, foreign graphs) throw BuildError naming the
// line.
#pragma once

#include <source_location>
#include <stdexcept>

#include "core_engine/graph/graph.h"

namespace msdbg::core {

class BuildError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Value {
 public:
  Value() = default;
  Value(Graph& graph, TensorId id) : m_graph(&graph), m_id(id) {}

  bool valid() const { return m_graph != nullptr; }
  Graph& graph() const { return *m_graph; }
  TensorId id() const { return m_id; }
  const TensorInfo& info() const { return m_graph->tensor(m_id); }
  Shape shape() const { return info().shape; }  // a copy: adding nodes moves the tensor table
  DType dtype() const { return info().dtype; }

 private:
  Graph* m_graph = nullptr;
  TensorId m_id;
};

/// A Value and the place that mentions it: `operator+(Operand, Operand)` knows its line this way.
struct Operand {
  Value value;
  std::source_location where;
  Operand(Value v, std::source_location w = std::source_location::current()) : value(v), where(w) {}
};

/// Names and frames of everything built while it lives.
class [[nodiscard("a scope names what is built while it lives: give it a variable")]] Scope {
 public:
  Scope(Graph & graph, std::string name, const std::source_location& where, bool engine = false);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Graph& m_graph;
};

/// A layer of the engine (conv, linear, …): adds the caller's frame but no name. Operators called inside it
/// have the layer's own line as innermost frame, marked `engine`.
class LayerScope {
 public:
  LayerScope(Graph& graph, const std::source_location& callers);
  ~LayerScope();
  LayerScope(const LayerScope&) = delete;
  LayerScope& operator=(const LayerScope&) = delete;

 private:
  Graph& m_graph;
};

Frame frameFrom(const std::source_location& where, bool engine = false);

/// The one way an operator call becomes a node: infers shapes with the operator's OpDef (registry), names it
/// after the open scopes, attaches frames. Phase forward. Throws BuildError.
std::vector<Value> applyOp(std::string_view opType, std::span<const Value> inputs, Attributes attributes,
                           const std::source_location& where);
inline Value applyOp1(std::string_view opType, std::initializer_list<Value> inputs, Attributes attributes,
                      const std::source_location& where) {
  return applyOp(opType, std::span<const Value>(inputs.begin(), inputs.size()), std::move(attributes), where)
      .front();
}

/// A trainable parameter in the open scope; called by layers (programs call Graph::parameter).
Value parameter(Graph& graph, const std::string& name, Shape shape, DType dtype, Initializer initializer,
                const std::source_location& where);
Value parameter(Graph& graph, const std::string& name, Shape shape, DType dtype, const Init& init,
                const std::source_location& where);
/// A source of one value everywhere that does not train (stored in the graph as its initializer, kConstant);
/// `dtype`: the graph's floating dtype unless given.
Value constant(Graph& graph, double value, Shape shape = {}, std::optional<DType> dtype = {},
               const std::source_location& where = std::source_location::current());

}  // namespace msdbg::core
