// A graph run node by node with OpDef::reference, without executor, backends or memory plan: the oracle for
// those. Header-only: needs msdbg_core. Used from one thread; keeps references to the graph.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "core_engine/ops/op.h"

namespace msdbg::test {

class Interpreter {
 public:
  explicit Interpreter(const core::Graph& graph, core::RunState state = {})
      : m_graph(graph), m_state(state), m_values(graph.tensors().size()) {}

  void set(core::TensorId id, core::Tensor value) { m_values.at(id.index()) = std::move(value); }
  const core::Tensor& value(core::TensorId id) const { return m_values.at(id.index()); }

  /// Runs all nodes; sources that were not set get their initializer (zeros or a constant).
  core::Status run() {
    for (const core::TensorInfo& info : m_graph.tensors()) prepare(info);
    for (const core::Node& node : m_graph.nodes()) {
      if (core::Status status = runNode(node); !status.ok()) return status;
    }
    return core::Ok{};
  }

 private:
  void prepare(const core::TensorInfo& info) {
    core::Tensor& value = m_values.at(info.id.index());
    if (info.isSource() && value.valid()) return;
    value = core::Tensor::zeros(info.dtype, info.shape);
    if (info.initializer.kind != core::Initializer::Kind::kConstant) return;
    core::visitFloating(info.dtype, [&](auto zero) {
      for (auto& v : value.data<decltype(zero)>()) v = static_cast<decltype(zero)>(info.initializer.value);
    });
  }

  core::Status runNode(const core::Node& node) {
    const core::OpDef* op = core::findOp(node.opType);
    if (!op) throw std::logic_error("no operator " + node.opType);
    std::vector<const core::Tensor*> inputs;
    std::vector<core::Tensor*> outputs;
    for (core::TensorId id : node.inputs) inputs.push_back(&m_values.at(id.index()));
    for (core::TensorId id : node.outputs) outputs.push_back(&m_values.at(id.index()));
    return op->reference({node, inputs, outputs, m_state});
  }

  const core::Graph& m_graph;
  core::RunState m_state;
  std::vector<core::Tensor> m_values;
};

}  // namespace msdbg::test
