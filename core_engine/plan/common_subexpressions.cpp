// Nodes of equal operator, attributes and inputs are computed once.
//   b = Transpose(a), c = Transpose(a)  ->  c = same as b
#include <map>

#include "core_engine/graph/graph_text.h"
#include "core_engine/plan/node_facts.h"
#include "core_engine/plan/pipeline.h"

namespace msdbg::core {
namespace {

std::string keyOf(const Node& node, const PlanStep& step) {
  std::string key = node.opType;
  for (const auto& [name, value] : node.attributes)  // a type apart: 1 and 1.0 have one text
    key += ";" + name + "=" + std::to_string(value.index()) + ":" + attributeText(value);
  for (const TensorId id : step.inputs) key += "," + std::to_string(id.value);
  return key;
}

bool mayBeShared(const Graph& graph, const PlanOptions& options, const PlanStep& step) {
  return step.how == How::kRun && isFunctionOfInputs(graph, graph.node(step.node)) &&
         !isPinned(options, step.node);
}

/// Reads what equal nodes share from the first of them.
void followSame(const Graph& graph, const Plan& plan, PlanStep& step) {
  for (std::vector<TensorId>* ids : {&step.inputs, &step.shares})
    for (TensorId& id : *ids) {
      if (graph.tensor(id).isSource()) continue;
      const PlanStep& maker = plan.steps[graph.tensor(id).producer.index()];
      if (maker.how == How::kSame) id = maker.shares[static_cast<std::size_t>(graph.tensor(id).slot)];
    }
}

void run(const Graph& graph, const PlanOptions& options, Plan& plan, PassNotes& notes) {
  std::map<std::string, NodeId> first;
  for (PlanStep& step : plan.steps) {
    followSame(graph, plan, step);
    if (!mayBeShared(graph, options, step)) continue;
    const Node& node = graph.node(step.node);
    const auto [same, isFirst] = first.try_emplace(keyOf(node, step), node.id);
    if (isFirst) continue;
    const Node& other = graph.node(same->second);
    step = {node.id, How::kSame, {}, other.outputs, {}};
    notes.changes.push_back(node.name + " is the same as " + other.name);
  }
  if (!notes.changes.empty())
    notes.summary = "not computed a second time: " + nodesText(notes.changes.size());
}

}  // namespace

PlanPass commonSubexpressionsPass() {
  return {"common_subexpressions", "nodes of equal operator, attributes and inputs are computed once", run};
}

}  // namespace msdbg::core
