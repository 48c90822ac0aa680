// Tensors whose lives do not overlap share one block of memory. A tensor lives from the step that computes it
// to the last that reads it or a view of it; an observer sees it right after it was computed, so observing
// lengthens no life. A group computes everything at its first step. What is computed again has a life each
// time. What is written only where somebody observes lies behind the rest.
//   a = f(x), b = g(a), c = h(b)  ->  a and c at 0, b behind them
//
// The largest first, each at the lowest place that is free for all of its life ("greedy by size", Pisarchyk
// and Lee 2020, arXiv 2001.03288).
#include <algorithm>

#include "core_engine/base/text.h"
#include "core_engine/plan/node_facts.h"
#include "core_engine/plan/pipeline.h"

namespace msdbg::core {
namespace {

/// Below this a place is not worth its bookkeeping, and a small value stays readable after the iteration.
constexpr std::int64_t kSmallestElements = 1024;

constexpr std::size_t kForEver = SIZE_MAX;

struct Life {
  TensorId tensor;
  bool again = false;     // the second time it is computed
  bool observed = false;  // written only where somebody observes
  std::int64_t bytes = 0;
  std::size_t from = 0, to = 0;  // steps, both included
  std::int64_t place = 0;

  bool overlaps(const Life& other) const { return from <= other.to && other.from <= to; }
  std::int64_t end() const { return place + bytes; }
};

/// Finds places for lives from `begin` on; end() is where the last of them ends.
class Block {
 public:
  explicit Block(std::int64_t begin) : m_begin(begin), m_end(begin) {}

  void place(Life& life) {
    std::vector<const Life*> beside;
    for (const Life* other : m_placed)
      if (other->overlaps(life)) beside.push_back(other);
    std::ranges::sort(beside, {}, &Life::place);
    life.place = m_begin;
    for (const Life* other : beside) {
      if (other->place >= life.end()) break;
      life.place = std::max(life.place, other->end());
    }
    m_placed.push_back(&life);
    m_end = std::max(m_end, life.end());
  }
  std::int64_t end() const { return m_end; }

 private:
  std::int64_t m_begin, m_end;
  std::vector<const Life*> m_placed;
};

class MemoryPlan {
 public:
  MemoryPlan(const Graph& graph, const PlanOptions& options, Plan& plan)
      : m_graph(graph),
        m_plan(plan),
        m_last(graph.tensors().size(), 0),
        m_lastAgain(m_last),
        m_again(graph.tensors().size(), kForEver) {
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      for (const NodeId id : plan.steps[i].again) {
        for (const TensorId output : graph.node(id).outputs) m_again[output.index()] = i;
        noteReads(plan.steps[id.index()], i);
      }
      noteReads(plan.steps[i], i);
    }
    for (const TensorId id : *options.keep) m_last[plan.rootOf(graph, id).index()] = kForEver;
  }

  void run() {
    for (std::size_t i = 0; i < m_plan.steps.size(); ++i) {
      const PlanStep& step = m_plan.steps[i];
      for (const NodeId id : step.again)
        if (mayTakeTurns(m_plan.steps[id.index()])) noteLives(m_graph.node(id), i, true);
      if (mayTakeTurns(step)) noteLives(m_graph.node(step.node), i, false);
      for (const GroupMember& member : step.group)
        if (member.node.index() != i) noteLives(m_graph.node(member.node), i, false);
    }
    placeAll();
  }

  /// In the order in which they begin.
  const std::vector<Life>& lives() const { return m_lives; }
  std::size_t bytesApart() const {  // without sharing, of what is computed once
    std::size_t bytes = 0;
    for (const Life& life : m_lives) bytes += life.again ? 0 : static_cast<std::size_t>(life.bytes);
    return bytes;
  }
  std::size_t bytesAtOnce() const {  // what no placing could go below
    std::size_t most = 0;
    for (const Life& first : m_lives) {
      std::size_t now = 0;
      for (const Life& life : m_lives)
        if (!life.observed && life.from <= first.from && first.from <= life.to)
          now += static_cast<std::size_t>(life.bytes);
      most = std::max(most, now);
    }
    return most;
  }

 private:
  bool mayTakeTurns(const PlanStep& step) const { return step.how == How::kRun || step.how == How::kWatched; }

