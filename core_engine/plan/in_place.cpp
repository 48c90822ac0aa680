// Updates write over the values that they replace: parameters and optimizer states need memory once, and an
// update writes what it has just read.
//   p' = SgdUpdate(p, g)  ->  p' lies where p does
// Only where nobody reads p afterwards, and unless an observer wants to see both p and p' (UpdateWish).
#include <algorithm>

#include "core_engine/base/text.h"
#include "core_engine/plan/node_facts.h"
#include "core_engine/plan/pipeline.h"

namespace msdbg::core {
namespace {

class Replacement {
 public:
  Replacement(const Graph& graph, const PlanOptions& options, const Plan& plan)
      : m_graph(graph), m_options(options), m_plan(plan), m_lastRead(graph.tensors().size()) {
    for (const PlanStep& step : plan.steps)
      for (const std::vector<TensorId>* ids : {&step.inputs, &step.shares})
        for (const TensorId id : *ids) m_lastRead[plan.rootOf(graph, id).index()] = step.node;
  }

  /// Why the next value must lie apart; "" where it need not.
  std::string objection(const TensorInfo& next) const {
    const Node& node = m_graph.node(next.producer);
    const PlanStep& step = m_plan.steps[node.id.index()];
    if (isPinned(m_options, node.id)) return "a fault is planted there";
    const auto ports = m_options.kernels->tiles(m_graph, node, m_plan.layouts);
    if (!ports || !ports->inPlace) return "the kernel of " + node.opType + " cannot";
    if (std::ranges::count(step.inputs, next.updateOf) != 1 || m_lastRead[next.updateOf.index()] != node.id)
      return "what is replaced is read afterwards";
    if (isReadInBetween(step, next.updateOf))
      return "its group is computed before others read what is replaced";
    return isKept(next.updateOf) ? "a view of what is replaced is read after the iteration" : "";
  }

 private:
  /// A group computes at its first node's place.
  bool isReadInBetween(const PlanStep& step, TensorId source) const {
    if (step.how != How::kGrouped) return false;
    const auto same = [&](TensorId id) { return m_plan.rootOf(m_graph, id) == source; };
    for (std::size_t i = step.leader.index(); i < step.node.index(); ++i)
      if (std::ranges::any_of(m_plan.steps[i].inputs, same)) return true;
    return false;
  }
  bool isKept(TensorId source) const {
    return std::ranges::any_of(
        *m_options.keep, [&](TensorId id) { return id != source && m_plan.rootOf(m_graph, id) == source; });
  }

  const Graph& m_graph;
  const PlanOptions& m_options;
  const Plan& m_plan;
  std::vector<NodeId> m_lastRead;  // by TensorId of roots: the last that reads it
};

void run(const Graph& graph, const PlanOptions& options, Plan& plan, PassNotes& notes) {
  if (!options.keep) return notes.refuse("whoever runs the graph wants every value");
  if (!options.kernels) return notes.refuse("the kernels write apart from what they read");
  const Replacement replacement(graph, options, plan);
  std::size_t bytes = 0;
  for (const TensorInfo& info : graph.tensors()) {
    if (!info.updateOf.valid()) continue;
    if (const std::string why = replacement.objection(info); !why.empty()) {
      notes.refuse(why);
      continue;
    }
    plan.inPlace[info.id.index()] = true;
    bytes += static_cast<std::size_t>(info.shape.elements()) * dtypeSize(info.dtype);
    notes.changes.push_back(info.fullName() + " is written over " + graph.tensor(info.updateOf).fullName());
  }
  if (!notes.changes.empty())
    notes.summary = std::to_string(notes.changes.size()) +
                    " next values are written over the current ones, " + formatBytes(bytes) + " saved";
}

}  // namespace

PlanPass inPlacePass() {
  return {"in_place", "updates write over what they replace, unless an observer wants both", run};
}

}  // namespace msdbg::core
