// Nodes that read constants alone are computed once, by the kernels that would compute them every time.
//   mask = Trilu(constant)  ->  mask = once Trilu(constant)
// The executor computes them again when a constant is replaced (a checkpoint is restored).
#include <algorithm>

#include "core_engine/plan/node_facts.h"
#include "core_engine/plan/pipeline.h"

namespace msdbg::core {
namespace {

class Folding {
 public:
  Folding(const Graph& graph, const PlanOptions& options, PassNotes& notes)
      : m_graph(graph), m_options(options), m_notes(notes), m_constant(graph.tensors().size(), false) {
    for (const TensorInfo& info : graph.tensors())
      m_constant[info.id.index()] = info.isSource() && info.role == TensorRole::kConstant;
  }

  void visit(PlanStep& step) {
    const Node& node = m_graph.node(step.node);
    const bool varies = !std::ranges::all_of(step.shares.empty() ? step.inputs : step.shares,
                                             [&](TensorId id) { return m_constant[id.index()]; });
    if (varies || step.how == How::kWatched) return;
    if (step.how == How::kRun && !fold(step, node)) return;
    for (const TensorId id : node.outputs) m_constant[id.index()] = true;
  }

 private:
  bool fold(PlanStep& step, const Node& node) {
    if (isPinned(m_options, node.id)) return m_notes.refuse("a fault is planted there"), false;
    if (!isAlwaysFunctionOfInputs(m_graph, node))
      return m_notes.refuse(node.opType + " depends on the iteration"), false;
    step.how = How::kOnce;
    m_notes.changes.push_back(node.name + " is computed once");
    return true;
  }

  const Graph& m_graph;
  const PlanOptions& m_options;
  PassNotes& m_notes;
  std::vector<bool> m_constant;  // by TensorId
};

void run(const Graph& graph, const PlanOptions& options, Plan& plan, PassNotes& notes) {
  Folding folding(graph, options, notes);
  for (PlanStep& step : plan.steps) folding.visit(step);
  if (!notes.changes.empty())
    notes.summary = "computed once, not in every iteration: " + nodesText(notes.changes.size());
}

}  // namespace

PlanPass constantFoldingPass() {
  return {"constant_folding", "nodes that read constants alone are computed once", run};
}

}  // namespace msdbg::core
