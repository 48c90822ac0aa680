// Nodes that lead to no parameter's or state's next value, no collective and nothing that is read after an
// iteration are computed only while somebody observes.
//   a = Relu(x), unused  ->  a = watched Relu(x)
// Collectives always run: every rank takes part in them, whether it is observed or not.
#include "core_engine/plan/node_facts.h"
#include "core_engine/plan/pipeline.h"

namespace msdbg::core {
namespace {

class Life {
 public:
  Life(const Graph& graph, const PlanOptions& options, const Plan& plan)
      : m_graph(graph), m_options(options), m_plan(plan), m_needed(graph.tensors().size(), false) {
    for (const TensorId id : *options.keep) m_needed[id.index()] = true;
    for (std::size_t i = plan.steps.size(); i-- > 0;) mark(plan.steps[i]);
  }
  bool needed(const PlanStep& step) const {
    const Node& node = m_graph.node(step.node);
    if (node.phase == Phase::kCollective || writesNextValue(m_graph, node) || isPinned(m_options, node.id))
      return true;
    for (const TensorId id : node.outputs)
      if (m_needed[id.index()]) return true;
    return false;
  }

 private:
  void mark(const PlanStep& step) {
    if (!needed(step)) return;
    for (const std::vector<TensorId>* ids : {&step.inputs, &step.shares})
      for (const TensorId id : *ids) m_needed[id.index()] = true;
  }

  const Graph& m_graph;
  const PlanOptions& m_options;
  const Plan& m_plan;
  std::vector<bool> m_needed;  // by TensorId
};

void run(const Graph& graph, const PlanOptions& options, Plan& plan, PassNotes& notes) {
  if (!options.keep) return notes.refuse("whoever runs the graph wants every value");
  const Life life(graph, options, plan);
  for (PlanStep& step : plan.steps) {
    if (step.how != How::kRun || life.needed(step)) continue;
    step.how = How::kWatched;
    notes.changes.push_back(graph.node(step.node).name + " is computed only where somebody observes");
  }
  if (!notes.changes.empty())
    notes.summary = "computed only where observed: " + nodesText(notes.changes.size());
}

}  // namespace

PlanPass deadNodesPass() {
  return {"dead_nodes", "nodes that nothing needs are computed only while somebody observes", run};
}

}  // namespace msdbg::core
