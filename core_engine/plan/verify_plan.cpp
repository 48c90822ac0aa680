#include <algorithm>

#include "core_engine/plan/node_facts.h"
#include "core_engine/plan/plan.h"

namespace msdbg::core {
namespace {

/// The first broken rule stops the check; every method returns at once when one was found before.
class PlanVerifier {
 public:
  PlanVerifier(const Graph& graph, const PlanOptions& options, const Plan& plan)
      : m_graph(graph), m_options(options), m_plan(plan) {}

  Status run() {
    if (m_plan.steps.size() != m_graph.nodes().size() || m_plan.bufferOf.size() != m_graph.tensors().size() ||
        m_plan.secondBufferOf.size() != m_graph.tensors().size() ||
        m_plan.layouts.size() != m_graph.tensors().size())
      return Error(ErrorCode::kInternal, "plan of " + m_graph.name() +
                                             ": its tables are not as long as the "
                                             "graph's");
    for (std::size_t i = 0; i < m_plan.steps.size() && m_status.ok(); ++i) checkStep(m_plan.steps[i], i);
    if (m_status.ok()) checkInside();
    for (const TensorInfo& info : m_graph.tensors()) checkLayout(info);
    if (m_options.keep)
      for (const TensorId id : *m_options.keep) checkKept(id);
    if (m_status.ok()) checkBuffers();
    return m_status;
  }

 private:
  void fail(const PlanStep& step, const std::string& rule) {
    if (m_status.ok())
      m_status = Error(ErrorCode::kInternal,
                       "plan of " + m_graph.name() + ": node " + m_graph.node(step.node).name + " " + rule);
  }
  std::string nameOf(TensorId id) const { return m_graph.tensor(id).fullName(); }
  bool precedes(TensorId id, const PlanStep& step) const {
    const TensorInfo& info = m_graph.tensor(id);
    return info.isSource() || info.producer < step.node;
  }
  const PlanStep* makerOf(TensorId id) const {
    const TensorInfo& root = m_graph.tensor(m_plan.rootOf(m_graph, id));
    return root.isSource() ? nullptr : &m_plan.steps[root.producer.index()];
  }
  bool isConstant(TensorId id) const {
    const PlanStep* maker = makerOf(id);
    if (maker) return maker->how == How::kOnce;
    return m_graph.tensor(m_plan.rootOf(m_graph, id)).role == TensorRole::kConstant;
  }

  void checkStep(const PlanStep& step, std::size_t index) {
    if (step.node.index() != index) return fail(step, "is not at its place");
    const Node& node = m_graph.node(step.node);
    const bool mustRun =
        isPinned(m_options, node.id) || node.phase == Phase::kCollective || writesNextValue(m_graph, node);
    if (mustRun && step.how != How::kRun && step.how != How::kGrouped)
      return fail(step, "must run, but does not");
    checkGroup(step);
    if (isPinned(m_options, node.id) ||
        (step.how != How::kRun && step.how != How::kWatched && step.how != How::kGrouped))
      for (const std::vector<TensorId>* ids : {&step.inputs, &step.shares, &node.outputs})
        checkRowMajor(step, *ids);
    if (step.how == How::kView || step.how == How::kSame) return checkShares(step, node);
    checkInputs(step, node);
  }

  /// The members follow each other, say who leads them, and find at the first one's place what they read.
  void checkGroup(const PlanStep& step) {
    if (step.how == How::kGrouped) {
      const bool led =
          step.leader.valid() && step.leader < step.node &&
          std::ranges::count(m_plan.steps[step.leader.index()].group, step.node, &GroupMember::node) == 1;
      if (!led) fail(step, "is grouped, but in no group");
    }
    if (step.group.empty()) return;
    if (step.how != How::kRun || step.group[0].node != step.node)
      return fail(step, "leads a group that it is not the first of");
    for (std::size_t i = 0; i < step.group.size(); ++i) checkMember(step, i);
  }

  void checkMember(const PlanStep& leader, std::size_t index) {
    const GroupMember& member = leader.group[index];
    const PlanStep& step = m_plan.steps.at(member.node.index());
    const Node& node = m_graph.node(member.node);
    if (index > 0 && (step.how != How::kGrouped || step.leader != leader.node ||
                      member.node <= leader.group[index - 1].node))
      return fail(step, "is no member of the group that names it");
    if (isPinned(m_options, member.node) || !step.again.empty() || node.phase == Phase::kCollective ||
        node.phase != m_graph.node(leader.node).phase)
      return fail(step, "is grouped, which it must not be");
    if (member.links.size() != step.inputs.size()) return fail(step, "is linked to another number of inputs");
    for (std::size_t k = 0; k < step.inputs.size(); ++k)
      checkLink(leader, step, member.links[k], step.inputs[k], index);
    if (member.inside && m_graph.tensor(node.outputs[0]).updateOf.valid())
      fail(step, "has a next value inside");
  }

