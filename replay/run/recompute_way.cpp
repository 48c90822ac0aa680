#include "replay/recompute_way.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <thread>

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

// What training took, as often as ranks have to share what cores there are.
double secondsOf(Run& run) {
  const double recorded = run.lastScalar(Rank(0), "step_time").value_or(0);
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
                                               const std::map<std::int64_t, std::string>& damaged) const {
  const auto unavailable = [](const std::string& why) { return Error(ErrorCode::kUnavailable, why); };
  if (m_reachable.empty()) return unavailable(whyNone());
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
  const auto worst = damaged.upper_bound(iteration.value);
  if (worst != damaged.begin() && std::prev(worst)->first >= from)
    return unavailable("the checkpoint that leads there cannot be read: " + std::prev(worst)->second);
  return unavailable("its ranks have no checkpoint in common that leads there");
}

Result<RecomputeWay> RecomputeWays::to(Iteration iteration) const {
  MSDBG_ASSIGN(const Iteration checkpoint, checkpointFor(iteration));
  const std::int64_t iterations = iteration.value - checkpoint.value + 1;
  return RecomputeWay{checkpoint, iterations, static_cast<double>(iterations) * m_seconds};
}

std::optional<RecomputeWay> RecomputeWays::longest() const {
  std::optional<RecomputeWay> longest;
  std::int64_t from = -1, before = -1;
  for (const std::int64_t each : m_reachable) {
    if (each != before + 1 || m_anew.contains(each)) from = -1;
    if (contains(m_checkpoints, each)) from = each;
    before = each;
    if (from < 0) continue;
    const std::int64_t iterations = each - from + 1;
    if (!longest || iterations > longest->iterations)
      longest = {Iteration(from), iterations, static_cast<double>(iterations) * m_seconds};
  }
  return longest;
}

}  // namespace msdbg::replay
