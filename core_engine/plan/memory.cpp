// Tensors whose lives do not overlap take turns in one buffer. A tensor lives from the step that computes it
// to the last that reads it or a view of it; an observer sees it right after it was computed, so observing
// lengthens no life. A group computes everything at its first step. What is computed again has a life each
// time. A buffer has one dtype and the size of the largest that lies in it. What is written only where
// somebody observes has buffers of its own.
//   a = f(x), b = g(a), c = h(b)  ->  a and c in buffer 0, b in buffer 1
#include <algorithm>
#include <map>

#include "core_engine/base/text.h"
#include "core_engine/plan/node_facts.h"
#include "core_engine/plan/pipeline.h"

namespace msdbg::core {
namespace {

/// Below this a buffer is not worth its bookkeeping, and a small value stays readable after the iteration.
constexpr std::int64_t kSmallestElements = 1024;

/// A tensor takes no buffer larger than so many times its size: a larger one will come that needs it. (2 is
/// the best of 1 to 8 for the built-in models together.)
constexpr std::int64_t kMostWaste = 2;

constexpr std::size_t kForEver = SIZE_MAX;

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
    std::vector<std::vector<std::int64_t>> ending(m_plan.steps.size());  // buffers, by the last step
    for (std::size_t i = 0; i < m_plan.steps.size(); ++i) {
      for (const NodeId id : m_plan.steps[i].again) placeAgain(m_graph.node(id), i, ending);
      if (mayTakeTurns(m_plan.steps[i])) place(m_graph.node(m_plan.steps[i].node), i, ending);
      for (const GroupMember& member : m_plan.steps[i].group)
        if (member.node.index() != i) place(m_graph.node(member.node), member.node.index(), ending);
      for (const std::int64_t buffer : ending[i]) release(buffer);
    }
  }

  /// What lies in buffers, in the order in which it is computed.
  const std::vector<TensorId>& tensors() const { return m_tensors; }
  std::size_t bytesApart() const { return m_bytes; }        // without buffers
  std::size_t bytesAtOnce() const { return m_mostAtOnce; }  // what no placing could go below

 private:
  using Ending = std::vector<std::vector<std::int64_t>>;
  bool mayTakeTurns(const PlanStep& step) const { return step.how == How::kRun || step.how == How::kWatched; }

  void noteReads(const PlanStep& step, std::size_t at) {
    for (const std::vector<TensorId>* ids : {&step.inputs, &step.shares})
      for (const TensorId id : *ids) {
        const std::size_t root = m_plan.rootOf(m_graph, id).index();
        (at < m_again[root] ? m_last : m_lastAgain)[root] = at;
      }
  }

  void place(const Node& node, std::size_t step, Ending& ending) {
    for (const TensorId id : node.outputs) {
      const TensorInfo& info = m_graph.tensor(id);
      const bool observed = isObserved(node, id);
      const PlanBuffer wanted{info.dtype, info.shape.elements(), observed};
      const bool stays = info.updateOf.valid() || m_last[id.index()] == kForEver;
      if (wanted.elements < kSmallestElements || stays) continue;
      m_plan.bufferOf[id.index()] = take(wanted, std::max(m_last[id.index()], step), ending);
      m_tensors.push_back(id);
      m_bytes += wanted.bytes();
    }
  }

  bool isObserved(const Node& node, TensorId output) const {
    return m_plan.steps[node.id.index()].how == How::kWatched || m_plan.isInside(m_graph, output);
  }

  /// The second life of what lay in a buffer the first time.
  void placeAgain(const Node& node, std::size_t step, Ending& ending) {
    for (const TensorId id : node.outputs)
      if (const std::int64_t first = m_plan.bufferOf[id.index()]; first != Plan::kOwnMemory) {
        const TensorInfo& info = m_graph.tensor(id);
        const PlanBuffer wanted{info.dtype, info.shape.elements()};
        m_plan.secondBufferOf[id.index()] = take(wanted, std::max(m_lastAgain[id.index()], step), ending);
      }
  }

  std::int64_t take(const PlanBuffer& wanted, std::size_t last, Ending& ending) {
    const std::int64_t buffer = freeBuffer(wanted);
    ending[last].push_back(buffer);
    m_held[static_cast<std::size_t>(buffer)] = wanted.observed ? 0 : wanted.bytes();
    m_now += m_held[static_cast<std::size_t>(buffer)];
    m_mostAtOnce = std::max(m_mostAtOnce, m_now);
    return buffer;
  }