  void checkLink(const PlanStep& leader, const PlanStep& step, std::int64_t link, TensorId input,
                 std::size_t index) {
    if (link == GroupMember::kFromMemory) {
      if (!precedes(input, leader))
        fail(step, "reads " + nameOf(input) + ", which its group does not precede");
      return;
    }
    const bool known = link >= 0 && link < static_cast<std::int64_t>(index) &&
                       m_graph.node(leader.group[static_cast<std::size_t>(link)].node).outputs[0] ==
                           m_plan.rootOf(m_graph, input);
    if (!known) fail(step, "is linked to what is not " + nameOf(input));
  }

  /// What lies inside a group is read by its members, and otherwise only where somebody observes.
  void checkInside() {
    std::vector<NodeId> leaders(m_graph.tensors().size());  // by TensorId; invalid: not inside
    for (const PlanStep& step : m_plan.steps)
      for (const GroupMember& member : step.group)
        if (member.inside) leaders[m_graph.node(member.node).outputs[0].index()] = step.node;
    for (const PlanStep& step : m_plan.steps) {
      if (step.how == How::kWatched) continue;
      for (const TensorId id : step.inputs) {
        const NodeId leader = leaders[m_plan.rootOf(m_graph, id).index()];
        if (leader.valid() && step.node != leader && (step.how != How::kGrouped || step.leader != leader))
          fail(step, "reads " + nameOf(id) + ", which is passed on inside a group");
      }
    }
  }

  void checkInputs(const PlanStep& step, const Node& node) {
    if (step.inputs.size() != node.inputs.size()) return fail(step, "reads another number of tensors");
    if (!step.shares.empty()) return fail(step, "runs, but shares a value too");
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId id = step.inputs[i];
      const TensorInfo &wanted = m_graph.tensor(node.inputs[i]), &given = m_graph.tensor(id);
      if (!precedes(id, step)) return fail(step, "reads " + nameOf(id) + " before it is computed");
      if (given.dtype != wanted.dtype || given.shape != wanted.shape)
        return fail(step, "reads " + nameOf(id) + ", which has another type than " + wanted.fullName());
      const PlanStep* maker = makerOf(id);
      if (maker && maker->how == How::kWatched && step.how != How::kWatched)
        return fail(step, "reads " + nameOf(id) + ", which is computed only where observed");
      if (step.how == How::kOnce && !isConstant(id))
        return fail(step, "is computed once, but reads " + nameOf(id));
    }
  }

  void checkShares(const PlanStep& step, const Node& node) {
    if (step.shares.size() != node.outputs.size() || !step.inputs.empty())
      return fail(step, "shares another number of values than it has outputs");
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const TensorInfo &mine = m_graph.tensor(node.outputs[i]), &other = m_graph.tensor(step.shares[i]);
      if (!precedes(other.id, step))
        return fail(step, "shares " + other.fullName() + " before it is computed");
      const bool fits = mine.dtype == other.dtype && mine.shape.elements() == other.shape.elements();
      if (!fits) return fail(step, "shares " + other.fullName() + ", which has another type or size");
      if (step.how == How::kSame && (mine.shape != other.shape || other.isSource()))
        return fail(step, "cannot be the same as " + other.fullName());
    }
  }

  bool isRowMajor(TensorId id) const { return m_plan.layouts[id.index()] == Layout::kRowMajor; }
  void checkLayout(const TensorInfo& info) {
    if (isRowMajor(info.id)) return;
    if (info.isSource())
      m_status = Error(ErrorCode::kInternal, "plan: " + info.fullName() + " is a source in another layout");
    else if (!canBeChannels16(info))
      fail(m_plan.steps[info.producer.index()], "has an output that cannot be in channels of 16");
  }
  /// What stays where it is, or is looked at from outside, is row-major.
  void checkRowMajor(const PlanStep& step, const std::vector<TensorId>& ids) {
    for (const TensorId id : ids)
      if (!isRowMajor(id)) fail(step, "meets " + nameOf(id) + " in another layout than row-major");
  }

