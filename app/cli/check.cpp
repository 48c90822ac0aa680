// msdbg check: names the first wrong operator, its line, rank and iteration.
#include "watchpoints/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/check_view.h"
#include "app/cli/command.h"
#include "app/cli/computing.h"
#include "app/cli/engine.h"
#include "app/cli/progress.h"
#include "app/cli/step_options.h"
#include "app/cli/table.h"

namespace msdbg::app {
namespace {

using core::Error;
using core::ErrorCode;
using core::Result;

struct CheckCommandOptions {
  std::string run, ranks, iterations, steps;
  std::vector<std::string> watchpoints;
  bool first = false, all = false, why = false, recompute = false, recheck = false;
};

Result<std::vector<watch::Watchpoint>> watchpointsOf(const std::vector<std::string>& texts) {
  if (texts.empty()) return watch::recommendedSet();
  std::vector<watch::Watchpoint> watchpoints;
  for (const std::string& text : texts) {
    if (text == "recommended") {
      std::ranges::move(watch::recommendedSet(), std::back_inserter(watchpoints));
      continue;
    }
    MSDBG_ASSIGN(watch::Watchpoint watchpoint, watch::parseWatchpoint(text));
    watchpoints.push_back(std::move(watchpoint));
  }
  return watchpoints;
}

// Attached to the run where kernel_mismatch is asked, by --recheck or -w.
Result<std::unique_ptr<replay::Rechecks>> rechecked(const OpenedRun& run, const CheckCommandOptions& options,
                                                    std::vector<watch::Watchpoint>& watchpoints,
                                                    const Context& context) {
  const auto isRecheck = [](const watch::Watchpoint& w) { return w.condition->id == "kernel_mismatch"; };
  if (options.recheck && std::ranges::none_of(watchpoints, isRecheck)) {
    MSDBG_ASSIGN(watch::Watchpoint added, watch::parseWatchpoint("kernel_mismatch"));
    watchpoints.push_back(std::move(added));
  }
  if (std::ranges::none_of(watchpoints, isRecheck) || run.graph().nodes().empty())
    return std::unique_ptr<replay::Rechecks>();
  MSDBG_ASSIGN(std::unique_ptr<replay::Rechecks> recheck, context.engine.rechecks(*run.run, context.cancel));
  run.run->recheckBy(recheck.get());
  return recheck;
}

// Who asked for it must not take silence for an answer.
void warnOfUnasked(const watch::CheckReport& report) {
  for (const watch::NotEvaluable& each : report.notEvaluable)
    if (each.condition == "kernel_mismatch")
      printWarning(fmt::format(
          "kernel_mismatch could not be asked at {} (an iteration of a rank each): {}",
          counted(each.count, "place"),
          each.detail.empty() ? "what nodes read is not stored (--policy full keeps it)" : each.detail));
}

Error noAnswer(const OpenedRun& run, const watch::CheckReport& report) {
  return {ErrorCode::kUnavailable, fmt::format("{}: no watchpoint could be evaluated ({}); see msdbg info",
                                               run.path, replay::whyNothingJudged(report))};
}

Result<int> report(const CheckView& view, const Context& context) {
  if (context.json)
    printJson(checkJson(view));
  else
    fmt::print("{}", checkText(view));
  const int status = withDamage(view.run, view.report.first ? kExitHits : kExitFine);
  if (status == kExitFine && view.report.evaluated == 0) return noAnswer(view.run, view.report);
  return status;
}

/// What a program did that never came to the end of a step, as far as anybody saw.
bool isWithoutWholeIteration(const replay::Run& run) {
  const auto ranks = run.ranks();
  return std::ranges::all_of(ranks, [&](core::Rank rank) {
    return run.iterations(rank).size() <= run.incompleteIterations(rank).size();
  });
}

/// Nothing was asked: the document says so too, where one is wanted.
Error noWholeIteration(CheckView view, const Context& context) {
  view.verdict = replay::verdictOf(view.report, replay::stateOf(*view.run.run), {});
  view.verdict.kind = replay::Verdict::Kind::kNoAnswer;
  view.verdict.whole = false;
  view.verdict.found =
      "no iteration was recorded whole: the end of a step was not seen; a program of PyTorch that changes "
      "its parameters itself may say msdbg.step(n) at the beginning of each of its steps";
  if (context.json) printJson(checkJson(view));
  return {ErrorCode::kUnavailable, view.run.path + ": " + view.verdict.found};
}

// "no fault found" of a part of the run is no word on the rest.
std::string ofSelection(const OpenedRun& run, const CheckCommandOptions& options,
                        const watch::CheckOptions& what) {
  if (options.ranks.empty() && options.iterations.empty() && options.steps.empty()) return "";
  const bool alone = what.ranks.size() == 1 && run.run->ranks().size() > 1;
  return std::string(" in what was selected") + (alone ? ", and ranks were not compared" : "");
}

/// What was computed again parts from what was recorded: nothing of it was asked from there to the next
/// checkpoint, and a fault that is found later may follow from it.
void tellDifference(CheckView& view) {
  const auto& first = view.report.first;
  const bool before = first && std::pair(first->iteration, first->order) <=
                                   std::pair(view.differs->iteration, view.differs->order);
  if (before) return;
  const std::string where = Computing::text(view.run, *view.differs);
  if (first) {
    view.verdict.found =
        "FIRST WRONG after " + where + ", which is not as recorded when it is computed again";
    return;
  }
  view.verdict.kind = replay::Verdict::Kind::kNoAnswer;
  view.verdict.whole = false;
  view.verdict.found =
      "computed again, " + where +
      " is not as recorded (msdbg replay --prove); no fault found before it, nor after the next "
      "checkpoint";
}

Result<int> check(const CheckCommandOptions& options, const Context& context) {
  if (options.first && options.all)
    return Error(ErrorCode::kUsage, "check: --first and --all contradict each other");
  MSDBG_ASSIGN(std::vector<watch::Watchpoint> watchpoints, watchpointsOf(options.watchpoints));
  MSDBG_ASSIGN(const OpenedRun run, openRunOrFailure(options.run));
  for (const watch::Watchpoint& watchpoint : watchpoints)
    if (const core::Status fit = watch::namesFit(watchpoint, run.graph()); !fit.ok())
      return fit.error().in("-w");
  MSDBG_ASSIGN(const std::unique_ptr<replay::Rechecks> recheck,
               rechecked(run, options, watchpoints, context));
  Computing computing(run, context);
  if (options.recompute) MSDBG_TRY(computing.helpOut());
  watch::CheckOptions what;
  MSDBG_ASSIGN(what.ranks, selectedRanks(run, options.ranks));
  std::string iterations = options.iterations;
  MSDBG_TRY(takeSteps(run, options.steps, iterations));
  MSDBG_ASSIGN(what.iterations, selectedIterations(run, "--iterations", iterations));
  what.cancel = context.cancel;
  watch::CheckReport found;
  {
    Progress progress;
    what.progress = [&](double share) { progress.share("checking", share); };
    found = watch::check(*run.run, watchpoints, what);
  }
  if (found.cancelled || context.cancel.cancelled()) return cancelledError();
  CheckView view{run, found, std::move(watchpoints), {}, replay::HitDetail::kFirstOfEach, {}};
  if (!found.first && !run.run->recording() && isWithoutWholeIteration(*run.run))
    return noWholeIteration(std::move(view), context);
  if (options.first) view.detail = replay::HitDetail::kFirstOnly;
  if (options.all) view.detail = replay::HitDetail::kAll;
  if (options.why && found.first) view.why = replay::whyChain(*run.run, *found.first);
  view.recomputes = options.recompute;
  const auto loss = found.first ? std::nullopt : replay::lossCourseOf(*run.run);
  view.verdict =
      replay::verdictOf(found, replay::stateOf(*run.run), loss ? std::optional(loss->last) : std::nullopt);
  if (view.verdict.kind == replay::Verdict::Kind::kNoFault)
    view.verdict.found += ofSelection(run, options, what);
  view.differs = computing.firstDifference();
  if (view.differs) tellDifference(view);
  if (recheck) warnOfUnasked(found);
  MSDBG_ASSIGN(const int status, report(view, context));
  return computing.withDifferences(status);
}

Command::Run setup(CLI::App& app, Context& context) {
  auto options = std::make_shared<CheckCommandOptions>();
  app.add_option("RUN", options->run, "run folder (default: the newest *.msdbg here)");
  app.add_option(
         "-w,--watch", options->watchpoints,
         "CONDITION[:param=value,...] or CONDITION:recommended; may be repeated (default: recommended, the "
         "whole set)")
      ->type_name("CONDITION")
      ->allow_extra_args(false);
  app.add_option("--ranks", options->ranks, "only these: 0,2-4")->type_name("LIST");
  app.add_option("--iterations", options->iterations, "only these: 0,2-4,100-")->type_name("LIST");
  addStepsOption(app, options->steps);
  app.add_flag("--first", options->first, "only the first wrong place");
  app.add_flag("--all", options->all, "every hit, not only the first of each place");
  app.add_flag("--recompute", options->recompute,
               "values and statistics that were not recorded are computed again from the checkpoints");
  app.add_flag("--recheck", options->recheck,
               "ask kernel_mismatch too: each node is computed again from its recorded inputs, bit for bit");
  app.add_flag("--why", options->why, "follow the first wrong place back through its inputs");
  return [options, &context] { return check(*options, context); };
}

}  // namespace

Command checkCommand() {
  return {.name = "check",
          .summary = "names the first wrong operator, its line, rank and iteration",
          .examples =
              "  msdbg check                              the newest run, recommended conditions\n"
              "  msdbg check alexnet-1.msdbg --why\n"
              "  msdbg check -w tensor_overflow -w gradient_vanishing:abs_mean_lt=1e-9\n"
              "  msdbg check -w 'weight_change_too_small:tensors=encoder/*|fc/weight'\n"
              "  msdbg check --recheck                    did the machine compute what it should have?\n"
              "  msdbg check --ranks 1 --iterations 5-8 --all\n"
              "  msdbg check --json | jq .first.source\n"
              "Exit status: 0 no fault, 3 faults, 4 nothing could be evaluated.\n",
          .setup = setup};
}

}  // namespace msdbg::app
