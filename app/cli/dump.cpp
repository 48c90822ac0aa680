// msdbg dump: trains a model or runs a program, on one or several ranks, and records it.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "app/cli/command.h"
#include "app/cli/dump_plan.h"
#include "app/cli/engine.h"
#include "app/cli/expected_text.h"
#include "app/cli/json_output.h"
#include "app/cli/launch.h"
#include "app/cli/monitor.h"
#include "app/cli/progress.h"
#include "app/cli/rank_folders.h"
#include "app/cli/run_size.h"
#include "app/cli/table.h"
#include "app/cli/timing_text.h"
#include "core_engine/base/log.h"
#include "core_engine/base/text.h"
#include "dump/reader/run_reader.h"
#include "dump/session/environment_options.h"
#include "dump/session/run_start.h"
#include "replay/formats/msdbg/translate.h"

namespace msdbg::app {
namespace {

namespace fs = std::filesystem;
using core::Result;

void printPlan(const DumpPlan& plan, bool json) {
  if (json) return;
  const std::string what = plan.model.empty() ? core::join(plan.program, " ") : plan.model;
  if (plan.like)
    fmt::print("planning  {}\n", core::printable(likeText(plan)));
  else if (plan.startsOwnRanks() && startsPython(plan.program))  // torch decides about threads
    fmt::print("recording {} into {}\n", what, plan.run.string());
  else
    fmt::print("recording {} on {} x {} into {}\n", what, counted(plan.ranks, "rank"),
               counted(plan.threads, "thread"), plan.run.string());
  if (plan.resume)
    fmt::print("resuming  {} in iteration {}{}\n", plan.resume->run.string(), plan.firstIteration(),
               plan.resume->checkpoint == plan.resume->iteration
                   ? ", with its checkpoint"
                   : fmt::format(", computing on from its checkpoint of iteration {}",
                                 plan.resume->checkpoint.value));
  fmt::print("expected  {}\n", expectedText(plan));
  if (const std::string text = thinningText(plan); !text.empty())
    fmt::print("statistics {} (--max-size)\n", text);
  if (plan.record.onHit.on()) fmt::print("on hit    {}\n", onHitText(plan.record.onHit));
  fflush(stdout);
}

// Old rows thin where the disk gets full: what is left is less than it was meant to be.
void warnOfDisk(const DumpPlan& plan) {
  const std::uint64_t spare = dump::spareBytes(plan.disk, plan.record.keepFree);
  if (!plan.size || std::min(plan.size->statisticsBytes, plan.record.maxBytes) <= spare) return;
  core::logWarn(
      fmt::format("the statistics alone will take {}, and the disk has {} to spare (--keep-free): free some "
                  "space, or record less with --every or --record",
                  core::formatBytes(plan.size->statisticsBytes), core::formatBytes(spare)));
}

// Said before it is too late, and the recorder says it when it happens.
void warnOfBudget(const DumpPlan& plan) {
  if (!plan.size) return;
  const std::uint64_t always = dump::expectedThinning(*plan.size, plan.record, plan.ranks).alwaysBytes *
                               static_cast<std::uint64_t>(plan.ranks);
  if (always <= plan.record.maxBytes) return;
  core::logWarn(
      fmt::format("what stays of every iteration will take about {}, more than --max-size ({}): raise it, or "
                  "record less with --every",
                  core::formatBytes(always), core::formatBytes(plan.record.maxBytes)));
}

void printPlanAndWarn(const DumpPlan& plan, bool json) {
  printPlan(plan, json);
  warnOfDisk(plan);
  warnOfBudget(plan);
}

dump::RunInfo startInfo(const DumpPlan& plan, const TrainingPlanner& planner, const Context& context) {
  dump::RunInfo info = dump::describeRun(context.commandLine, planner.libraries());
  info.model = plan.model;
  for (const auto& [name, value] : plan.modelOptions) info.modelOptions.emplace_back(name.substr(2), value);
  info.ranks = plan.ranks;
  info.threads = plan.threads;
  info.backend = core::backendName(plan.backend);
  const TrainingPlanner::Libraries device = planner.deviceLibraries(plan);
  info.libraries.insert(info.libraries.end(), device.begin(), device.end());
  info.seed = plan.seed;
  info.data = plan.data;
  info.policy = plan.record;
  info.faults = plan.faults;
  info.passes = plan.passes;
  info.recompute = plan.recompute;
  return info;
}

// "iteration 5/20   loss 2.31   34 MB"
class DumpProgress {
 public:
  explicit DumpProgress(const DumpPlan& plan) : m_plan(plan) {}
  void operator()(const dump::RunControl::Progress& now) {
    if (!m_line.shown()) return;
    if (++m_calls % 10 == 1) m_bytes = folderBytes(m_plan.run);
    if (now.iterations == 0) return m_line.line("starting");
    const std::string steps = m_plan.steps ? fmt::format("/{}", m_plan.firstIteration() + *m_plan.steps) : "";
    const std::string loss = now.loss ? "loss " + core::formatShort(*now.loss, 4) + "   " : "";
    m_line.line(
        fmt::format("iteration {}{}   {}{}", now.iterations, steps, loss, core::formatBytes(m_bytes)));
  }

