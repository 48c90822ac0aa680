// RunReader: what a run can be computed again from. Iterations come from the journals; segments are opened
// for the values.
#include <algorithm>
#include <iterator>
#include <ranges>

#include "dump/policy/checkpoints.h"
#include "dump/reader/run_reader_internal.h"
#include "dump/reader/tensor_dataset_internal.h"
#include "dump/statistics_columns.h"

namespace msdbg::dump {
namespace {

using Held = core::IterationSet SegmentLine::*;

std::vector<std::int64_t> heldBy(const std::map<std::int64_t, RankIndex>& ranks, core::Rank rank, Held held) {
  std::vector<std::int64_t> iterations;
  const auto at = ranks.find(rank.value);
  if (at == ranks.end()) return iterations;
  // Where training began again, what an earlier segment holds of an iteration does not count.
  const bool overlap = !at->second.journal.restarts.empty();
  for (std::size_t segment = 0; segment < at->second.segments.size(); ++segment)
    for (const std::int64_t iteration : at->second.segments[segment].*held)
      if (!overlap || at->second.segmentOf.find(iteration) == segment) iterations.push_back(iteration);
  std::ranges::sort(iterations);
  return iterations;
}

// An iteration follows when it has a batch, and begins with a checkpoint or comes after one that follows,
// unless its state was set from outside.
std::vector<std::int64_t> following(const std::vector<std::int64_t>& checkpoints,
                                    const std::vector<std::int64_t>& batches,
                                    const core::IterationSet& anew) {
  std::vector<std::int64_t> reached;
  for (const std::int64_t batch : batches) {
    const bool next = !reached.empty() && reached.back() + 1 == batch && !anew.contains(batch);
    if (next || std::ranges::binary_search(checkpoints, batch)) reached.push_back(batch);
  }
  return reached;
}

std::vector<std::int64_t> inBoth(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  std::vector<std::int64_t> both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return both;
}

core::Status checkpointOfAll(RunReader& run, core::Iteration iteration) {
  for (int rank = 0; rank < run.info().ranks; ++rank) {
    const auto state = run.checkpoint(core::Rank(rank), iteration);
    if (!state.ok()) return state.error();
  }
  return core::Ok{};
}

// No bytes are kept of it.
core::Result<core::Tensor> emptyValue(const core::TensorInfo& tensor) {
  if (tensor.dtype == core::DType::Unsupported) return unsupportedDType(tensor);
  return core::Tensor::zeros(tensor.dtype, tensor.shape);
}

core::Error missing(const char* what, core::Rank rank, core::Iteration iteration, const char* how) {
  return {core::ErrorCode::kUnavailable, std::string("no ") + what + " is recorded of rank " +
                                             std::to_string(rank.value) + ", iteration " +
                                             std::to_string(iteration.value) + "; " + how};
}

}  // namespace

core::Error RunReader::Impl::damaged(core::Rank rank, core::Iteration iteration, const core::Error& error) {
  const SegmentLine* line = lineOf(rank, iteration);
  if (!line) return error;
  if (error.code() != core::ErrorCode::kUnsupported)  // nothing is wrong with what only a newer msdbg reads
    addDamage(ranks.at(rank.value), *line, error, {iteration.value});
  // What the journal says is there and the segment has not is damage as well.
  const bool isMissing = error.code() == core::ErrorCode::kUnavailable;
  return core::Error(isMissing ? core::ErrorCode::kDamaged : error.code(), error.message())
      .in(folder.string() + ": rank_" + std::to_string(rank.value) + "/" + line->file);
}

std::vector<std::int64_t> RunReader::checkpoints(core::Rank rank) const {
  return heldBy(m_impl->ranks, rank, &SegmentLine::checkpoints);
}

std::vector<std::int64_t> RunReader::checkpoints() const {
  std::vector<std::int64_t> common = checkpoints(core::Rank(0));
  for (int rank = 1; rank < m_impl->info.ranks; ++rank)
    common = inBoth(common, checkpoints(core::Rank(rank)));
  return common;
}

core::Result<core::Iteration> RunReader::newestCheckpoint(
    const std::function<void(const std::string&)>& skipped) {
  const std::vector<std::int64_t> common = checkpoints();
  for (const std::int64_t each : common | std::views::reverse) {
    const core::Status readable = checkpointOfAll(*this, core::Iteration(each));
    if (readable.ok()) return core::Iteration(each);
    skipped("the checkpoint of iteration " + std::to_string(each) +
            " cannot be used: " + readable.error().message());
  }
  if (!common.empty())
    return core::Error(core::ErrorCode::kDamaged,
                       "there is no checkpoint in it that all ranks have and that can be read");
  return core::Error(core::ErrorCode::kUnavailable,
                     "there is no checkpoint in it that all ranks have; record with --checkpoint-every, or "
                     "without --no-replay");
}

std::vector<std::int64_t> RunReader::batches(core::Rank rank) const {
  return heldBy(m_impl->ranks, rank, &SegmentLine::batches);
}

// A rank alone cannot be computed: collectives need all of them.
std::vector<std::int64_t> RunReader::recomputable() const {
  std::vector<std::int64_t> all;
  for (int rank = 0; rank < m_impl->info.ranks; ++rank) {
    const auto here =
        following(checkpoints(core::Rank(rank)), batches(core::Rank(rank)), begunAnew(core::Rank(rank)));
    all = rank == 0 ? here : inBoth(all, here);
  }
  return all;
}

// Where training began again and did not come as far as before, the older one goes on behind it: in a segment
// with a lower number.
core::IterationSet RunReader::begunAnew(core::Rank rank) const {
  const auto at = m_impl->ranks.find(rank.value);
  if (at == m_impl->ranks.end()) return {};
  const RankIndex& index = at->second;
  core::IterationSet anew = index.journal.anew;
  const auto inOverlap = [&](std::int64_t iteration) {
    return std::ranges::any_of(index.journal.restarts, [&](const RestartLine& line) {
      return iteration > line.iteration && iteration <= line.newest;
    });
  };
  const auto& parts = index.segmentOf.parts();
  for (auto before = parts.begin(); before != parts.end(); ++before) {
    const auto next = std::next(before);
    if (next == parts.end()) break;
    const bool older =
        index.segments[next->second.segment].segment < index.segments[before->second.segment].segment;
    if (older && inOverlap(next->first)) anew.add({next->first, next->first});
  }
  return anew;
}

std::optional<CheckpointInterval> RunReader::checkpointInterval(core::Rank rank) const {
  const auto at = m_impl->ranks.find(rank.value);
  if (at == m_impl->ranks.end() || !at->second.journal.checkpoints) return std::nullopt;
  return CheckpointInterval{at->second.journal.checkpoints->every, at->second.journal.checkpoints->bytes};
}

core::Result<core::TrainingState> RunReader::checkpoint(core::Rank rank, core::Iteration iteration) {
  const SegmentLine* line = m_impl->lineOf(rank, iteration);
  if (!line || !line->checkpoints.contains(iteration.value))
    return missing("checkpoint", rank, iteration, "record with --checkpoint-every, or without --no-replay");
  MSDBG_ASSIGN(Impl::OpenSegment * segment, m_impl->segment(rank, iteration));
  line = m_impl->lineOf(rank, iteration);
  core::TrainingState state{iteration, {}};
  for (const core::TensorInfo* each : m_impl->tensorsOf(rank, *line)) {
    const core::TensorInfo& tensor = *each;
    if (!inCheckpoint(tensor)) continue;
    auto value = isEmpty(tensor) ? emptyValue(tensor) : segment->reader->state(tensor, iteration.value);
    if (!value.ok()) return m_impl->damaged(rank, iteration, value.error());
    state.tensors.emplace_back(tensor.fullName(), std::move(*value));
  }
  return state;
}

core::Result<core::Batch> RunReader::batch(core::Rank rank, core::Iteration iteration) {
  const SegmentLine* line = m_impl->lineOf(rank, iteration);
  if (!line || !line->batches.contains(iteration.value))
    return missing("batch", rank, iteration, "record with --batches, or without --no-replay");
  MSDBG_ASSIGN(Impl::OpenSegment * segment, m_impl->segment(rank, iteration));
  line = m_impl->lineOf(rank, iteration);
  core::Batch batch{iteration, {}, {}};
  for (const core::TensorInfo* each : m_impl->tensorsOf(rank, *line)) {
    const core::TensorInfo& tensor = *each;
    if (!inBatch(tensor)) continue;
    auto input = m_impl->input(*segment->reader, rank, iteration, tensor);
    if (!input.ok()) return m_impl->damaged(rank, iteration, input.error());
    batch.tensors.emplace_back(tensor.name, std::move(input->value));
    if (input->source) batch.sources.emplace_back(tensor.name, std::move(*input->source));
  }
  return batch;
}

core::Result<RunReader::Impl::Input> RunReader::Impl::input(SegmentReader& segment, core::Rank rank,
                                                            core::Iteration iteration,
                                                            const core::TensorInfo& tensor) {
  if (isEmpty(tensor)) {
    MSDBG_ASSIGN(core::Tensor empty, emptyValue(tensor));
    return Input{std::move(empty), {}};
  }
  MSDBG_ASSIGN(SegmentReader::RecordedInput recorded, segment.input(tensor, iteration.value));
  const std::string path = "/batch/" + tensor.fullName();
  auto input = recorded.made ? core::makeInput(recorded.source, tensor.dtype, tensor.shape)
                             : core::Result<core::Tensor>(recorded.source.values);
  if (!input.ok()) return input.error().in(path);
  const auto known = row(rank, iteration, tensor.id);
  if (!known.ok()) return known.error();
  if (*known && hashed(**known) && core::hashTensor(*input) != (*known)->values.hash)
    return core::Error(core::ErrorCode::kDamaged, path + ": the input of iteration " +
                                                      std::to_string(iteration.value) +
                                                      " does not match its recorded hash");
  Input made{std::move(*input), {}};
  if (recorded.made) made.source = std::move(recorded.source);
  return made;
}

core::Result<core::Tensor> RunReader::Impl::partValue(ValueOrigin origin, core::Rank rank,
                                                      core::Iteration iteration,
                                                      const core::TensorInfo& tensor) {
  MSDBG_ASSIGN(OpenSegment * found, segment(rank, iteration));
  if (isEmpty(tensor)) return emptyValue(tensor);
  if (origin == ValueOrigin::kCheckpoint) return found->reader->state(tensor, iteration.value);
  MSDBG_ASSIGN(Input made, input(*found->reader, rank, iteration, tensor));
  return std::move(made.value);
}

}  // namespace msdbg::dump
