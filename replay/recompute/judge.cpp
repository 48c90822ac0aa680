#include "replay/recompute/judge.h"

#include <algorithm>

namespace msdbg::replay {

using core::Error;
using core::ErrorCode;
using core::Iteration;
using core::Rank;
using core::Result;
using core::TensorId;

Result<RecordedHashes> RecordedHashes::read(Run& run, Rank rank, Iteration iteration, std::size_t tensors) {
  RecordedHashes recorded;
  recorded.part = run.part(rank, iteration);
  recorded.hashes.resize(tensors);
  recorded.stored.resize(tensors);
  recorded.digestOnly = run.thinned(rank, iteration);
  for (std::size_t i = 0; i < tensors; ++i) {
    const TensorId id = recorded.runId(TensorId(static_cast<std::int64_t>(i)));
    recorded.stored[i] = run.stored(rank, iteration, id);
    const Result<core::Hash128> hash = run.hash(rank, iteration, id);
    if (hash.ok())
      recorded.hashes[i] = *hash;
    else if (hash.error().code() != ErrorCode::kUnavailable)
      return hash.error();
  }
  return recorded;
}

void Judge::expect(const core::Graph& graph, bool otherGraph, RecordedHashes recorded) {
  m_graph = &graph;
  m_recorded = std::move(recorded);
  if (otherGraph || m_hashes.size() != graph.tensors().size())
    m_hashes.assign(graph.tensors().size(), core::Hash128());
  m_differs.assign(graph.tensors().size(), false);
  m_different.clear();
  m_failures.clear();
  m_compared = m_values = 0;
  m_bytes = 0;
}

bool Judge::inputsEqual(TensorId tensor) const {
  const core::NodeId producer = m_graph->tensor(tensor).producer;
  if (!producer.valid()) return true;
  return std::ranges::none_of(m_graph->node(producer).inputs,
                              [&](TensorId input) { return m_differs[input.index()]; });
}

// A stored value that is not what its hash says is damage of the file, not of the training.
std::optional<BitDifference> Judge::compareValue(const core::TensorReady& ready, bool sameHash) {
  Result<core::Tensor> stored = Error(ErrorCode::kInternal, "");
  {
    const std::lock_guard lock(m_lock);
    stored = m_run.value(m_rank, ready.iteration, m_recorded.runId(ready.tensor));
  }
  if (!stored.ok()) {
    m_failures.push_back(stored.error());
    return std::nullopt;
  }
  ++m_values;
  if (stored->dtype() != ready.value.dtype() || stored->shape() != ready.value.shape()) {
    m_failures.emplace_back(ErrorCode::kDamaged, m_graph->tensor(ready.tensor).fullName() +
                                                     ": its stored value is of another type");
    return std::nullopt;
  }
  std::optional<BitDifference> difference = compareBits(*stored, ready.value);
  if (difference && sameHash)
    m_failures.emplace_back(ErrorCode::kDamaged, m_graph->tensor(ready.tensor).fullName() +
                                                     ": its stored value is not what was hashed when it was "
                                                     "computed");
  return difference;
}

void Judge::tensorReady(const core::TensorReady& ready) {
  const std::size_t at = ready.tensor.index();
  core::Hash128& computed = m_hashes[at];
  const bool known = ready.sameAs.valid() && m_hashes[ready.sameAs.index()] != core::Hash128();
  computed = known ? m_hashes[ready.sameAs.index()] : hashOf(ready);
  const core::Hash128& recorded = m_recorded.hashes[at];
  if (recorded == core::Hash128()) {  // nobody knows of it alone, but of what it was made from
    m_differs[at] = !inputsEqual(ready.tensor);
    return;
  }
  ++m_compared;
  m_bytes += ready.value.bytes();
  const bool same = computed == recorded;
  m_differs[at] = !same;
  const std::optional<BitDifference> values =
      m_recorded.stored[at] ? compareValue(ready, same) : std::optional<BitDifference>();
  if (!same) m_different.push_back({ready.tensor, computed, values, inputsEqual(ready.tensor)});
}

Mismatch mismatchOf(const Judge& judge, const Judge::Seen& seen, const RankEngine& engine,
                    Iteration iteration, Rank rank) {
  const core::NodeId node = judge.graph().tensor(seen.tensor).producer;
  return {.iteration = iteration,
          .rank = rank,
          .order = node.value,
          .tensor = judge.recorded().runId(seen.tensor),
          .kernel = engine.kernelOf(node),
          .recorded = judge.recorded().hashes[seen.tensor.index()],
          .computed = seen.computed,
          .values = seen.values,
          .origin = seen.origin};
}

}  // namespace msdbg::replay
