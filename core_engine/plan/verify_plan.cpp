#include <algorithm>
#include <map>

#include "core_engine/plan/node_facts.h"
#include "core_engine/plan/plan.h"

namespace msdbg::core {
namespace {

/// A tensor in shared memory, in bytes.
struct Placed {
  TensorId tensor;
  std::int64_t begin = 0, end = 0;
};
using Taken = std::vector<Placed>;

/// The first broken rule stops the check; every method returns at once when one was found before.
class PlanVerifier {
 public:
  PlanVerifier(const Graph& graph, const PlanOptions& options, const Plan& plan)
      : m_graph(graph), m_options(options), m_plan(plan) {}

  Status run() {
    if (m_plan.steps.size() != m_graph.nodes().size() || m_plan.placeOf.size() != m_graph.tensors().size() ||
        m_plan.secondPlaceOf.size() != m_graph.tensors().size() ||
        m_plan.inPlace.size() != m_graph.tensors().size() ||
        m_plan.layouts.size() != m_graph.tensors().size())
      return Error(ErrorCode::kInternal, "plan of " + m_graph.name() +
                                             ": its tables are not as long as the "
                                             "graph's");
    for (std::size_t i = 0; i < m_plan.steps.size() && m_status.ok(); ++i) checkStep(m_plan.steps[i], i);
    if (m_status.ok()) checkInside();
    for (const TensorInfo& info : m_graph.tensors()) checkLayout(info);
    if (m_options.keep)
      for (const TensorId id : *m_options.keep) checkKept(id);
    if (m_status.ok()) checkInPlace();
    if (m_status.ok()) checkPlaces();
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
      if (!fits(step, i, mine, other))
        return fail(step, "shares " + other.fullName() + ", which has another type or size");
      if (step.how == How::kSame && (mine.shape != other.shape || other.isSource()))
        return fail(step, "cannot be the same as " + other.fullName());
    }
  }

  static bool fits(const PlanStep& step, std::size_t output, const TensorInfo& mine,
                   const TensorInfo& other) {
    if (mine.dtype != other.dtype) return false;
    const std::int64_t wanted = mine.shape.elements(), there = other.shape.elements();
    if (step.starts.empty()) return wanted == there;
    if (step.how != How::kView || step.starts.size() != step.shares.size()) return false;
    const std::int64_t start = step.starts[output];
    return start >= 0 && start <= there && wanted <= there - start;
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
    if (m_plan.placeOf[root.index()] != Plan::kOwnMemory)
      fail(*maker, "is to be kept, but lies in shared memory");
  }

  /// Nobody reads what an update has written over; groups write at their first node's place.
  void checkInPlace() {
    std::vector<bool> gone(m_graph.tensors().size(), false);  // by TensorId
    for (const PlanStep& step : m_plan.steps) {
      if (step.how != How::kGrouped) overwrite(step, gone);
      for (const GroupMember& member : step.group)
        if (member.node != step.node) overwrite(m_plan.steps[member.node.index()], gone);
    }
    for (const TensorInfo& info : m_graph.tensors())
      if (m_plan.inPlace[info.id.index()] && !info.updateOf.valid())
        m_status = Error(ErrorCode::kInternal, "plan: " + info.fullName() + " replaces nothing");
  }
  void overwrite(const PlanStep& step, std::vector<bool>& gone) {
    for (const std::vector<TensorId>* ids : {&step.inputs, &step.shares})
      for (const TensorId id : *ids)
        if (gone[m_plan.rootOf(m_graph, id).index()])
          fail(step, "reads " + nameOf(id) + ", which an update has written over");
    for (const TensorId id : m_graph.node(step.node).outputs) {
      if (!m_plan.inPlace[id.index()]) continue;
      if (isPinned(m_options, step.node))
        fail(step, "writes over what it reads, but a fault is planted there");
      if (m_graph.tensor(id).updateOf.valid()) gone[m_graph.tensor(id).updateOf.index()] = true;
    }
  }

