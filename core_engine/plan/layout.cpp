// Activations between convolutions stay in the blocked format that oneDNN computes in, instead of being
// reordered before and after each convolution.
//   y = Conv(x), z = Relu(y), w = Conv(z)  ->  y and z in channels of 16
// Tensors that a kernel takes in one layout only form a group; a group is blocked where that saves
// convolutions more conversions than it costs the kernels (and views) that know row-major only. No bit
// changes: a convolution computes in the blocked format anyway, and the other kernels sum in the same order.
#include <algorithm>
#include <map>
#include <numeric>

#include "core_engine/plan/node_facts.h"
#include "core_engine/plan/pipeline.h"

namespace msdbg::core {
namespace {

class LayoutChoice {
 public:
  LayoutChoice(const Graph& graph, const PlanOptions& options, Plan& plan, PassNotes& notes)
      : m_graph(graph), m_options(options), m_plan(plan), m_notes(notes), m_group(graph.tensors().size()) {
    std::iota(m_group.begin(), m_group.end(), std::size_t{0});
    m_mayBe.reserve(graph.tensors().size());
    for (const TensorInfo& info : graph.tensors())
      m_mayBe.push_back(!info.isSource() && canBeChannels16(info));
    if (options.keep)
      for (const TensorId id : *options.keep) m_mayBe[plan.rootOf(graph, id).index()] = false;
    m_saved.assign(m_group.size(), 0);
    m_costs.assign(m_group.size(), 0);
  }

  void run() {
    for (const PlanStep& step : m_plan.steps) visit(step);
    std::vector<bool> blocked(m_group.size(), true);  // by group
    for (std::size_t i = 0; i < m_group.size(); ++i)
      if (!m_mayBe[i]) blocked[groupOf(i)] = false;
    tally();
    for (const TensorInfo& info : m_graph.tensors()) {
      const std::size_t group = groupOf(info.id.index());
      if (!canBeChannels16(info) || m_saved[group] == 0) continue;
      if (!blocked[group])
        m_notes.refuse("one of its group is an input, kept, viewed or has a fault planted");
      else if (m_saved[group] <= m_costs[group])
        m_notes.refuse("it would cost other kernels as many conversions as it saves");
      else
        choose(info);
    }
  }

 private:
  std::size_t groupOf(std::size_t tensor) {
    while (m_group[tensor] != tensor) tensor = m_group[tensor] = m_group[m_group[tensor]];
    return tensor;
  }
  void join(const std::vector<TensorId>& tensors) {
    for (const TensorId id : tensors) m_group[groupOf(id.index())] = groupOf(tensors.front().index());
  }
  void forbid(const std::vector<TensorId>& tensors) {
    for (const TensorId id : tensors) m_mayBe[m_plan.rootOf(m_graph, id).index()] = false;
  }

  void visit(const PlanStep& step) {
    const Node& node = m_graph.node(step.node);
    const bool computes = step.how == How::kRun || step.how == How::kWatched;
    if (!computes || isPinned(m_options, node.id)) {
      forbid(step.inputs);
      forbid(step.shares);
      return forbid(node.outputs);
    }
    const bool asWritten = step.inputs == node.inputs;  // else the ports would name other tensors
    const LayoutPorts ports = asWritten ? m_options.kernels->layouts(m_graph, node) : LayoutPorts{};
    if (!ports.alike.empty()) join(ports.alike);
    for (const std::vector<TensorId>* ids : {&step.inputs, &node.outputs})
      for (const TensorId id : *ids) note(ports, id);
  }
  void note(const LayoutPorts& ports, TensorId id) {
    if (std::ranges::count(ports.each, id))
      m_savings.push_back(id);
    else if (!std::ranges::count(ports.alike, id))
      m_conversions.push_back(id);
  }
  void tally() {
    for (const TensorId id : m_savings) ++m_saved[groupOf(id.index())];
    for (const TensorId id : m_conversions)
      if (canBeChannels16(m_graph.tensor(id))) ++m_costs[groupOf(id.index())];
  }

  void choose(const TensorInfo& info) {
    m_plan.layouts[info.id.index()] = Layout::kChannels16;
    m_notes.changes.push_back(info.fullName() + " lies in channels of 16");
  }

  const Graph& m_graph;
  const PlanOptions& m_options;
  Plan& m_plan;
  PassNotes& m_notes;
  std::vector<std::size_t> m_group;                // by TensorId: union-find
  std::vector<bool> m_mayBe;                       // by TensorId
  std::vector<std::int64_t> m_saved, m_costs;      // by group
  std::vector<TensorId> m_savings, m_conversions;  // one entry a port
};

void run(const Graph& graph, const PlanOptions& options, Plan& plan, PassNotes& notes) {
  if (!options.keep) return notes.refuse("whoever runs the graph wants every value");
  if (!options.kernels) return notes.refuse("the kernels know row-major only");
  LayoutChoice(graph, options, plan, notes).run();
  if (!notes.changes.empty())
    notes.summary = std::to_string(notes.changes.size()) + " tensors stay in channels of 16";
}

}  // namespace

PlanPass layoutPass() {
  return {"layout", "activations stay in the format that convolutions compute in", run};
}

}  // namespace msdbg::core
