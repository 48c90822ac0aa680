// RunReader: what was computed, as those who compute it again need it.
#include "dump/iteration_digest.h"
#include "dump/policy/decisions.h"
#include "dump/reader/run_reader_internal.h"

namespace msdbg::dump {
namespace {

core::Error noIteration(core::Rank rank, core::Iteration iteration) {
  return {core::ErrorCode::kUnavailable, "no iteration " + std::to_string(iteration.value) +
                                             " is recorded of rank " + std::to_string(rank.value)};
}

}  // namespace

std::optional<std::int64_t> RunReader::graphVersion(core::Rank rank, core::Iteration iteration) const {
  const SegmentLine* line = m_impl->lineOf(rank, iteration);
  return line ? std::optional(line->graph) : std::nullopt;
}

core::Result<core::Graph> RunReader::recordedGraph(core::Rank rank, core::Iteration iteration) const {
  const std::optional<std::int64_t> version = graphVersion(rank, iteration);
  if (!version) return noIteration(rank, iteration);
  return m_impl->graphs.read(m_impl->folder, rank, *version);
}

core::Result<bool> RunReader::checkDigest(core::Rank rank, core::Iteration iteration,
                                          std::span<const core::Hash128> hashes) {
  const std::optional<std::int64_t> version = graphVersion(rank, iteration);
  if (!version) return noIteration(rank, iteration);
  MSDBG_ASSIGN(const core::Hash128 recorded, digest(rank, iteration));
  auto& known = m_impl->decisions[{rank.value, *version}];
  if (!known) {
    MSDBG_ASSIGN(const core::Graph graph, recordedGraph(rank, iteration));
    MSDBG_ASSIGN(known, Decisions::make(graph, m_impl->info.policy, rank));
  }
  IterationDigest mine;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    const core::TensorId id(static_cast<std::int64_t>(i));
    const Policy policy = known->decide(id, iteration);
    if (policy != Policy::kNone && policy != Policy::kFlags) mine.add(id.value, hashes[i]);
  }
  return mine.finish() == recorded;
}

}  // namespace msdbg::dump
