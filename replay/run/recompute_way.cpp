#include "replay/recompute_way.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <thread>

#include "core_engine/base/text.h"

namespace msdbg::replay {

using core::Error;
using core::ErrorCode;
using core::Iteration;
using core::Rank;
using core::Result;

namespace {

bool contains(const std::vector<std::int64_t>& ascending, std::int64_t number) {
  return std::ranges::binary_search(ascending, number);
}

// What training took, as often as ranks have to share what cores there are.
double secondsOf(Run& run) {
  const double recorded = run.lastScalar(Rank(0), "step_time").value_or(0);
  const RunDescription& description = run.description();
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  return recorded * std::max(1.0, static_cast<double>(description.ranks * description.threads) / cores);
}

}  // namespace

RecomputeWays::RecomputeWays(Run& run) {
  const Recomputable* const source = run.recomputable();
  if (!source) return;
  m_reachable = source->recomputableIterations();
  m_checkpoints = source->checkpoints(Rank(0));
  for (int rank = 0; rank < run.rankCount(); ++rank) {
    const std::vector<std::int64_t> theirs = source->checkpoints(Rank(rank));
    std::erase_if(m_checkpoints, [&](std::int64_t each) { return !contains(theirs, each); });
    m_anew.append(source->begunAnew(Rank(rank)));
  }
  m_seconds = secondsOf(run);
}

bool RecomputeWays::reaches(Iteration iteration) const { return contains(m_reachable, iteration.value); }

Result<Iteration> RecomputeWays::checkpointFor(Iteration iteration,
                                               const std::set<std::int64_t>& damaged) const {
  const auto unavailable = [](const std::string& why) { return Error(ErrorCode::kUnavailable, why); };
  if (m_reachable.empty())
    return unavailable(
        "the run has no checkpoint with batches; record with --policy record, or with --checkpoint-every "
        "auto "
        "--batches");
  if (!reaches(iteration))
    return unavailable(fmt::format(
        "no checkpoint with an unbroken row of batches leads there; iterations {} can be computed",
        core::formatRanges(m_reachable)));
  const auto begins = [&](std::int64_t each) {
    return contains(m_checkpoints, each) && !damaged.contains(each);
  };
  std::int64_t from = iteration.value;
  while (!begins(from) && contains(m_reachable, from - 1) && !m_anew.contains(from)) --from;
  if (begins(from)) return Iteration(from);
  return unavailable("its ranks have no checkpoint in common that can be read and leads there");
}

Result<RecomputeWay> RecomputeWays::to(Iteration iteration) const {
  MSDBG_ASSIGN(const Iteration checkpoint, checkpointFor(iteration));
  const std::int64_t iterations = iteration.value - checkpoint.value + 1;
  return RecomputeWay{checkpoint, iterations, static_cast<double>(iterations) * m_seconds};
}

}  // namespace msdbg::replay
