#include "replay/recompute/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core_engine/graph/roles.h"
#include "core_engine/tensor/flags.h"

namespace msdbg::replay {

using core::Error;
using core::ErrorCode;
using core::Iteration;
using core::Rank;
using core::Result;
using core::TensorId;

namespace {

/// Carried from iteration to iteration, and changed by them.
bool isState(const core::TensorInfo& info) {
  return core::isCarried(info) && info.role != core::TensorRole::kConstant;
}

}  // namespace

Result<RecordedHashes> RecordedHashes::read(Run& run, Rank rank, Iteration iteration, std::size_t tensors) {
  RecordedHashes recorded;
  Recomputable* const source = run.recomputable();
  recorded.part = run.part(rank, iteration);
  recorded.hashes.resize(tensors);
  recorded.stored.resize(tensors);
  recorded.nonFinite.resize(tensors);
  recorded.digestOnly = run.thinned(rank, iteration);
  for (std::size_t i = 0; i < tensors; ++i) {
    const TensorId id = recorded.runId(TensorId(static_cast<std::int64_t>(i)));
    recorded.stored[i] = run.stored(rank, iteration, id);
    const Result<core::Hash128> hash = run.hash(rank, iteration, id);
    if (hash.ok())
      recorded.hashes[i] = *hash;
    else if (hash.error().code() != ErrorCode::kUnavailable)
      return hash.error();
    const bool known = recorded.hashes[i] != core::Hash128() || recorded.digestOnly || !source;
    if (const watch::StatisticsRow* row = known ? nullptr : source->recordedRow(rank, iteration, id))
      recorded.nonFinite[i] = {row->values.nan, row->values.posInf, row->values.negInf};
  }
  recorded.loss = run.scalar(rank, iteration, "loss");
  return recorded;
}

void RecordedHashes::addCheckpoint(Run& run, Rank rank, Iteration iteration) {
  inCheckpoint.resize(hashes.size());
  for (std::size_t i = 0; i < inCheckpoint.size(); ++i)
    inCheckpoint[i] = run.origin(rank, iteration, runId(TensorId(static_cast<std::int64_t>(i)))) ==
                      ValueOrigin::kCheckpoint;
}

void Judge::expect(const core::Graph& graph, bool otherGraph, RecordedHashes recorded, bool stateDiffers) {
  m_graph = &graph;
  m_stateDiffers = stateDiffers;
  m_recorded = std::move(recorded);
  if (otherGraph || m_hashes.size() != graph.tensors().size())
    m_hashes.assign(graph.tensors().size(), core::Hash128());
  m_differs.assign(graph.tensors().size(), false);
  m_different.clear();
  m_failures.clear();
  m_compared = m_values = m_states = 0;
  m_bytes = 0;
}

std::vector<TensorId> Judge::collectivesOfDiffering() const {
  std::vector<TensorId> made;
  for (const core::Node& node : m_graph->nodes())
    if (node.phase == core::Phase::kCollective && !inputsEqual(node.outputs.front()))
      for (const TensorId output : node.outputs) made.push_back(m_recorded.runId(output));
  return made;
}

bool Judge::evidenceDiffers(const core::TensorReady& ready) const {
  if (const auto& counts = m_recorded.nonFinite[ready.tensor.index()]) {
    const core::TensorStatistics now = core::flagsOf(ready.value, m_threads);
    return *counts != RecordedHashes::NonFinite{now.nan, now.posInf, now.negInf};
  }
  const bool isLoss = m_graph->tensor(ready.tensor).role == core::TensorRole::kLoss;
  if (!isLoss || !m_recorded.loss || ready.value.elements() != 1) return false;
  const double now = ready.value.at(0);
  return std::isnan(now) ? !std::isnan(*m_recorded.loss) : now != *m_recorded.loss;
}

void Judge::markDiffering(const std::set<TensorId>& given) {
  for (const core::Node& node : m_graph->nodes())
    for (const TensorId output : node.outputs)
      if (isUnrecorded(output) && (given.contains(m_recorded.runId(output)) || !inputsEqual(output)))
        m_differs[output.index()] = true;
}

void Judge::allMayDiffer() {
  for (const core::TensorInfo& info : m_graph->tensors())
    if (isUnrecorded(info.id) && (!info.isSource() || isState(info))) m_differs[info.id.index()] = true;
}

bool Judge::inputsEqual(TensorId tensor) const {
  const core::NodeId producer = m_graph->tensor(tensor).producer;
  if (!producer.valid()) return true;
  return std::ranges::none_of(m_graph->node(producer).inputs,
                              [&](TensorId input) { return m_differs[input.index()]; });
}

Error Judge::wrongValue(const core::TensorReady& ready, const std::string& what) const {
  return {ErrorCode::kDamaged, fmt::format("{} (rank {}): its stored value {}; msdbg verify names the file",
                                           m_graph->tensor(ready.tensor).fullName(), m_rank.value, what)};
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
  ++(m_recorded.stored[ready.tensor.index()] ? m_values : m_states);
  if (stored->dtype() != ready.value.dtype() || stored->shape() != ready.value.shape()) {
    m_failures.push_back(wrongValue(ready, "is of another type"));
    return std::nullopt;
  }
  std::optional<BitDifference> difference = compareBits(*stored, ready.value);
  if (difference && sameHash)
    m_failures.push_back(wrongValue(ready, "is not what was hashed when it was computed"));
  return difference;
}

void Judge::tensorReady(const core::TensorReady& ready) {
  const std::size_t at = ready.tensor.index();
  core::Hash128& computed = m_hashes[at];
  const bool known = ready.sameAs.valid() && m_hashes[ready.sameAs.index()] != core::Hash128();
  computed = known ? m_hashes[ready.sameAs.index()] : hashOf(ready);
  const core::Hash128& recorded = m_recorded.hashes[at];
  if (recorded == core::Hash128()) {  // nobody knows of it alone, but of what it was made from
    const core::TensorInfo& info = m_graph->tensor(ready.tensor);
    m_differs[at] = info.isSource() ? m_stateDiffers && isState(info) : !inputsEqual(ready.tensor);
    const std::optional<BitDifference> values =
        m_recorded.holdsValue(ready.tensor) ? compareValue(ready, false) : std::optional<BitDifference>();
    if (!values && !evidenceDiffers(ready)) return;
    m_different.push_back({ready.tensor, computed, values, !m_differs[at]});
    m_differs[at] = true;
    return;
  }
  ++m_compared;
  m_bytes += ready.value.bytes();
  const bool same = computed == recorded;
  m_differs[at] = !same;
  const std::optional<BitDifference> values =
      m_recorded.holdsValue(ready.tensor) ? compareValue(ready, same) : std::optional<BitDifference>();
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