  void checkKept(TensorId id) {
    const TensorId root = m_plan.rootOf(m_graph, id);
    if (!isRowMajor(root))
      return fail(m_plan.steps[m_graph.tensor(root).producer.index()], "is kept in another layout");
    const PlanStep* maker = makerOf(id);
    if (!maker) return;
    if (maker->how == How::kWatched || m_plan.isInside(m_graph, root))
      fail(*maker, "is computed only where observed, but is to be kept");
    if (m_plan.bufferOf[root.index()] != Plan::kOwnMemory)
      fail(*maker, "is to be kept, but lies in a buffer");
  }

  /// Goes through an iteration and looks whether every value is still there when it is needed.
  void checkBuffers() {
    m_holder.assign(m_plan.buffers.size(), TensorId());
    m_place = m_plan.bufferOf;
    for (const PlanStep& step : m_plan.steps) {
      for (const NodeId id : step.again) checkAgain(step, m_plan.steps.at(id.index()));
      checkHeld(step);
      if (!m_status.ok()) return;
    }
    for (const TensorInfo& info : m_graph.tensors())
      if (info.isSource() && m_plan.bufferOf[info.id.index()] != Plan::kOwnMemory)
        m_status = Error(ErrorCode::kInternal, "plan: " + info.fullName() + " is a source in a buffer");
  }

  void checkAgain(const PlanStep& step, const PlanStep& repeated) {
    const Node& node = m_graph.node(repeated.node);
    if (repeated.node >= step.node || node.phase != Phase::kForward || writesNextValue(m_graph, node) ||
        isPinned(m_options, node.id) || (repeated.how != How::kRun && repeated.shares.empty()))
      return fail(step, "has " + node.name + " computed again, which must not be");
    for (const TensorId id : node.outputs) m_place[id.index()] = m_plan.secondBufferOf[id.index()];
    checkHeld(repeated);
  }

  void checkHeld(const PlanStep& step) {
    if (step.how == How::kGrouped) return checkShown(step);
    std::vector<std::int64_t> taken;
    readFrom(step, taken);
    for (const GroupMember& member : step.group)
      for (std::size_t k = 0; k < member.links.size(); ++k)
        if (member.links[k] == GroupMember::kFromMemory)
          checkRead(step, m_plan.rootOf(m_graph, m_plan.steps[member.node.index()].inputs[k]), taken);
    for (const TensorId id : m_graph.node(step.node).outputs) hold(step, id, taken);
    for (const GroupMember& member : step.group)
      if (member.node != step.node)
        for (const TensorId id : m_graph.node(member.node).outputs) hold(step, id, taken);
  }
  void readFrom(const PlanStep& step, std::vector<std::int64_t>& taken) {
    for (const std::vector<TensorId>* ids : {&step.inputs, &step.shares})
      for (const TensorId id : *ids) checkRead(step, m_plan.rootOf(m_graph, id), taken);
  }
  /// What a group computed is still there at the place of its own node, where it is observed.
  void checkShown(const PlanStep& step) {
    std::vector<std::int64_t> taken;
    for (const TensorId id : m_graph.node(step.node).outputs) checkRead(step, id, taken);
  }

  void checkRead(const PlanStep& step, TensorId root, std::vector<std::int64_t>& taken) {
    const std::int64_t buffer = m_place[root.index()];
    if (buffer == Plan::kOwnMemory) return;
    taken.push_back(buffer);
    if (m_holder.at(static_cast<std::size_t>(buffer)) != root)
      fail(step, "needs " + nameOf(root) + ", whose buffer another tensor has taken");
  }

  void hold(const PlanStep& step, TensorId id, std::vector<std::int64_t>& taken) {
    const std::int64_t buffer = m_place[id.index()];
    if (buffer == Plan::kOwnMemory) return;
    const TensorInfo& info = m_graph.tensor(id);
    const PlanBuffer& space = m_plan.buffers.at(static_cast<std::size_t>(buffer));
    if (space.dtype != info.dtype || space.elements < info.shape.elements())
      return fail(step, "has an output that does not fit its buffer");
    if (!step.shares.empty() || step.how == How::kOnce || info.updateOf.valid())
      return fail(step, "has an output in a buffer that must not be in one");
    if (std::ranges::count(taken, buffer)) return fail(step, "writes into what it reads or writes besides");
    taken.push_back(buffer);
    m_holder[static_cast<std::size_t>(buffer)] = id;
  }

  const Graph& m_graph;
  const PlanOptions& m_options;
  const Plan& m_plan;
  Status m_status;
  std::vector<TensorId> m_holder;     // by buffer
  std::vector<std::int64_t> m_place;  // by TensorId: the buffer it lies in now
};

}  // namespace

Status verifyPlan(const Graph& graph, const PlanOptions& options, const Plan& plan) {
  return PlanVerifier(graph, options, plan).run();
}

}  // namespace msdbg::core