  /// Goes through an iteration and looks whether every value is still there when it is needed.
  void checkPlaces() {
    m_place = m_plan.placeOf;
    for (const PlanStep& step : m_plan.steps) {
      for (const NodeId id : step.again) checkAgain(step, m_plan.steps.at(id.index()));
      checkHeld(step);
      if (!m_status.ok()) return;
    }
    for (const TensorInfo& info : m_graph.tensors())
      if (info.isSource() && m_plan.placeOf[info.id.index()] != Plan::kOwnMemory)
        m_status = Error(ErrorCode::kInternal, "plan: " + info.fullName() + " is a source in shared memory");
  }

  void checkAgain(const PlanStep& step, const PlanStep& repeated) {
    const Node& node = m_graph.node(repeated.node);
    if (repeated.node >= step.node || node.phase != Phase::kForward || writesNextValue(m_graph, node) ||
        isPinned(m_options, node.id) || (repeated.how != How::kRun && repeated.shares.empty()))
      return fail(step, "has " + node.name + " computed again, which must not be");
    for (const TensorId id : node.outputs) m_place[id.index()] = m_plan.secondPlaceOf[id.index()];
    checkHeld(repeated);
  }

  void checkHeld(const PlanStep& step) {
    if (step.how == How::kGrouped) return checkShown(step);
    Taken taken;
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
  void readFrom(const PlanStep& step, Taken& taken) {
    for (const std::vector<TensorId>* ids : {&step.inputs, &step.shares})
      for (const TensorId id : *ids) checkRead(step, m_plan.rootOf(m_graph, id), taken);
  }
  /// What a group computed is still there at the place of its own node, where it is observed.
  void checkShown(const PlanStep& step) {
    Taken taken;
    for (const TensorId id : m_graph.node(step.node).outputs) checkRead(step, id, taken);
  }

  void checkRead(const PlanStep& step, TensorId root, Taken& taken) {
    const std::int64_t place = m_place[root.index()];
    if (place == Plan::kOwnMemory) return;
    taken.push_back(placed(root));
    const auto held = m_held.find(place);
    if (held == m_held.end() || held->second.tensor != root)
      fail(step, "needs " + nameOf(root) + ", whose memory another tensor has taken");
  }

  void hold(const PlanStep& step, TensorId id, Taken& taken) {
    const std::int64_t place = m_place[id.index()];
    if (place == Plan::kOwnMemory) return;
    const Placed mine = placed(id);
    if (place < 0 || place % Tensor::kAlignment != 0 ||
        mine.end > m_plan.shared.bytes + m_plan.shared.observedBytes)
      return fail(step, "has an output that does not fit the shared memory");
    if (!step.shares.empty() || step.how == How::kOnce || m_graph.tensor(id).updateOf.valid())
      return fail(step, "has an output in shared memory that must not be there");
    const auto meets = [&](const Placed& other) { return place < other.end && other.begin < mine.end; };
    if (std::ranges::any_of(taken, meets)) return fail(step, "writes into what it reads or writes besides");
    taken.push_back(mine);
    std::erase_if(m_held, [&](const auto& other) { return meets(other.second); });
    m_held[place] = mine;
  }

  Placed placed(TensorId id) const {
    const TensorInfo& info = m_graph.tensor(id);
    const std::int64_t place = m_place[id.index()];
    return {id, place, place + info.shape.elements() * static_cast<std::int64_t>(dtypeSize(info.dtype))};
  }

  const Graph& m_graph;
  const PlanOptions& m_options;
  const Plan& m_plan;
  Status m_status;
  std::map<std::int64_t, Placed> m_held;  // by place: what lies in shared memory now
  std::vector<std::int64_t> m_place;      // by TensorId: where it lies now
};

}  // namespace

Status verifyPlan(const Graph& graph, const PlanOptions& options, const Plan& plan) {
  return PlanVerifier(graph, options, plan).run();
}

}  // namespace msdbg::core