 private:
  const DumpPlan& m_plan;
  Progress m_line;
  std::int64_t m_calls = 0;
  std::uint64_t m_bytes = 0;
};

struct Recorded {
  Outcome outcome;
  std::int64_t iterations = 0;      // finished ones of this run
  std::optional<double> loss = {};  // the last one's
  double seconds = 0;
  std::string lost = {};  // its folder is another run's now: what to say; "" when it is not
};

// What is left behind by ranks that could not say good-bye; run.json tells it now.
void removeStatusFiles(const fs::path& run) {
  std::error_code ignored;
  for (const int rank : rankFolders(run)) fs::remove(rankFolder(run, rank) / "status", ignored);
}

// Of a program that starts its ranks itself one of them has told run.json how many there are, unless none
// came so far.
int ranksOf(const DumpPlan& plan, const fs::path& run) {
  const std::vector<int> there = rankFolders(run);
  return std::max(plan.ranks, there.empty() ? 1 : there.back() + 1);
}

core::Status finishInfo(const DumpPlan& plan, const AttemptPlace& at, const dump::RunEnd& end) {
  MSDBG_ASSIGN(dump::RunInfo info, dump::readRunInfoToEnd(at.run, at.id));
  info.end = end;
  info.ranks = std::max(info.ranks, ranksOf(plan, at.run));
  info.endedAt = dump::timeText();
  MSDBG_TRY(dump::writeRunInfo(at.run, info));
  removeStatusFiles(at.run);
  removePythonNotes(at.run);
  return core::Ok{};
}

// All attempts; the first error counts.
core::Status finishInfos(const DumpPlan& plan, const Outcome& outcome) {
  for (const auto& [place, end] : outcome.before) MSDBG_TRY(finishInfo(plan, place, end));
  return finishInfo(plan, outcome.last, outcome.end);
}

Result<Recorded> launchAndWatch(const DumpPlan& plan, const std::string& id, const Context& context) {
  const auto begin = std::chrono::steady_clock::now();
  MSDBG_ASSIGN(const std::unique_ptr<Launch> launch,
               Launch::start({plan.program, plan.environment(id), context.json}, plan.ranks));
  DumpProgress progress(plan);
  const MonitorOptions options{.run = plan.run,
                               .id = id,
                               .watchdogSeconds = plan.record.watchdogSeconds,
                               .watchdogKills = plan.record.watchdogKills,
                               .asksStacks = plan.model.empty() && startsPython(plan.program),
                               .stopOnRecorderFailure = plan.record.onError == dump::OnError::kStop,
                               .cancel = context.cancel,
                               .progress = [&](const auto& now) { progress(now); }};
  Recorded recorded{monitorRun(*launch, options)};
  const dump::RunControl::Progress last = launch->control().progress();
  recorded.iterations = std::max<std::int64_t>(0, last.iterations - plan.firstIteration());
  recorded.loss = last.loss;
  recorded.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return recorded;
}

bool anyRecorded(const DumpPlan& plan) { return !rankFolders(plan.run).empty(); }

// A program that does well and is not recorded is most likely the wrong one.
void noteNothingRecorded(const DumpPlan& plan, Outcome& outcome) {
  if (outcome.exitStatus != kExitFine || anyRecorded(plan)) return;
  outcome.exitStatus = kExitDamaged;
  if (const std::string why = whyPythonRecordedNothing(plan.run, plan.program); !why.empty()) {
    outcome.error = outcome.end.message = "nothing was recorded: " + why;
    return;
  }
  outcome.end.message =
      "nothing was recorded: no Python that it started trained with torch, and the program made no "
      "msdbg::Session";
  outcome.error =
      outcome.end.message +
      "; record a PyTorch script by its own command, msdbg dump -- python train.py, or, where Python is "
      "started "
      "in an environment of its own, let that say python -m msdbg train.py; in C++ make a Session at the "
      "start "
      "of main(), msdbg::Session run(argc, argv), and give it to the Trainer (own_program.md of the guide)";
}

// Before anything is in it: whoever cannot enter the folder cannot read its files.
core::Status makePrivate(const fs::path& run) {
  std::error_code error;
  fs::permissions(run, fs::perms::owner_all, error);
  if (!error) return core::Ok{};
  return core::Error(core::ErrorCode::kIo,
                     "cannot make " + run.string() + " private (--private): " + error.message());
}

Result<Recorded> record(const DumpPlan& plan, const TrainingPlanner& planner, const Context& context) {
  const auto existing = plan.force ? dump::Existing::kReplace : dump::Existing::kRefuse;
  // Held to the end of the run: nobody replaces the folder meanwhile.
  MSDBG_ASSIGN(const dump::Descriptor lock, dump::createRunFolder(plan.run, existing));
  printPlanAndWarn(plan, context.json);  // a run that is refused is not announced
  if (plan.isPrivate) MSDBG_TRY(makePrivate(plan.run));
  const dump::RunInfo info = startInfo(plan, planner, context);
  MSDBG_TRY(dump::writeRunInfo(plan.run, info));
  Result<Recorded> recorded = launchAndWatch(plan, info.id, context);
  if (!recorded.ok()) {
    dump::RunEnd end;
    end.state = "failed";
    end.message = recorded.error().message();
    MSDBG_TRY(finishInfo(plan, {plan.run, info.id}, end));
    return recorded.error();
  }
  noteNothingRecorded(plan, recorded->outcome);
  const core::Status finished = finishInfos(plan, recorded->outcome);
  if (finished.ok()) return recorded;
  if (recorded->outcome.exitStatus == kExitFine) return finished.error();
  if (finished.error().code() == core::ErrorCode::kMissing) recorded->lost = finished.error().message();
  return recorded;  // what broke the recording is told
}

Json planJson(const DumpPlan& plan) {
  Json json = document("dump");
  json["run"] = plan.run.string();
  json["model"] = textOrNull(plan.model);
  json["program"] = plan.program;
  json["ranks"] = plan.ranks;
  json["threads"] = plan.threads;
  json["backend"] = core::backendName(plan.backend);
  json["seed"] = plan.seed;
  json["steps"] = plan.steps ? Json(*plan.steps) : Json();
  json["resume"] = plan.resume ? Json{{"run", plan.resume->run.string()},
                                      {"iteration", plan.firstIteration()},
                                      {"checkpoint", plan.resume->checkpoint.value}}
                               : Json();
  json["max_bytes"] = plan.record.maxBytes;
  json["free_bytes"] = plan.disk.free == dump::DiskSpace::kUnknown ? Json() : Json(plan.disk.free);
  json["budget_bytes"] = plan.budget();
  json["rules"] = Json::array();
  for (const dump::Rule& rule : plan.record.allRules()) json["rules"].push_back(dump::ruleText(rule));
  json["level"] = textOrNull(plan.python.level);
  json["on_hit"] = onHitJson(plan.record.onHit);
  json["expected"] = expectedJson(plan);
  if (plan.like) json["like"] = likeJson(plan);
  return json;
}

// What the ranks counted; none where nothing was recorded.
Timings timingsOf(const Recorded& recorded) {
  const auto run = replay::Run::open(recorded.outcome.last.run);
  return run.ok() ? timings(**run) : Timings();
}

// Of a program that was started again; the last one's end is that of the document.
Json attemptsJson(const Outcome& outcome) {
  Json attempts = Json::array();
  for (const auto& [place, end] : outcome.before)
    attempts.push_back({{"run", place.run.string()}, {"end", endJson(replay::translated(end))}});
  attempts.push_back({{"run", outcome.last.run.string()}, {"end", endJson(replay::translated(outcome.end))}});
  return attempts;
}

void printAttempts(const Outcome& outcome) {
  for (const auto& [place, end] : outcome.before)
    fmt::print("attempt {} {}: {}\n", place.number, core::printable(place.run.string()),
               core::printable(end.message.empty() ? end.state : end.state + ", " + end.message));
  fmt::print("attempt {} {}\n", outcome.last.number, core::printable(outcome.last.run.string()));
}

void printRecordedJson(const DumpPlan& plan, const Recorded& recorded) {
  Json json = planJson(plan);
  json["end"] = endJson(replay::translated(recorded.outcome.end));
  json["exit_status"] = recorded.outcome.exitStatus;
  json["iterations"] = recorded.iterations;
  json["loss"] = recorded.loss ? number(*recorded.loss) : Json();
  json["seconds"] = recorded.seconds;
  json["ranks"] = ranksOf(plan, recorded.outcome.last.run);
  json["bytes"] = folderBytes(plan.run);
  json["recorded"] = anyRecorded(plan);
  json["timing"] = timingJson(timingsOf(recorded));
  if (!recorded.outcome.before.empty()) json["attempts"] = attemptsJson(recorded.outcome);
  printJson(json);
}

// A hit that training was to stop on has a status of its own and is no failure.
bool failed(const Recorded& recorded) {
  return recorded.outcome.exitStatus != kExitFine && !recorded.outcome.end.onHit();
}

void printRecorded(const DumpPlan& plan, const Recorded& recorded, bool timing) {
  const dump::RunEnd& end = recorded.outcome.end;
  const std::string path = recorded.outcome.last.run.string();
  if (!recorded.outcome.before.empty()) printAttempts(recorded.outcome);
  const bool told = failed(recorded) || end.message.empty();  // the error line tells it
  fmt::print("{}   {} in {:.1f} s, {}", core::printable(told ? end.state : end.state + ": " + end.message),
             counted(recorded.iterations, "iteration"), recorded.seconds,
             core::formatBytes(folderBytes(recorded.outcome.last.run)));
  if (recorded.iterations > 0 && recorded.loss)
    fmt::print(", last loss {}", core::formatShort(*recorded.loss, 5));
  fmt::print("\n");
  if (!anyRecorded(plan)) return;
  const std::string over = overBudgetText(folderBytes(recorded.outcome.last.run), plan.record.maxBytes);
  if (!over.empty()) fmt::print("{}\n", over);
  const Timings times = timingsOf(recorded);
  if (const std::string advice = waitAdvice(times); !advice.empty()) fmt::print("{}\n", advice);
  if (timing) fmt::print("\n{}", timingText(times));
  fmt::print("\nnext:\n  msdbg check {0}\n  msdbg info {0}\n", core::printable(core::shellQuoted(path)));
}

// What lies at its path is no business of this run.
int sayLost(const Recorded& recorded) {
  const std::string why = failed(recorded) ? recorded.outcome.error + "; " : "";
  printError(why + recorded.lost);
  return recorded.outcome.exitStatus;
}

void printDryRun(const DumpPlan& plan, std::optional<int> ranks) {
  if (plan.like) fmt::print("{}", diskText(plan));
  fmt::print("disk      {}\n\n{}", workText(plan), rulesTable(plan));
  if (plan.isPython() && !plan.like)
    fmt::print("\nnote: {}\n", adviceToMeasure(plan.program, ranks, plan.steps));
}

Result<int> dumpRun(const DumpOptions& options, const Context& context) {
  dump::warnOfUnknownVariables();
  const std::unique_ptr<TrainingPlanner> planner = context.engine.planner();
  MSDBG_ASSIGN(const DumpPlan plan, planDump(options, context, *planner));
  for (const std::string& doubt : plan.doubts) core::logWarn(doubt);
  if (options.dryRun && context.json) return printJson(planJson(plan)), kExitFine;
  if (options.dryRun) {
    printPlanAndWarn(plan, context.json);
    return printDryRun(plan, options.ranks), kExitFine;
  }
  for (const int signal : {SIGTERM, SIGHUP, SIGQUIT}) catchSignal(signal);
  signal(SIGPIPE, SIG_IGN);  // the reader of what we print may go; the recording is to end in good order
  MSDBG_ASSIGN(const Recorded recorded, record(plan, *planner, context));
  if (!recorded.lost.empty()) return sayLost(recorded);
  if (context.json)
    printRecordedJson(plan, recorded);
  else
    printRecorded(plan, recorded, options.timing);
  if (failed(recorded))
    printError(recorded.outcome.error +
               (anyRecorded(plan) ? "; what was recorded is in " + recorded.outcome.last.run.string() : ""));
  const bool ended = recorded.outcome.end.state == "finished";
  const auto idle = ended ? planner->idleFaults(plan, recorded.iterations) : std::vector<std::string>();
  for (const std::string& why : idle) printError(why);
  return idle.empty() || recorded.outcome.exitStatus != kExitFine ? recorded.outcome.exitStatus : kExitUsage;
}

Command::Run setup(CLI::App& app, Context& context) {
  auto options = std::make_shared<DumpOptions>();
  app.add_option("MODEL", options->model.model,
                 "a built-in model (msdbg models); or: -- PROGRAM and its arguments");
  app.add_option("-o,--output", options->run, "run folder (default: MODEL-N.msdbg, first free N)")
      ->type_name("RUN");
  app.add_option("-n,--ranks", options->ranks, "ranks (1)")->type_name("NPROCS");
  app.add_option("--threads", options->threads, "of each rank (default: cores / ranks)")->type_name("N");
  addBackendOption(app, options->backend);
  app.add_option("--steps", options->steps, "iterations (models: 20); with --resume: so many more")
      ->type_name("N")
      ->check(notTooLarge);
  app.add_option("--seed", options->seed, "of weights and data (0)")->type_name("S");
  app.add_option("--resume", options->resume,
                 "go on after the last complete iteration of this run of a built-in model, with all that it "
                 "was trained with, in a new run")
      ->type_name("RUN");
  options->model.addOptions(app);
  options->recording.addOptions(app);
  options->python.addOptions(app);
  app.add_option(
         "--fault", options->faults,
         "plant a fault: KIND@iteration=I[,rank=R][,node=GLOB][,scale=S]...; may be repeated. KIND: nan, "
         "inf, bitflip, zero_grad, skip_allreduce, stale_weight, lr, dead_relu, wrong_kernel (times "
         "1.001), truncate_dtype (rounded to bfloat16), wrong_backward (a gradient times 2)")
      ->type_name("SPEC")
      ->allow_extra_args(false);
  options->plan.addOptions(app);
  app.add_flag("--timing", options->timing, "print where the time of recording went, stage by stage");
  app.add_flag("--dry-run", options->dryRun, "only say what would be recorded: tensors and bytes by rule");
  app.add_option("--like", options->like,
                 "with --dry-run and --steps: what a training will take that is like the one of this run, a "
                 "recording of a few steps of it, on -n ranks")
      ->type_name("RUN");
  app.add_flag("--force", options->force, "replace an existing run");
  app.add_flag("--private", options->isPrivate, "nobody else may read the run (otherwise as umask says)");
  refuseEmptyValues(app);
  return [options, &context] { return dumpRun(*options, context); };
}

}  // namespace

Command dumpCommand() {
  return {
      .name = "dump",
      .summary = "train a model, or run a program, and record it",
      .examples =
          "  msdbg dump lenet5                        into lenet5-1.msdbg\n"
          "  msdbg dump alexnet -n 2 --steps 12 --fault 'nan@iteration=7,rank=1,node=*conv3/Conv-op1'\n"
          "  msdbg dump mlp --policy stats --steps 1000\n"
          "  msdbg dump alexnet --tensors '*conv1*' --every 10 --max-size 500MB -o conv1.msdbg\n"
          "  msdbg dump alexnet --record 'grad(*)=full,every=10'          statistics of the rest\n"
          "  msdbg dump alexnet -n 2 --record '*=full,kind=weight,ranks=0' --record '*=none,dtype=int64'\n"
          "  msdbg dump alexnet --record '*=full,op=Conv,regex=conv[12]/' --policy none --dry-run\n"
          "  msdbg dump alexnet --policy record       hashes, checkpoints, batches: enough to go on "
          "from\n"
          "  msdbg dump alexnet --policy record --record 'grad(*)=full,every=10' --checkpoint-every 100\n"
          "  msdbg dump --resume alexnet-1.msdbg --steps 100 --policy record    the same bits as without the "
          "break\n"
          "  msdbg dump alexnet --config recording.json --max-size 10GB\n"
          "  msdbg dump alexnet -n 2 --on-hit recommended --before 2      values near hits only\n"
          "  msdbg dump mlp --policy stats --stop-on-hit --on-hit "
          "weight_change_too_large:abs_mean_update_ratio_gt=2\n"
          "  msdbg dump -n 4 -- ./train --epochs 3    a program of your own\n"
          "  msdbg dump -- python train.py            PyTorch; or torchrun, accelerate launch, a shell "
          "script\n"
          "  msdbg dump --level ops -- torchrun --nproc-per-node 2 train.py\n"
          "  msdbg dump --dry-run --like short.msdbg -n 64 --steps 100000 --max-size 20GB    from a run of "
          "five steps\n"
          "  msdbg dump -n 4 --keep-last 1000 --max-size 20GB -- ./train             for a week\n"
          "A RULE is GLOB[,GLOB]...=POLICY[,KEY=VALUE[,VALUE]...]... POLICY: full (values and statistics), "
          "stats, record (hashes), none.\n"
          "It fits a tensor on a rank in an iteration when its globs and all its keys do:\n  "
          "kind=weight|gradient|activation|optimizer_state|input|label|loss|updated|constant|hyperparameter\n"
          "  op=GLOB (type of operator, see msdbg ops)   dtype=float32|float64|int64|int32|uint8|bool\n"
          "  every=N   iterations=LIST   ranks=LIST   regex=EXPRESSION (stands last)\n"
          "Where no rule fits: --policy and --tensors; without these, statistics (without rules: "
          "everything).\n"
          "Exit status: the program's (128 + signal), or 1 if only the recording failed or nothing was "
          "recorded; 2: a --fault that "
          "never acted; 3: a hit of --stop-on-hit.\n",
      .setup = setup,
      .takesProgram = true};
}

}  // namespace msdbg::app
