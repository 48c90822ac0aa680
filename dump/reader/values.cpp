// RunReader: values of tensors. Most lie under /tensor; parameters and states also in checkpoints, inputs in
// batches, where these are what was recorded of them.
#include <algorithm>

#include "dump/policy/checkpoints.h"
#include "dump/reader/run_reader_internal.h"

namespace msdbg::dump {
namespace {

// What lies outside /tensor, as the journal says.
std::optional<ValueOrigin> partHolding(const SegmentLine& line, core::Iteration iteration,
                                       const core::TensorInfo& tensor) {
  if (inCheckpoint(tensor) && std::ranges::binary_search(line.checkpoints, iteration.value))
    return ValueOrigin::kCheckpoint;
  if (inBatch(tensor) && std::ranges::binary_search(line.batches, iteration.value))
    return ValueOrigin::kBatch;
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

bool RunReader::Impl::underTensor(core::Rank rank, core::Iteration iteration, core::TensorId tensor) {
  const SegmentLine* line = lineOf(rank, iteration);
  if (!line || line->tensors == 0) return false;
  const auto found = segment(rank, iteration);
  line = lineOf(rank, iteration);
  if (!found.ok() || !line) return false;
  const auto described = describe(*line, tensor);
  if (!described.ok() || !*described) return false;
  const auto iterations = (*found)->reader->stored(**described);
  if (!iterations.ok()) {
    addDamage(ranks.at(rank.value), *line, iterations.error(), line->iterations);
    return false;
  }
  return std::ranges::binary_search(*iterations, iteration.value);
}

bool RunReader::stored(core::Rank rank, core::Iteration iteration, core::TensorId tensor) const {
  return m_impl->underTensor(rank, iteration, tensor);
}

std::optional<ValueOrigin> RunReader::origin(core::Rank rank, core::Iteration iteration,
                                             core::TensorId tensor) const {
  if (m_impl->underTensor(rank, iteration, tensor)) return ValueOrigin::kTensor;
  const SegmentLine* line = m_impl->lineOf(rank, iteration);
  if (!line || (line->checkpoints.empty() && line->batches.empty())) return std::nullopt;
  const auto info = m_impl->describe(*line, tensor);
  return info.ok() && *info ? partHolding(*line, iteration, **info) : std::nullopt;
}

core::Result<core::Tensor> RunReader::tensor(core::Rank rank, core::Iteration iteration,
                                             core::TensorId tensor) {
  MSDBG_ASSIGN(Impl::OpenSegment * segment, m_impl->segment(rank, iteration));
  const SegmentLine& line = *m_impl->lineOf(rank, iteration);
  MSDBG_ASSIGN(const core::TensorInfo* info, m_impl->describe(line, tensor));
  auto value = info ? segment->reader->tensor(*info, iteration.value)
                    : core::Result<core::Tensor>(core::Error(core::ErrorCode::kUnavailable, "not stored"));
  if (value.ok()) return value;
  if (value.error().code() != core::ErrorCode::kUnavailable)
    return m_impl->damaged(rank, iteration, value.error());
  if (const auto part = info ? partHolding(line, iteration, *info) : std::nullopt) {
    value = m_impl->partValue(*part, rank, iteration, *info);
    return value.ok() ? value : m_impl->damaged(rank, iteration, value.error());
  }
  const core::TensorInfo& wanted = m_impl->graph.tensor(tensor);
  return core::Error(core::ErrorCode::kUnavailable, "the value of " + wanted.fullName() + " (" +
                                                        placeText(rank, iteration) + ") is not stored" +
                                                        howToStore(m_impl->info, line, wanted));
}

}  // namespace msdbg::dump
