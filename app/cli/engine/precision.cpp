#include "app/cli/engine/precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "app/cli/computing.h"
#include "app/cli/progress.h"
#include "replay/precision/bisect.h"
#include "replay/recompute/environment.h"

namespace msdbg::app {
namespace {

using core::Error;
using core::ErrorCode;
using core::Ok;
using core::Result;
using core::Status;

Result<core::Iteration> oneIteration(const OpenedRun& run, const std::vector<core::Rank>& ranks,
                                     const std::string& text) {
  if (text.empty())
    return Error(ErrorCode::kUsage, "--dtype float64: of which iteration? give --iteration K");
  MSDBG_ASSIGN(const core::IndexList list, selectedIterations(run, "--iteration", text));
  const core::IterationSet asked = recordedIterations(run, ranks, list);
  std::set<std::int64_t> different;
  for (const std::int64_t each : asked) {
    different.insert(each);
    if (different.size() > 1)
      return Error(ErrorCode::kUsage, "--iteration " + text + ": --dtype float64 takes one iteration");
  }
  if (different.empty())
    return Error(ErrorCode::kUsage, fmt::format("--iteration {}: rank {} has {}", text, ranks.front().value,
                                                iterationsText(run, ranks.front())));
  return core::Iteration(*different.begin());
}

Result<std::vector<core::Rank>> ranksOf(const OpenedRun& run, std::optional<std::int64_t> rank) {
  MSDBG_ASSIGN(const core::Rank one, checkedRank(run, rank));
  return rank ? std::vector{one} : run.run->ranks();
}

// An iteration that only some ranks came to is compared on those.
std::vector<core::Rank> thatHave(const OpenedRun& run, std::vector<core::Rank> ranks,
                                 core::Iteration iteration) {
  std::erase_if(ranks,
                [&](core::Rank each) { return !run.run->iterationSet(each).contains(iteration.value); });
  return ranks;
}

Result<replay::Precision> compute(const OpenedRun& run, core::Iteration iteration,
                                  const std::vector<core::Rank>& ranks, const Context& context) {
  Progress progress;
  replay::BisectOptions options;
  options.cancel = context.cancel;
  options.progress = [&](std::int64_t done, std::int64_t all) {
    progress.line(fmt::format("node {} of {} in float64", done + 1, all));
  };
  options.recomputing = [&](std::int64_t done, std::int64_t all) {
    progress.line(fmt::format("computing iteration {} of {}", done + 1, all));
  };
  return replay::bisectPrecision(*run.run, iteration, ranks, options);
}

Status keepOnly(const OpenedRun& run, const std::string& glob, replay::Precision& precision) {
  if (glob.empty()) return Ok{};
  MSDBG_ASSIGN(const std::vector<core::TensorId> wanted, replay::resolveTensors(run.graph(), glob));
  const std::set<core::TensorId> kept(wanted.begin(), wanted.end());
  std::erase_if(precision.rows, [&](const replay::PrecisionRow& row) { return !kept.contains(row.tensor); });
  if (precision.rows.empty())
    return Error(ErrorCode::kUnavailable, "--tensors " + glob + ": none of them could be compared");
  return Ok{};
}

// A wrong kernel that was not stored shows itself by its hash alone.
void warnOfDifferences(const OpenedRun& run, const std::vector<replay::Mismatch>& differences) {
  if (differences.empty()) return;
  const replay::Mismatch& first = differences.front();
  printWarning(
      fmt::format("computed again, {} is not as recorded: neither it nor what follows from it was compared "
                  "(msdbg replay --prove tells more)",
                  Computing::text(run, first)));
}

}  // namespace

Result<int> precision(const PrecisionOptions& options, const Context& context) {
  MSDBG_ASSIGN(const OpenedRun run, openRun(options.run));
  MSDBG_ASSIGN(std::vector<core::Rank> ranks, ranksOf(run, options.rank));
  MSDBG_ASSIGN(const core::Iteration iteration, oneIteration(run, ranks, options.iteration));
  ranks = thatHave(run, std::move(ranks), iteration);
  if (!options.tensors.empty()) MSDBG_TRY(replay::resolveTensors(run.graph(), options.tensors));
  replay::matchInstructionSet(run.run->description());
  Result<replay::Precision> found = compute(run, iteration, ranks, context);
  if (!found.ok())
    return found.error().code() == ErrorCode::kCancelled ? cancelledError() : found.error().in(run.path);
  MSDBG_TRY(keepOnly(run, options.tensors, *found));
  if (context.json)
    printJson(precisionJson(run, iteration, *found));
  else
    printPrecision(run, iteration, *found, options.all);
  warnOfDifferences(run, found->differences);
  const bool hits = found->suspicious() || !found->differences.empty();
  return withDamage(run, hits ? kExitHits : kExitFine);
}

}  // namespace msdbg::app
