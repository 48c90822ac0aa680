// Kernels that follow one another and work on the same elements go through memory together, a part at a time
// while it is in the cache.
//   s = Mul(x, c), t = Add(s, mask), y = Softmax(t)  ->  y, with s and t passed on inside
// An element has the same bits in whatever part it is computed, so nothing changes. A group computes at its
// first node's place: whatever its members read from memory precedes that. What only members read is written
// where somebody observes, and nowhere else. Updates of small parameters are computed together too: they
// share one fork and join of the team.
#include <algorithm>
#include <numeric>
#include <set>

#include "core_engine/base/text.h"
#include "core_engine/plan/node_facts.h"
#include "core_engine/plan/pipeline.h"

namespace msdbg::core {
namespace {

/// Of an updated parameter: a larger one is worth a team of its own, and an observer finds it in the cache.
constexpr std::int64_t kSmallElements = 64 * 1024;

/// Whole rows pass through a group: longer ones would not stay in the cache.
constexpr std::int64_t kLongestRow = 32 * 1024;

class Grouping {
 public:
  Grouping(const Graph& graph, const PlanOptions& options, Plan& plan, PassNotes& notes)
      : m_graph(graph), m_options(options), m_plan(plan), m_notes(notes), m_readers(graph.tensors().size()) {
    for (const PlanStep& step : plan.steps) {
      for (const NodeId id : step.again) m_again.insert(id);
      if (step.how == How::kWatched) continue;
      for (const TensorId id : step.inputs) m_readers[plan.rootOf(graph, id).index()].push_back(step.node);
    }
  }

  void run() {
    for (std::size_t i = 0; i < m_plan.steps.size();) {
      const std::vector<GroupMember> members = groupFrom(i);
      i = members.empty() ? i + 1 : members.back().node.index() + 1;
      if (members.size() > 1) adopt(members);
    }
    for (PlanStep& step : m_plan.steps)
      for (GroupMember& member : step.group)
        member.inside = isInside(step, m_graph.node(member.node).outputs[0]);
    for (const PlanStep& step : m_plan.steps)
      if (!step.group.empty()) note(step);
  }

 private:
  /// The longest group that begins with step i; empty: it begins none.
  std::vector<GroupMember> groupFrom(std::size_t i) {
    if (!mayJoin(m_plan.steps[i])) return {};
    const std::optional<TilePorts> ports = portsOf(m_plan.steps[i]);
    if (!ports) return {};
    std::vector<GroupMember> members{memberOf(m_plan.steps[i])};
    std::int64_t row = ports->row;
    for (std::size_t j = i + 1; j < m_plan.steps.size(); ++j) {
      const PlanStep& step = m_plan.steps[j];
      if (step.how != How::kRun) continue;  // no kernel lies between
      if (!mayJoin(step) || !join(step, row, members)) break;
    }
    if (members.size() == 1) m_notes.refuse("the next kernel works on other elements, or not in parts");
    return members;
  }

  bool mayJoin(const PlanStep& step) const {
    return step.how == How::kRun && step.again.empty() && !m_again.contains(step.node) &&
           !isPinned(m_options, step.node) && step.inputs == m_graph.node(step.node).inputs &&
           m_graph.node(step.node).phase != Phase::kCollective;
  }
  std::optional<TilePorts> portsOf(const PlanStep& step) const {
    return m_options.kernels->tiles(m_graph, m_graph.node(step.node), m_plan.layouts);
  }
  GroupMember memberOf(const PlanStep& step) const {
    return {step.node, std::vector<std::int64_t>(step.inputs.size(), GroupMember::kFromMemory)};
  }
  bool updates(NodeId node) const { return m_graph.node(node).phase == Phase::kUpdate; }
  std::int64_t elementsOf(NodeId node) const {
    return m_graph.tensor(m_graph.node(node).outputs[0]).shape.elements();
  }