  std::int64_t freeBuffer(const PlanBuffer& wanted) {
    std::vector<std::int64_t>& free = m_free[{wanted.dtype, wanted.observed}];
    const auto best = bestOf(free, wanted.elements);
    if (best == free.rend()) {
      m_plan.buffers.push_back(wanted);
      m_held.push_back(0);
      return static_cast<std::int64_t>(m_plan.buffers.size()) - 1;
    }
    const std::int64_t buffer = *best;
    free.erase(std::next(best).base());
    std::int64_t& elements = m_plan.buffers[static_cast<std::size_t>(buffer)].elements;
    elements = std::max(elements, wanted.elements);
    return buffer;
  }

  /// Of the free ones: one of this size, freed last (the likeliest to be in the cache); else the smallest
  /// that is large enough and not too large; else the largest, which then grows.
  std::vector<std::int64_t>::reverse_iterator bestOf(std::vector<std::int64_t>& free, std::int64_t elements) {
    const auto sizeOf = [&](std::int64_t buffer) {
      return m_plan.buffers[static_cast<std::size_t>(buffer)].elements;
    };
    const auto waste = [&](std::int64_t buffer) {
      const std::int64_t size = sizeOf(buffer);
      return std::pair(size < elements, std::abs(size - elements));
    };
    auto best = free.rend();
    for (auto it = free.rbegin(); it != free.rend(); ++it)
      if (sizeOf(*it) <= kMostWaste * elements && (best == free.rend() || waste(*it) < waste(*best)))
        best = it;
    return best;
  }

  void release(std::int64_t index) {
    const PlanBuffer& buffer = m_plan.buffers[static_cast<std::size_t>(index)];
    m_free[{buffer.dtype, buffer.observed}].push_back(index);
    m_now -= m_held[static_cast<std::size_t>(index)];
  }

  const Graph& m_graph;
  Plan& m_plan;
  // By TensorId of roots: the last step that reads the value computed first, and again; the step before
  // which it is computed again.
  std::vector<std::size_t> m_last, m_lastAgain, m_again;
  // By dtype and whether only for what is observed; in the order in which they were freed.
  std::map<std::pair<DType, bool>, std::vector<std::int64_t>> m_free;
  std::vector<std::size_t> m_held;  // by buffer: bytes of what lies in it now
  std::vector<TensorId> m_tensors;
  std::size_t m_bytes = 0, m_now = 0, m_mostAtOnce = 0;
};

std::size_t bytesOf(const Plan& plan, bool observed) {
  std::size_t bytes = 0;
  for (const PlanBuffer& buffer : plan.buffers)
    if (buffer.observed == observed) bytes += buffer.bytes();
  return bytes;
}

/// A line a buffer: its size, and who takes turns in it.
std::vector<std::string> bufferLines(const Graph& graph, const Plan& plan,
                                     const std::vector<TensorId>& tensors) {
  std::vector<std::string> lines;
  for (const PlanBuffer& buffer : plan.buffers)
    lines.push_back("buffer " + std::to_string(lines.size()) + " (" + formatBytes(buffer.bytes()) +
                    (buffer.observed ? ", where observed):" : "):"));
  for (const TensorId id : tensors)
    lines[static_cast<std::size_t>(plan.bufferOf[id.index()])] += " " + graph.tensor(id).fullName();
  return lines;
}

void run(const Graph& graph, const PlanOptions& options, Plan& plan, PassNotes& notes) {
  if (!options.keep) return notes.refuse("whoever runs the graph wants every value");
  MemoryPlan memory(graph, options, plan);
  memory.run();
  if (memory.tensors().empty()) return;
  const std::size_t before = memory.bytesApart(), after = bytesOf(plan, false),
                    observed = bytesOf(plan, true);
  notes.summary = std::to_string(memory.tensors().size()) + " tensors take turns in " +
                  std::to_string(plan.buffers.size()) + " buffers: " + formatBytes(after) + " instead of " +
                  formatBytes(before) + ", " + formatBytes(before - after) + " saved; " +
                  formatBytes(memory.bytesAtOnce()) + " are needed at once" +
                  (observed ? ", " + formatBytes(observed) + " more where observed" : "");
  notes.changes = bufferLines(graph, plan, memory.tensors());
}

}  // namespace

PlanPass memoryPass() {
  return {"memory", "tensors whose lives do not overlap take turns in one buffer", run};
}

}  // namespace msdbg::core
