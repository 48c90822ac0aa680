#include "replay/recompute_way.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <thread>

#include "core_engine/tensor/batch.h"
#include "core_engine/tensor/training_state.h"
#include "replay/describe.h"

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

// Of one iteration, as the newest ones went: some of them may have waited for the disk, or for another
// program.
double stepSeconds(Run& run) {
  constexpr std::size_t kNewest = 16;
  std::vector<double> seconds;
  const std::vector<Iteration> iterations = run.iterations(Rank(0));
  for (const Iteration iteration : iterations | std::views::reverse | std::views::take(kNewest))
    if (const auto took = run.scalar(Rank(0), iteration, "step_time")) seconds.push_back(*took);
  if (seconds.empty()) return run.lastScalar(Rank(0), "step_time").value_or(0);
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>((seconds.size() - 1) / 2);
  std::ranges::nth_element(seconds, middle);
  return *middle;
}

// What training took, as often as ranks have to share what cores there are.
double secondsOf(Run& run) {
  const double recorded = stepSeconds(run);
  const RunDescription& description = run.description();
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  return recorded * std::max(1.0, static_cast<double>(description.ranks * description.threads) / cores);
}

}  // namespace

RecomputeWays::RecomputeWays(Run& run) {
  const auto foreign = std::ranges::find_if_not(run.graph().nodes(), &core::Node::isOwn);
  if (foreign != run.graph().nodes().end()) m_foreign = foreign->domain;
  const Recomputable* const source = run.recomputable();
  if (!source || !m_foreign.empty()) return;
  m_reachable = source->recomputableIterations();
  m_checkpoints = source->checkpoints(Rank(0));
  for (int rank = 0; rank < run.rankCount(); ++rank) {
    const std::vector<std::int64_t> theirs = source->checkpoints(Rank(rank));
    std::erase_if(m_checkpoints, [&](std::int64_t each) { return !contains(theirs, each); });
    m_anew.append(source->begunAnew(Rank(rank)));
    if (!m_lacks.empty()) continue;
    const std::string name = "rank " + std::to_string(rank);
    if (run.iterationSet(Rank(rank)).empty())
      m_lacks = "nothing of " + name + " is there, and all ranks are needed";
    else if (theirs.empty())
      m_lacks = source->batches(Rank(rank)).empty() ? name + " has neither checkpoints nor batches"
                                                    : name + " has no checkpoint";
    else if (source->batches(Rank(rank)).empty())
      m_lacks = name + " has no batches";
  }
  m_seconds = secondsOf(run);
}

bool RecomputeWays::readCheckpoint(Run& run, Iteration iteration) {
  for (int rank = 0; rank < run.rankCount(); ++rank) {
    const auto state = run.recomputable()->checkpoint(Rank(rank), iteration);
    if (!state.ok()) m_damaged.emplace(iteration, state.error().message());
  }
  return !m_damaged.contains(iteration);
}

void RecomputeWays::readCheckpoints(Run& run) {
  for (const std::int64_t each : m_checkpoints) readCheckpoint(run, Iteration(each));
}

Result<RecomputeWay> RecomputeWays::toReadable(Run& run, Iteration iteration) {
  for (;;) {
    MSDBG_ASSIGN(const RecomputeWay way, to(iteration));
    if (readCheckpoint(run, way.checkpoint)) return way;
  }
}

void RecomputeWays::readBatches(Run& run) {
  std::erase_if(m_reachable, [&](std::int64_t each) {
    for (int rank = 0; rank < run.rankCount(); ++rank)
      if (!run.recomputable()->batch(Rank(rank), Iteration(each)).ok()) return true;
    return false;
  });
}

std::string RecomputeWays::whyNone() const {
  if (!m_foreign.empty())
    return "operators of another framework (" + m_foreign + ") cannot be computed again here";
  if (m_lacks.starts_with("nothing of ")) return m_lacks;
  return (m_lacks.empty() ? "no checkpoint is followed by batches" : m_lacks) +
         "; record with --checkpoint-every auto --batches, which is the default where every iteration is "
         "recorded and no --on-hit chooses among values, and with room for them (--max-size)";
}

bool RecomputeWays::reaches(Iteration iteration) const { return contains(m_reachable, iteration.value); }

Result<Iteration> RecomputeWays::checkpointFor(Iteration iteration,
                                               const std::map<Iteration, std::string>& damaged) const {
  const auto unavailable = [](const std::string& why) { return Error(ErrorCode::kUnavailable, why); };
  if (m_reachable.empty()) return unavailable(whyNone());
  if (!reaches(iteration))
    return unavailable(fmt::format(
        "no checkpoint with an unbroken row of batches leads there; iterations {} can be computed",
        core::formatRanges(m_reachable)));
  const auto begins = [&](std::int64_t each) {
    return contains(m_checkpoints, each) && !damaged.contains(Iteration(each)) &&
           !m_damaged.contains(Iteration(each));
  };
  std::int64_t from = iteration.value;
  while (!begins(from) && contains(m_reachable, from - 1) && !m_anew.contains(from)) --from;
  if (begins(from)) return Iteration(from);
  for (const auto* known : {&damaged, &m_damaged}) {
    const auto worst = known->upper_bound(iteration);
    if (worst != known->begin() && std::prev(worst)->first.value >= from)
      return Error(ErrorCode::kDamaged,
                   "the checkpoint that leads there cannot be read: " + std::prev(worst)->second);
  }
  return unavailable("its ranks have no checkpoint in common that leads there");
}

Result<RecomputeWay> RecomputeWays::to(Iteration iteration) const {
  MSDBG_ASSIGN(const Iteration checkpoint, checkpointFor(iteration));
  const std::int64_t iterations = iteration.value - checkpoint.value + 1;
  return RecomputeWay{checkpoint, iterations, static_cast<double>(iterations) * m_seconds};
}

std::vector<std::pair<std::int64_t, std::int64_t>> RecomputeWays::withCheckpoints() const {
  std::vector<std::pair<std::int64_t, std::int64_t>> found;
  std::int64_t from = -1, before = -1;
  for (const std::int64_t each : m_reachable) {
    if (each != before + 1 || m_anew.contains(each)) from = -1;
    if (contains(m_checkpoints, each) && !m_damaged.contains(Iteration(each))) from = each;
    before = each;
    if (from >= 0) found.emplace_back(each, from);
  }
  return found;
}

std::vector<std::int64_t> RecomputeWays::reachable() const {
  std::vector<std::int64_t> iterations;
  for (const auto& [iteration, from] : withCheckpoints()) iterations.push_back(iteration);
  return iterations;
}

std::optional<RecomputeWay> RecomputeWays::longest() const {
  std::optional<RecomputeWay> longest;
  for (const auto& [iteration, from] : withCheckpoints()) {
    const std::int64_t iterations = iteration - from + 1;
    if (!longest || iterations > longest->iterations)
      longest = {Iteration(from), iterations, static_cast<double>(iterations) * m_seconds};
  }
  return longest;
}

}  // namespace msdbg::replay
