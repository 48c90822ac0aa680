// RunReader: values of tensors. Most lie under /tensor; parameters and states also in checkpoints, inputs in
// batches, where these are what was recorded of them.
#include <algorithm>

#include "core_engine/base/text.h"
#include "dump/policy/checkpoints.h"
#include "dump/reader/run_reader_internal.h"

namespace msdbg::dump {
namespace {

// What lies outside /tensor, as the journal says.
std::optional<ValueOrigin> partHolding(const SegmentLine& line, core::Iteration iteration,
                                       const core::TensorInfo& tensor) {
  if (inCheckpoint(tensor) && line.checkpoints.contains(iteration.value)) return ValueOrigin::kCheckpoint;
  if (inBatch(tensor) && line.batches.contains(iteration.value)) return ValueOrigin::kBatch;
  return std::nullopt;
}

// What would have stored it.
std::string howToStore(const RunInfo& run, const SegmentLine& line, const core::TensorInfo& tensor) {
  if (run.policy.onHit.on()) return ": values were kept near hits only (--on-hit, --before, --after)";
  if (line.tensorsDropped)
    return ": only the newest values were kept (--max-size, --keep-last, --keep-free); record with a larger "
           "budget";
  return "; record with --policy full and --tensors '" + tensor.name + "'";
}

}  // namespace

core::Error RunReader::Impl::notComputed(core::Rank rank, core::Iteration iteration, core::TensorId tensor) {
  std::vector<std::int64_t> others;
  for (const auto& [other, index] : ranks)
    if (const SegmentLine* line = lineOf(core::Rank(other), iteration))
      if (describe(core::Rank(other), *line, tensor)) others.push_back(other);
  std::string where = others.empty() ? "no rank computes it there" : others.size() == 1 ? "rank " : "ranks ";
  if (!others.empty()) where += core::formatRanges(others) + (others.size() == 1 ? " does" : " do");
  return {core::ErrorCode::kUnavailable, "rank " + std::to_string(rank.value) + " does not compute " +
                                             graph().tensor(tensor).fullName() + " in iteration " +
                                             std::to_string(iteration.value) + "; " + where};
}

std::vector<std::int64_t> RunReader::Impl::storedBeside(core::Rank rank, core::Iteration iteration,
                                                        core::TensorId tensor) {
  const SegmentLine* line = lineOf(rank, iteration);
  if (!line || line->tensors == 0) return {};
  const auto found = segment(rank, iteration);
  line = lineOf(rank, iteration);
  if (!found.ok() || !line) return {};
  const core::TensorInfo* described = describe(rank, *line, tensor);
  if (!described) return {};
  auto iterations = (*found)->reader->stored(*described);
  if (iterations.ok()) return std::move(*iterations);
  addDamage(ranks.at(rank.value), *line, iterations.error(), line->iterations);
  return {};
}

bool RunReader::Impl::underTensor(core::Rank rank, core::Iteration iteration, core::TensorId tensor) {
  return std::ranges::binary_search(storedBeside(rank, iteration, tensor), iteration.value);
}

// Opening a segment may read the journal again: then ranges are others, and what is left is looked for in
// those.
void RunReader::Impl::eachStored(core::Rank rank, core::TensorId tensor,
                                 const std::function<bool(core::Iteration)>& take) {
  const auto index = ranks.find(rank.value);
  std::int64_t before = INT64_MAX;
  while (index != ranks.end()) {
    const auto& parts = index->second.segmentOf.parts();
    const auto next = parts.lower_bound(before);
    if (next == parts.begin()) return;
    const std::int64_t first = std::prev(next)->first, last = std::prev(next)->second.last;
    const std::vector<std::int64_t> stored = storedBeside(rank, core::Iteration(last), tensor);
    const auto begin = std::ranges::lower_bound(stored, first);
    for (auto it = std::ranges::upper_bound(stored, last); it != begin;)
      if (!take(core::Iteration(*--it))) return;
    before = first;
  }
}

std::int64_t RunReader::storedCount(core::Rank rank, core::TensorId tensor) const {
  std::int64_t count = 0;
  m_impl->eachStored(rank, tensor, [&](core::Iteration) { return ++count > 0; });
  return count;
}

bool RunReader::storedAnywhere(core::Rank rank, core::TensorId tensor) const {
  bool any = false;
  m_impl->eachStored(rank, tensor, [&](core::Iteration) { return !(any = true); });
  return any;
}

bool RunReader::stored(core::Rank rank, core::Iteration iteration, core::TensorId tensor) const {
  return m_impl->underTensor(rank, iteration, tensor);
}

std::optional<ValueOrigin> RunReader::origin(core::Rank rank, core::Iteration iteration,
                                             core::TensorId tensor) const {
  if (m_impl->underTensor(rank, iteration, tensor)) return ValueOrigin::kTensor;
  const SegmentLine* line = m_impl->lineOf(rank, iteration);
  if (!line || (line->checkpoints.empty() && line->batches.empty())) return std::nullopt;
  const core::TensorInfo* info = m_impl->describe(rank, *line, tensor);
  return info ? partHolding(*line, iteration, *info) : std::nullopt;
}

core::Result<core::Tensor> RunReader::tensor(core::Rank rank, core::Iteration iteration,
                                             core::TensorId tensor) {
  MSDBG_ASSIGN(Impl::OpenSegment * segment, m_impl->segment(rank, iteration));
  const SegmentLine& line = *m_impl->lineOf(rank, iteration);
  const core::TensorInfo* info = m_impl->describe(rank, line, tensor);
  if (!info) return m_impl->notComputed(rank, iteration, tensor);
  auto value = segment->reader->tensor(*info, iteration.value);
  if (value.ok()) return value;
  if (value.error().code() != core::ErrorCode::kUnavailable)
    return m_impl->damaged(rank, iteration, value.error());
  if (const auto part = partHolding(line, iteration, *info)) {
    value = m_impl->partValue(*part, rank, iteration, *info);
    return value.ok() ? value : m_impl->damaged(rank, iteration, value.error());
  }
  const core::TensorInfo& wanted = m_impl->graph().tensor(tensor);
  return core::Error(core::ErrorCode::kUnavailable, "the value of " + wanted.fullName() + " (" +
                                                        placeText(rank, iteration) + ") is not stored" +
                                                        howToStore(m_impl->info, line, wanted));
}

}  // namespace msdbg::dump
