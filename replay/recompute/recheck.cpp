#include "replay/recompute/recheck.h"

#include <fmt/format.h>

#include <algorithm>

#include "core_engine/base/text.h"
#include "core_engine/graph/roles.h"

namespace msdbg::replay {

using core::Error;
using core::ErrorCode;
using core::Iteration;
using core::Ok;
using core::Rank;
using core::Result;
using core::Status;
using core::TensorId;
using NodeMismatch = watch::Source::Recheck::Mismatch;

// Of nodes that went wrong by themselves in one iteration: each costs a computation of it.
static constexpr int kMostPasses = 16;

Recheck::~Recheck() = default;

Result<std::unique_ptr<Recheck>> Recheck::create(Run& run, core::CancelToken cancel) {
  std::unique_ptr<Recheck> recheck(new Recheck(run));
  MSDBG_ASSIGN(recheck->m_engine, Recomputation::create(run, std::move(cancel)));
  for (int rank = 0; rank < recheck->m_engine->ranks(); ++rank)
    recheck->m_judges.push_back(
        std::make_unique<Judge>(run, recheck->m_engine->runLock(), Rank(rank), recheck->m_engine->threads()));
  for (const auto& judge : recheck->m_judges) recheck->m_observers.push_back(judge.get());
  return recheck;
}

Result<watch::Source::Recheck> Recheck::recheck(Rank rank, Iteration iteration) {
  if (!m_last || m_iteration != iteration) {
    m_iteration = iteration;
    m_last = compute(iteration);
  }
  if (!m_last->ok()) return m_last->error();
  if (rank.index() >= (*m_last)->size())
    return Error(ErrorCode::kNotFound, fmt::format("there is no rank {}", rank.value));
  return (**m_last)[rank.index()];
}

Result<Recheck::Found> Recheck::compute(Iteration iteration) {
  const std::size_t ranks = m_judges.size();
  m_states.clear(), m_batches.clear();
  m_replaced.assign(ranks, {});
  m_found.assign(ranks, {});
  MSDBG_TRY(m_engine->prepare(iteration));
  if (const std::vector<std::string> other = m_engine->otherHere(); !other.empty())
    return Error(ErrorCode::kUnavailable, "it is computed otherwise here: " + core::join(other, "; "));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const Rank id(static_cast<std::int64_t>(rank));
    MSDBG_ASSIGN(m_states.emplace_back(), stateOf(id, iteration));
    MSDBG_ASSIGN(m_batches.emplace_back(), batchOf(id, iteration));
  }
  for (int passes = 0; passes < kMostPasses; ++passes) {
    MSDBG_TRY(pass(iteration));
    MSDBG_ASSIGN(const bool more, takeMismatches(iteration));
    if (!more) break;
  }
  count();
  MSDBG_TRY(m_engine->replaceable(std::vector<std::vector<core::NodeId>>(ranks)));
  return std::move(m_found);
}

Result<core::Tensor> Recheck::valueOf(Rank rank, Iteration iteration, const core::TensorInfo& tensor) {
  const core::GraphPart* part = m_run.part(rank, iteration);
  Result<core::Tensor> value =
      m_run.value(rank, iteration, part ? part->tensorAt(tensor.id.value) : tensor.id);
  if (value.ok()) return value;
  return Error(value.error().code(),
               fmt::format("{} is needed: {}", tensor.fullName(), value.error().message()));
}

Result<core::TrainingState> Recheck::stateOf(Rank rank, Iteration iteration) {
  core::TrainingState state{.iteration = iteration, .tensors = {}};
  for (const core::TensorInfo& tensor : m_engine->rank(rank).graph().tensors()) {
    if (!core::isCarried(tensor)) continue;
    MSDBG_ASSIGN(core::Tensor value, valueOf(rank, iteration, tensor));
    state.tensors.emplace_back(tensor.fullName(), std::move(value));
  }
  return state;
}

Result<core::Batch> Recheck::batchOf(Rank rank, Iteration iteration) {
  Result<core::Batch> kept = m_run.recomputable()->batch(rank, iteration);
  if (kept.ok() || kept.error().code() == ErrorCode::kDamaged) return kept;
  core::Batch batch{.iteration = iteration, .tensors = {}};
  for (const core::TensorInfo& tensor : m_engine->rank(rank).graph().tensors()) {
    if (!core::isFed(tensor.role)) continue;
    MSDBG_ASSIGN(core::Tensor value, valueOf(rank, iteration, tensor));
    batch.tensors.emplace_back(tensor.name, std::move(value));
  }
  return batch;
}

