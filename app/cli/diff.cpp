// msdbg diff: two runs, two ranks or two iterations held against each other; what was recorded against what
// is computed again; a tensor against values of a file.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/cli/computing.h"
#include "app/cli/diff_view.h"
#include "app/cli/engine.h"
#include "app/cli/step_options.h"
#include "core_engine/tensor/npy.h"
#include "replay/diff/compare.h"
#include "replay/npy.h"
#include "replay/recompute_way.h"

namespace msdbg::app {
namespace {

using core::Error;
using core::ErrorCode;
using core::Result;

struct DiffOptions {
  std::vector<std::string> runs, tensors;
  std::string ranks, iterations, steps, values, tensor, tolerance = "exact";
  std::optional<std::int64_t> rank;
  bool recomputed = false, all = false, compute = false;
};

Error cancelledOr(const Error& error) {
  return error.code() == ErrorCode::kCancelled ? cancelledError() : error;
}

// "0,3"
Result<std::pair<std::int64_t, std::int64_t>> pairOf(const std::string& flag, const std::string& text) {
  const std::vector<std::string> parts = core::split(text, ',');
  std::vector<std::int64_t> numbers;
  for (const std::string& part : parts) {
    std::int64_t number = -1;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error == std::errc() && end == part.data() + part.size() && number >= 0) numbers.push_back(number);
  }
  if (parts.size() != 2 || numbers.size() != 2)
    return Error(ErrorCode::kUsage,
                 fmt::format("{} {}: give the two that are to be compared, as {} 0,1", flag, text, flag));
  if (numbers[0] == numbers[1])
    return Error(ErrorCode::kUsage, fmt::format("{} {}: that is the same one twice", flag, text));
  return std::pair(numbers[0], numbers[1]);
}

Result<replay::ComparisonOptions> comparisonOptions(const OpenedRun& run, const DiffOptions& options,
                                                    const Context& context, Progress& progress) {
  replay::ComparisonOptions made;
  auto tolerance = replay::Tolerance::parse(options.tolerance);
  if (!tolerance.ok()) return tolerance.error().in("--tolerance");
  made.tolerance = *tolerance;
  made.cancel = context.cancel;
  for (const std::string& each : options.tensors) {
    MSDBG_ASSIGN(const std::vector<core::TensorId> ids, replay::resolveTensors(run.graph(), each));
    made.tensors.insert(made.tensors.end(), ids.begin(), ids.end());
  }
  made.all = options.all;
  made.progress = [&progress](std::int64_t done, std::int64_t all) {
    progress.line(fmt::format("comparing iteration {} of {}", done + 1, all));
  };
  return made;
}

int statusOf(const replay::Comparison& found) {
  if (found.differs()) return kExitHits;
  if (found.graph.ofOtherPrograms()) return kExitNoAnswer;
  const bool answered = found.counts.equal + found.counts.within > 0 && found.counts.undecided == 0;
  return answered ? kExitFine : kExitNoAnswer;
}

Result<int> show(const DiffView& view, const Context& context) {
  if (context.json)
    printJson(diffJson(view));
  else
    printDiff(view);
  int status = withDamage(view.a, statusOf(view.found));
  if (&view.a != &view.b) status = withDamage(view.b, status);
  return status;
}

Result<int> diffRuns(const OpenedRun& a, const OpenedRun& b, DiffOptions options, const Context& context) {
  std::error_code error;
  if (std::filesystem::equivalent(a.path, b.path, error))
    return Error(ErrorCode::kUsage, fmt::format("diff: {} and {} are one run; give two, or --ranks A,B, "
                                                "--iterations A,B or --recomputed",
                                                a.path, b.path));
  MSDBG_ASSIGN(const std::vector<core::Rank> ranks, selectedRanks(a, options.ranks));
  MSDBG_ASSIGN(const core::IndexList list, selectedIterations(a, "--iterations", options.iterations));
  Computing computingA(a, context), computingB(b, context);
  if (options.compute) {
    MSDBG_TRY(computingA.helpOut());
    MSDBG_TRY(computingB.helpOut());
  }
  Result<replay::Comparison> found = Error(ErrorCode::kInternal, "");
  {
    Progress progress;
    MSDBG_ASSIGN(const replay::ComparisonOptions how, comparisonOptions(a, options, context, progress));
    found = replay::compareRuns(*a.run, *b.run, list, ranks, how);
  }
  if (!found.ok()) return cancelledOr(found.error());
  MSDBG_ASSIGN(const int status, show({a, b, *found, a.path, b.path, options.all}, context));
  return computingB.withDifferences(computingA.withDifferences(status));
}

Result<int> diffRanks(const OpenedRun& run, DiffOptions options, const Context& context) {
  MSDBG_ASSIGN(const auto pair, pairOf("--ranks", options.ranks));
  MSDBG_ASSIGN(const core::Rank a, checkedRank(run, pair.first));
  MSDBG_ASSIGN(const core::Rank b, checkedRank(run, pair.second));
  MSDBG_ASSIGN(const core::IndexList list, selectedIterations(run, "--iterations", options.iterations));
  Computing computing(run, context);
  if (options.compute) MSDBG_TRY(computing.helpOut());
  Result<replay::Comparison> found = Error(ErrorCode::kInternal, "");
  {
    Progress progress;
    MSDBG_ASSIGN(const replay::ComparisonOptions how, comparisonOptions(run, options, context, progress));
    found = replay::compareRanks(*run.run, a, b, list, how);
  }
  if (!found.ok()) return cancelledOr(found.error());
  MSDBG_ASSIGN(const int status, show({run, run, *found, fmt::format("rank {}", a.value),
                                       fmt::format("rank {}", b.value), options.all},
                                      context));
  return computing.withDifferences(status);
}

Result<int> diffIterations(const OpenedRun& run, DiffOptions options, const Context& context) {
  MSDBG_ASSIGN(const auto pair, pairOf("--iterations", options.iterations));
  std::vector<core::Rank> ranks = run.run->ranks();
  if (options.rank) {
    MSDBG_ASSIGN(const core::Rank one, checkedRank(run, options.rank));
    ranks = {one};
  }
  for (const core::Rank rank : ranks) {
    MSDBG_TRY(checkIteration(run, rank, pair.first));
    MSDBG_TRY(checkIteration(run, rank, pair.second));
  }
  Computing computing(run, context);
  if (options.compute) MSDBG_TRY(computing.helpOut());
  Result<replay::Comparison> found = Error(ErrorCode::kInternal, "");
  {
    Progress progress;
    MSDBG_ASSIGN(const replay::ComparisonOptions how, comparisonOptions(run, options, context, progress));
    found = replay::compareIterations(*run.run, core::Iteration(pair.first), core::Iteration(pair.second),
                                      ranks, how);
  }
  if (!found.ok()) return cancelledOr(found.error());
  MSDBG_ASSIGN(const int status, show({run, run, *found, fmt::format("iteration {}", pair.first),
                                       fmt::format("iteration {}", pair.second), options.all},
                                      context));
  return computing.withDifferences(status);
}

Result<int> diffComputed(const OpenedRun& run, DiffOptions options, const Context& context) {
  MSDBG_ASSIGN(const core::IndexList list, selectedIterations(run, "--iterations", options.iterations));
  Result<replay::Comparison> found = Error(ErrorCode::kInternal, "");
  {
    Progress progress;
    MSDBG_ASSIGN(const replay::ComparisonOptions how, comparisonOptions(run, options, context, progress));
    found = context.engine.compareComputed(*run.run, recordedIterations(run, run.run->ranks(), list), how);
  }
  if (!found.ok() && found.error().code() == ErrorCode::kCancelled) return cancelledError();
  if (!found.ok()) return found.error().in(run.path);
  return show({run, run, *found, "recorded", "computed", options.all}, context);
}

// What NumPy has no dtype for was written as float32: it goes back where nothing is lost.
core::Tensor inOwnDType(const core::Tensor& file, core::DType own) {
  if (file.dtype() == own || replay::npyDType(own) != file.dtype()) return file;
  const core::Tensor back = file.cast(own);
  return replay::measureTensors(back.cast(file.dtype()), file, {}).different == 0 ? back : file;
}

bool within(const replay::Measures& measures, const replay::Tolerance& tolerance) {
  return !measures.otherNonFinite() && tolerance.kind == replay::Tolerance::Kind::kScaled &&
         measures.maxAbs <= tolerance.scale * measures.magnitude;
}

Result<int> diffValues(const OpenedRun& run, const DiffOptions& options, const Context& context) {
  if (options.tensor.empty() || options.iterations.empty())
    return Error(ErrorCode::kUsage, "--values: of which tensor? give --tensor NAME --iteration K");
  auto tolerance = replay::Tolerance::parse(options.tolerance);
  if (!tolerance.ok()) return tolerance.error().in("--tolerance");
  if (tolerance->kind == replay::Tolerance::Kind::kLastBit)
    return Error(ErrorCode::kUsage, "--values: --tolerance is exact or a number");
  MSDBG_ASSIGN(const core::TensorId tensor, replay::resolveTensor(run.graph(), options.tensor));
  MSDBG_ASSIGN(const core::Rank rank, checkedRank(run, options.rank));
  MSDBG_ASSIGN(const core::IndexList list, selectedIterations(run, "--iteration", options.iterations));
  const core::IterationSet asked = recordedIterations(run, {rank}, list);
  if (asked.size() != 1) return Error(ErrorCode::kUsage, "--values: give one --iteration K");
  const core::Iteration iteration(asked.front());
  MSDBG_ASSIGN(const core::Tensor file, core::readNpy(options.values));
  Computing computing(run, context);
  if (options.compute) MSDBG_TRY(computing.helpOut());
  Result<core::Tensor> value = run.run->value(rank, iteration, tensor);
  if (!value.ok() && value.error().code() == ErrorCode::kUnavailable && !options.compute &&
      replay::RecomputeWays(*run.run).longest())
    return Error(ErrorCode::kUnavailable, value.error().message() + "; --compute computes it again");
  if (!value.ok()) return cancelledOr(value.error());
  if (value->shape() != file.shape())
    return Error(ErrorCode::kUsage,
                 fmt::format("{} is {}, {} is {}", options.values, file.shape().text(),
                             run.graph().tensor(tensor).fullName(), value->shape().text()));
  const replay::Measures measures =
      replay::measureTensors(*value, inOwnDType(file, value->dtype()), context.cancel);
  if (context.cancel.cancelled()) return cancelledError();
  const replay::Agreement verdict = measures.different == 0        ? replay::Agreement::kEqual
                                    : within(measures, *tolerance) ? replay::Agreement::kWithin
                                                                   : replay::Agreement::kDifferent;
  const ValuesView view{run, tensor, rank, iteration, measures, verdict, options.values, tolerance->text(),
                        {}};
  if (context.json)
    printJson(valuesDiffJson(view));
  else
    printValuesDiff(view);
  return withDamage(
      run, computing.withDifferences(verdict == replay::Agreement::kDifferent ? kExitHits : kExitFine));
}

Result<int> diff(DiffOptions options, const Context& context) {
  const bool ofOne = options.recomputed || !options.values.empty();
  if (options.recomputed && !options.values.empty())
    return Error(ErrorCode::kUsage, "diff: --recomputed and --values are two questions: ask one");
  if (!options.tensor.empty() && options.values.empty())
    return Error(ErrorCode::kUsage,
                 "diff: --tensor belongs to --values; of runs, ranks or iterations --tensors " +
                     core::shellQuoted(options.tensor) + " compares these tensors only");
  if (options.runs.size() > 2 || (ofOne && options.runs.size() > 1))
    return Error(ErrorCode::kUsage,
                 "diff: too many runs: give RUN OTHER_RUN, or one RUN with what to compare");
  const bool inOne = ofOne || !options.ranks.empty() || !options.iterations.empty() || !options.steps.empty();
  if (options.runs.size() == 2 || !inOne) {
    if (options.runs.empty())
      return Error(ErrorCode::kUsage,
                   "diff: with what? give RUN OTHER_RUN, --ranks A,B, --iterations A,B, --recomputed or "
                   "--values FILE.npy");
    Result<OpenedRun> newest = openRun(options.runs.size() == 2 ? options.runs[0] : "");
    if (!newest && options.runs.size() == 1 && newest.error().code() == ErrorCode::kMissing)
      return Error(ErrorCode::kUsage,
                   "diff: " + core::shellQuoted(options.runs[0]) +
                       " and what? There is no newest run (*.msdbg) here; give RUN OTHER_RUN");
    MSDBG_ASSIGN(const OpenedRun a, std::move(newest));
    MSDBG_ASSIGN(const OpenedRun b, openRun(options.runs.back()));
    MSDBG_TRY(takeSteps(a, options.steps, options.iterations));
    return diffRuns(a, b, options, context);
  }
  MSDBG_ASSIGN(const OpenedRun run, openRun(options.runs.empty() ? "" : options.runs[0]));
  MSDBG_TRY(takeSteps(run, options.steps, options.iterations));
  if (!options.values.empty()) return diffValues(run, options, context);
  if (options.recomputed) return diffComputed(run, options, context);
  return options.ranks.empty() ? diffIterations(run, options, context) : diffRanks(run, options, context);
}

Command::Run setup(CLI::App& app, Context& context) {
  auto options = std::make_shared<DiffOptions>();
  app.add_option("RUN", options->runs, "run folder (default: the newest *.msdbg here), and the other one")
      ->expected(0, 2);
  app.add_option("--ranks", options->ranks, "two ranks of the run: 0,1; of two runs these only")
      ->type_name("A,B");
  app.add_option("--iteration,--iterations", options->iterations,
                 "two iterations of the run: 3,7; with another question these only: 0,2-4,100-")
      ->type_name("A,B");
  addStepsOption(app, options->steps);
  app.add_flag("--recomputed", options->recomputed, "what was recorded against what is computed again");
  app.add_option("--values", options->values, "a tensor against this .npy file")->type_name("FILE.npy");
  app.add_option("--tensor", options->tensor, "of --values: its name, alias or a unique end of the name")
      ->type_name("T");
  app.add_option("--rank", options->rank, "of --values and --iterations A,B")->type_name("R");
  app.add_option("--tensors", options->tensors, "only these: names, unique ends of names, or globs")
      ->type_name("GLOB");
  app.add_option("--tolerance", options->tolerance,
                 "exact (default); auto: what rounding makes of each node's inputs; or a part of a tensor's "
                 "largest number: 1e-5")
      ->type_name("exact|auto|NUMBER");
  app.add_flag("--all", options->all, "measure and list all that differs, in all iterations");
  app.add_flag("--compute", options->compute, "compute again the values that were not stored");
  return [options, &context] { return diff(*options, context); };
}

}  // namespace

Command diffCommand() {
  return {.name = "diff",
          .summary = "two runs, ranks or iterations: where they part first, and how much",
          .examples =
              "  msdbg diff good.msdbg bad.msdbg                   configuration, batches, graph, first "
              "difference\n"
              "  msdbg diff one-rank.msdbg two-ranks.msdbg --tolerance auto     rounding is no difference\n"
              "  msdbg diff --ranks 0,1                            what should be equal on both\n"
              "  msdbg diff --iterations 3,7 --tensors '*weight'   how far parameters have moved\n"
              "  msdbg diff --recomputed --iterations 10-20        recorded against computed again\n"
              "  msdbg diff --values fc1.npy --tensor fc1/Gemm-op1 --iteration 0\n"
              "Values are compared where both are stored (--compute: or can be computed again), else hashes, "
              "else\n"
              "statistics. Exit status 3: something differs; 4: nothing could be compared.\n",
          .setup = setup};
}

}  // namespace msdbg::app