  void noteReads(const PlanStep& step, std::size_t at) {
    for (const std::vector<TensorId>* ids : {&step.inputs, &step.shares})
      for (const TensorId id : *ids) {
        const std::size_t root = m_plan.rootOf(m_graph, id).index();
        (at < m_again[root] ? m_last : m_lastAgain)[root] = at;
      }
  }

  /// What a node computes at `step`; it is shown to an observer at the node's own place.
  void noteLives(const Node& node, std::size_t step, bool again) {
    for (const TensorId id : node.outputs) {
      const TensorInfo& info = m_graph.tensor(id);
      const bool stays = info.updateOf.valid() || m_last[id.index()] == kForEver;
      if (info.shape.elements() < kSmallestElements || stays) continue;
      const std::size_t shown = again ? step : std::max(step, node.id.index());
      const std::size_t read = (again ? m_lastAgain : m_last)[id.index()];
      m_lives.push_back({id, again, isObserved(node, id), wholeLines(info), step, std::max(shown, read)});
    }
  }
  bool isObserved(const Node& node, TensorId output) const {
    return m_plan.steps[node.id.index()].how == How::kWatched || m_plan.isInside(m_graph, output);
  }
  static std::int64_t wholeLines(const TensorInfo& info) {
    const auto bytes = info.shape.elements() * static_cast<std::int64_t>(dtypeSize(info.dtype));
    return (bytes + Tensor::kAlignment - 1) / Tensor::kAlignment * Tensor::kAlignment;
  }

  void placeAll() {
    std::vector<Life*> order;
    for (Life& life : m_lives) order.push_back(&life);
    std::ranges::stable_sort(order, std::ranges::greater(), &Life::bytes);
    m_plan.shared.bytes = placeThose(order, false, 0);
    m_plan.shared.observedBytes = placeThose(order, true, m_plan.shared.bytes) - m_plan.shared.bytes;
    for (const Life& life : m_lives)
      (life.again ? m_plan.secondPlaceOf : m_plan.placeOf)[life.tensor.index()] = life.place;
  }
  static std::int64_t placeThose(const std::vector<Life*>& order, bool observed, std::int64_t begin) {
    Block block(begin);
    for (Life* life : order)
      if (life->observed == observed) block.place(*life);
    return block.end();
  }

  const Graph& m_graph;
  Plan& m_plan;
  // By TensorId of roots: the last step that reads the value computed first, and again; the step before
  // which it is computed again.
  std::vector<std::size_t> m_last, m_lastAgain, m_again;
  std::vector<Life> m_lives;
};

/// A line a life: where, and how long.
std::vector<std::string> lifeLines(const Graph& graph, const std::vector<Life>& lives) {
  std::vector<std::string> lines;
  for (const Life& life : lives)
    lines.push_back(graph.tensor(life.tensor).fullName() + " at " + std::to_string(life.place) + ", " +
                    formatBytes(static_cast<std::size_t>(life.bytes)) + ", from %" +
                    std::to_string(life.from) + " to %" + std::to_string(life.to) +
                    (life.again ? ", computed again" : "") + (life.observed ? ", where observed" : ""));
  return lines;
}

void run(const Graph& graph, const PlanOptions& options, Plan& plan, PassNotes& notes) {
  if (!options.keep) return notes.refuse("whoever runs the graph wants every value");
  MemoryPlan memory(graph, options, plan);
  memory.run();
  if (memory.lives().empty()) return;
  const std::size_t before = memory.bytesApart(), after = static_cast<std::size_t>(plan.shared.bytes),
                    observed = static_cast<std::size_t>(plan.shared.observedBytes);
  const auto tensors = std::ranges::count(memory.lives(), false, &Life::again);
  notes.summary = std::to_string(tensors) + " tensors share " + formatBytes(after) + " instead of " +
                  formatBytes(before) + ", " + formatBytes(before - after) + " saved; " +
                  formatBytes(memory.bytesAtOnce()) + " are needed at once" +
                  (observed ? ", " + formatBytes(observed) + " more where observed" : "");
  notes.changes = lifeLines(graph, memory.lives());
}

}  // namespace

PlanPass memoryPass() {
  return {"memory", "tensors whose lives do not overlap share one block of memory", run};
}

}  // namespace msdbg::core