  bool join(const PlanStep& step, std::int64_t& row, std::vector<GroupMember>& members) const {
    const NodeId first = members[0].node;
    if (m_graph.node(first).phase != m_graph.node(step.node).phase) return false;
    const std::optional<TilePorts> ports = portsOf(step);
    if (!ports) return false;
    GroupMember member = memberOf(step);
    bool linked = false;
    for (std::size_t k = 0; k < step.inputs.size(); ++k) {
      if (k < ports->along.size() && ports->along[k]) member.links[k] = linkOf(step.inputs[k], members);
      linked = linked || member.links[k] >= 0;
      if (member.links[k] < 0 && !precedes(step.inputs[k], first)) return false;
    }
    if (updates(first) ? !small(first) || !small(step.node)
                       : !linked || !sameElements(first, step, *ports, row))
      return false;
    members.push_back(std::move(member));
    return true;
  }
  bool small(NodeId node) const { return elementsOf(node) <= kSmallElements; }
  bool sameElements(NodeId first, const PlanStep& step, const TilePorts& ports, std::int64_t& row) const {
    const std::int64_t all = elementsOf(first), rows = std::lcm(row, ports.row);
    if (elementsOf(step.node) != all || all % rows != 0 || rows > kLongestRow) return false;
    row = rows;
    return true;
  }
  bool precedes(TensorId id, NodeId first) const {
    const TensorInfo& info = m_graph.tensor(id);
    return info.isSource() || info.producer < first;
  }
  std::int64_t linkOf(TensorId id, const std::vector<GroupMember>& members) const {
    const TensorId root = m_plan.rootOf(m_graph, id);
    if (m_graph.tensor(root).shape.elements() != m_graph.tensor(id).shape.elements())
      return GroupMember::kFromMemory;  // a part of it
    for (std::size_t i = 0; i < members.size(); ++i)
      if (m_graph.node(members[i].node).outputs[0] == root) return static_cast<std::int64_t>(i);
    return GroupMember::kFromMemory;
  }

  void adopt(const std::vector<GroupMember>& members) {
    const NodeId first = members[0].node;
    m_plan.steps[first.index()].group = members;
    for (const GroupMember& member : members) {
      if (member.node == first) continue;
      PlanStep& step = m_plan.steps[member.node.index()];
      step.how = How::kGrouped;
      step.leader = first;
    }
  }

  bool isInside(const PlanStep& leader, TensorId output) const {
    if (m_graph.tensor(output).updateOf.valid() || keeps(output)) return false;
    return std::ranges::all_of(m_readers[output.index()], [&](NodeId reader) {
      const PlanStep& step = m_plan.steps[reader.index()];
      return step.how == How::kGrouped && step.leader == leader.node;
    });
  }
  bool keeps(TensorId output) const {
    return std::ranges::any_of(*m_options.keep,
                               [&](TensorId id) { return m_plan.rootOf(m_graph, id) == output; });
  }
  void note(const PlanStep& step) {
    std::vector<std::string> names;
    std::size_t inside = 0;
    for (const GroupMember& member : step.group) {
      names.push_back(m_graph.node(member.node).name);
      inside += member.inside;
    }
    m_notes.changes.push_back(core::join(names, " + ") +
                              (inside ? "; " + std::to_string(inside) + " passed on inside" : ""));
    ++m_groups;
    m_nodes += step.group.size();
    m_inside += inside;
    m_notes.summary = nodesText(m_nodes) + " in " + std::to_string(m_groups) +
                      (m_groups == 1 ? " group" : " groups") +
                      (m_inside ? ", " + std::to_string(m_inside) + " values passed on inside" : "");
  }

  const Graph& m_graph;
  const PlanOptions& m_options;
  Plan& m_plan;
  PassNotes& m_notes;
  std::vector<std::vector<NodeId>> m_readers;  // by TensorId: whose kernels read it, observed or not
  std::set<NodeId> m_again;                    // computed a second time
  std::size_t m_groups = 0, m_nodes = 0, m_inside = 0;
};

void run(const Graph& graph, const PlanOptions& options, Plan& plan, PassNotes& notes) {
  if (!options.keep) return notes.refuse("whoever runs the graph wants every value");
  if (!options.kernels) return notes.refuse("the kernels do not work in parts");
  Grouping(graph, options, plan, notes).run();
}

}  // namespace

PlanPass groupsPass() {
  return {"groups", "kernels on the same elements go through memory together, a part in cache at a time",
          run};
}

}  // namespace msdbg::core