Status Recheck::pass(Iteration iteration) {
  std::vector<std::vector<core::NodeId>> nodes(m_judges.size());
  std::vector<core::Detour> detours(m_judges.size());
  for (std::size_t rank = 0; rank < m_judges.size(); ++rank) {
    const core::Graph& graph = m_engine->rank(Rank(static_cast<std::int64_t>(rank))).graph();
    for (const auto& [tensor, value] : m_replaced[rank]) nodes[rank].push_back(graph.tensor(tensor).producer);
    std::ranges::sort(nodes[rank]);
    nodes[rank].erase(std::ranges::unique(nodes[rank]).begin(), nodes[rank].end());
    detours[rank].values = m_replaced[rank];
  }
  MSDBG_TRY(m_engine->replaceable(nodes));
  for (std::size_t rank = 0; rank < m_judges.size(); ++rank) {
    const Rank id(static_cast<std::int64_t>(rank));
    const core::Graph& graph = m_engine->rank(id).graph();
    MSDBG_ASSIGN(RecordedHashes recorded, RecordedHashes::read(m_run, id, iteration, graph.tensors().size()));
    if (recorded.digestOnly)
      return Error(ErrorCode::kUnavailable, "its statistics were thinned, and its hashes with them");
    m_judges[rank]->expect(graph, true, std::move(recorded));
  }
  MSDBG_TRY(m_engine->begin(iteration, m_states));
  return m_engine->step(m_batches, m_observers, std::move(detours));
}

// A collective reads what all ranks give it.
bool Recheck::wentWrongThere(std::size_t rank, const Judge::Seen& seen) const {
  const core::Graph& graph = m_judges[rank]->graph();
  const core::NodeId producer = graph.tensor(seen.tensor).producer;
  if (!seen.origin || !producer.valid()) return false;
  const core::Node& node = graph.node(producer);
  if (node.phase != core::Phase::kCollective) return true;
  return std::ranges::none_of(m_judges, [&](const auto& other) {
    const auto theirs = other->graph().findNode(node.name);
    return theirs && std::ranges::any_of(other->graph().node(*theirs).inputs,
                                         [&](TensorId input) { return other->differs(input); });
  });
}

Result<bool> Recheck::takeMismatches(Iteration iteration) {
  bool more = false;
  for (std::size_t rank = 0; rank < m_judges.size(); ++rank) {
    const Judge& judge = *m_judges[rank];
    for (const Judge::Seen& seen : judge.different()) {
      if (!wentWrongThere(rank, seen)) continue;
      const TensorId tensor = judge.recorded().runId(seen.tensor);
      std::vector<NodeMismatch>& all = m_found[rank].mismatches;
      if (std::ranges::count(all, tensor, &NodeMismatch::tensor) > 0) continue;  // it cannot be replaced
      NodeMismatch& mismatch = all.emplace_back(NodeMismatch{.tensor = tensor});
      if (seen.values)
        mismatch = {tensor, seen.values->first, seen.values->different, seen.values->a, seen.values->b};
      if (!judge.recorded().stored[seen.tensor.index()]) continue;
      MSDBG_ASSIGN(core::Tensor value, m_run.value(Rank(static_cast<std::int64_t>(rank)), iteration, tensor));
      m_replaced[rank].emplace_back(seen.tensor, std::move(value));
      more = true;
    }
  }
  return more;
}

void Recheck::count() {
  for (std::size_t rank = 0; rank < m_judges.size(); ++rank) {
    const Judge& judge = *m_judges[rank];
    for (const core::TensorInfo& tensor : judge.graph().tensors()) {
      if (!tensor.producer.valid()) continue;
      const std::vector<TensorId>& inputs = judge.graph().node(tensor.producer).inputs;
      const bool known = judge.recorded().hashes[tensor.id.index()] != core::Hash128() &&
                         std::ranges::none_of(inputs, [&](TensorId each) { return judge.differs(each); });
      ++(known ? m_found[rank].outputs : m_found[rank].unasked);
    }
  }
}

}  // namespace msdbg::replay
