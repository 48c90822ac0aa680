// What the user names gives up its activations after the forward pass: they are computed again, by the same
// kernels from the same inputs, when the backward pass first needs one of them.
//   block1: a = f(x), b = g(a); … grad reads a  ->  … a = f(x) again, then grad reads a
// Nothing else decides what is computed again, so memory and time are the user's choice. Within an iteration
// no input of a forward node changes, so the second values have the bits of the first; an observer sees the
// first.
#include <algorithm>
#include <map>
#include <set>

#include "core_engine/base/text.h"
#include "core_engine/plan/node_facts.h"
#include "core_engine/plan/pipeline.h"
#include "core_engine/plan/recompute_scopes.h"

namespace msdbg::core {
namespace {

using Steps = std::vector<std::size_t>;  // indices

class Recomputation {
 public:
  Recomputation(const Graph& graph, const PlanOptions& options, Plan& plan, PassNotes& notes)
      : m_graph(graph), m_options(options), m_plan(plan), m_notes(notes) {}

  void run() {
    std::map<std::string, Steps> scopes;
    for (std::size_t i = 0; i < m_plan.steps.size(); ++i) {
      const Node& node = m_graph.node(m_plan.steps[i].node);
      if (node.phase != Phase::kForward || m_plan.steps[i].how != How::kRun) continue;
      if (const std::string scope = recomputedScope(node, m_options.choices.recompute);
          !scope.empty() && mayRepeat(node))
        scopes[scope].push_back(i);
    }
    for (const auto& [scope, steps] : scopes) repeat(scope, steps);
    if (m_nodes > 0)
      m_notes.summary =
          "computed again: " + nodesText(m_nodes) + ", " + formatBytes(m_bytes) + " need not be kept";
  }

 private:
  bool mayRepeat(const Node& node) {
    if (isPinned(m_options, node.id)) return m_notes.refuse("a fault is planted there"), false;
    if (writesNextValue(m_graph, node)) return m_notes.refuse("it writes the next value of a state"), false;
    const bool kept = std::ranges::any_of(*m_options.keep, [&](TensorId id) {
      return std::ranges::count(node.outputs, m_plan.rootOf(m_graph, id)) > 0;
    });
    if (kept) m_notes.refuse("its output is read after the iteration");
    return !kept;
  }

  void repeat(const std::string& scope, const Steps& steps) {
    std::set<TensorId> made, needed;
    for (const std::size_t i : steps)
      for (const TensorId id : outputsOf(i)) made.insert(id);
    const std::size_t before = firstLateReader(made, needed);
    if (needed.empty()) return m_notes.refuse("the backward pass reads nothing of " + scope);
    Steps again;
    for (std::size_t n = steps.size(); n-- > 0;) {
      const auto isNeeded = [&](TensorId id) { return needed.contains(id); };
      if (std::ranges::none_of(outputsOf(steps[n]), isNeeded)) continue;
      again.push_back(steps[n]);
      for (const TensorId id : m_plan.steps[steps[n]].inputs) needed.insert(m_plan.rootOf(m_graph, id));
    }
    addShares(again, before);
    std::ranges::sort(again);
    for (const std::size_t i : again) m_plan.steps[before].again.push_back(m_plan.steps[i].node);
    note(scope, again, before);
  }

  std::span<const TensorId> outputsOf(std::size_t step) const {
    return m_graph.node(m_plan.steps[step].node).outputs;
  }

  /// The first step behind the forward pass that reads one of `made`; `needed` are those that such steps
  /// read.
  std::size_t firstLateReader(const std::set<TensorId>& made, std::set<TensorId>& needed) const {
    std::size_t first = 0;
    for (std::size_t i = 0; i < m_plan.steps.size(); ++i) {
      if (m_graph.node(m_plan.steps[i].node).phase == Phase::kForward) continue;
      for (const std::vector<TensorId>* ids : {&m_plan.steps[i].inputs, &m_plan.steps[i].shares})
        for (const TensorId id : *ids) {
          const TensorId root = m_plan.rootOf(m_graph, id);
          if (!made.contains(root)) continue;
          if (needed.empty()) first = i;
          needed.insert(root);
        }
    }
    return first;
  }

  /// Views of what is computed again follow it.
  void addShares(Steps& again, std::size_t before) const {
    std::set<TensorId> moved;
    for (const std::size_t i : again) moved.insert(outputsOf(i).begin(), outputsOf(i).end());
    for (std::size_t i = 0; i < before; ++i) {
      const auto follows = [&](TensorId id) { return moved.contains(m_plan.rootOf(m_graph, id)); };
      if (std::ranges::any_of(m_plan.steps[i].shares, follows)) again.push_back(i);
    }
  }

  void note(const std::string& scope, const Steps& again, std::size_t before) {
    std::size_t bytes = 0, nodes = 0;
    for (const std::size_t i : again) {
      if (!m_plan.steps[i].shares.empty()) continue;
      ++nodes;
      for (const TensorId id : outputsOf(i)) {
        const TensorInfo& info = m_graph.tensor(id);
        bytes += static_cast<std::size_t>(info.shape.elements()) * dtypeSize(info.dtype);
      }
    }
    m_nodes += nodes, m_bytes += bytes;
    m_notes.changes.push_back(nodesText(nodes) + " of " + scope + " again before " +
                              m_graph.node(m_plan.steps[before].node).name + ": " + formatBytes(bytes) +
                              " need not be kept");
  }

  const Graph& m_graph;
  const PlanOptions& m_options;
  Plan& m_plan;
  PassNotes& m_notes;
  std::size_t m_nodes = 0, m_bytes = 0;
};

void run(const Graph& graph, const PlanOptions& options, Plan& plan, PassNotes& notes) {
  if (options.choices.recompute.empty()) return notes.refuse("no scope was named (--recompute)");
  if (!options.keep) return notes.refuse("whoever runs the graph wants every value");
  Recomputation(graph, options, plan, notes).run();
}

}  // namespace

PlanPass recomputationPass() {
  return {"recomputation", "activations of the scopes named by --recompute are computed again, not kept",
          run};
}

}  // namespace msdbg::core
