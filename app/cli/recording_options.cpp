#include "app/cli/recording_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core_engine/base/text.h"
#include "dump/policy/rule_doubts.h"
#include "dump/session/environment_options.h"

namespace msdbg::app {

using core::Error;
using core::ErrorCode;
using core::Ok;
using core::Result;
using core::Status;

namespace {

std::vector<std::string> globsOf(const std::vector<std::string>& words) {
  std::vector<std::string> globs;
  for (const std::string& word : words)
    for (const std::string& glob : core::split(word, ','))
      if (!glob.empty()) globs.push_back(glob);
  return globs;
}

// What is meant by a flag, with its name in front of what is wrong.
template <typename T>
Status take(T& to, const char* flag, Result<T> value) {
  if (!value.ok()) return value.error().in(flag);
  to = std::move(value).value();
  return Ok{};
}

Status readConfig(const std::string& config, dump::RecordOptions& record) {
  MSDBG_ASSIGN(record, dump::environmentOptions(config.empty()));
  if (config.empty()) return Ok{};
  return take(record, "--config", dump::RecordOptions::fromFile(config, record));
}

Status checkTensors(const RecordingOptions& given, const dump::RecordOptions& record) {
  if (given.tensors.empty()) return Ok{};
  if (record.tensors.empty()) return Error(ErrorCode::kUsage, "--tensors: a value is missing");
  if (record.restPolicy() == dump::Policy::kFull) return Ok{};
  return Error(ErrorCode::kUsage,
               fmt::format("--tensors chooses whose values are kept, and policy {} keeps none: leave one of "
                           "them out, or say --record '{}=full'",
                           dump::policyName(record.restPolicy()), core::join(record.tensors, ",")));
}

Status takeStatistics(const RecordingOptions& given, dump::RecordOptions& record) {
  if (!given.policy.empty())
    return Error(ErrorCode::kUsage, "--statistics " + given.statistics +
                                        " is a policy of its own: leave it or --policy " + given.policy +
                                        " out");
  record.policy = given.statistics == "flags" ? dump::Policy::kFlags : dump::Policy::kStats;
  if (record.policy == dump::Policy::kFlags)
    record.rules.push_back({.policy = dump::Policy::kStats,
                            .kinds = {core::TensorRole::kInput, core::TensorRole::kLabel,
                                      core::TensorRole::kLoss, core::TensorRole::kHyperparameter}});
  return Ok{};
}

Status leaveOutReplay(const RecordingOptions& given, dump::RecordOptions& record) {
  const bool checkpoints = !given.checkpointEvery.empty() && record.checkpoints() > 0;
  if (checkpoints || given.batches.value_or(false))
    return Error(ErrorCode::kUsage,
                 fmt::format("--no-replay keeps no checkpoints and no batches: leave it or {} out",
                             checkpoints ? "--checkpoint-every" : "--batches"));
  record.checkpointEvery = dump::RecordOptions::kNoCheckpoints;
  record.batches = false;
  return Ok{};
}

Status readOnHit(const RecordingOptions& given, dump::OnHit& onHit) {
  if (!given.onHit.empty()) {
    auto conditions = dump::onHitConditions(given.onHit);
    if (!conditions.ok()) return conditions.error().in("--on-hit");
    onHit.conditions = given.onHit;
  }
  const std::int64_t before = given.before.value_or(onHit.before), after = given.after.value_or(onHit.after);
  if (before < 0) return Error(ErrorCode::kUsage, "--before must be at least 0");
  if (after < 0) return Error(ErrorCode::kUsage, "--after must be at least 0");
  const bool used = given.before || given.after || given.stopOnHit;
  if (used && !onHit.on())
    return Error(ErrorCode::kUsage,
                 "--before, --after and --stop-on-hit need --on-hit CONDITION, such as --on-hit recommended");
  onHit.before = before;
  onHit.after = after;
  onHit.stop = onHit.stop || given.stopOnHit;
  return Ok{};
}

}  // namespace

void RecordingOptions::addOptions(CLI::App& app) {
  app.add_option(
         "--record", rules,
         "what is kept of some tensors: GLOB=full|stats|flags|record|none[,KEY=VALUE]... (below); may be "
         "repeated: the first that fits decides, the rest has statistics")
      ->type_name("RULE")
      ->allow_extra_args(false);
  app.add_option("--config", config,
                 "what is recorded, as JSON (recording.example.json, installed in share/msdbg); default: "
                 "$MSDBG_DUMP_CONFIG")
      ->type_name("FILE");
  app.add_option("--policy", policy,
                 "full: values and statistics (default; of PyTorch programs: stats); stats: statistics only; "
                 "flags: only how many elements are NaN or Inf; record: only what the rest can be computed "
                 "again from, and its hashes; none. With --record: of the rest")
      ->type_name("full|stats|flags|record|none");
  app.add_option(
         "--statistics", statistics,
         "flags: as --policy flags, but inputs, labels, loss and rates keep their statistics, so that a "
         "batch that comes twice is found, and a loss that does not fall; all: as --policy stats")
      ->type_name("all|flags")
      ->check(CLI::IsMember({"all", "flags"}));
  app.add_option(
         "--checkpoint-every", checkpointEvery,
         "keep parameters and optimizer states every C iterations; auto (default; of PyTorch programs none): "
         "1 % of the time, and of all tensors' bytes")
      ->type_name("C|auto|none");
  app.add_flag_function(
      "--batches,!--no-batches", [this](std::int64_t given) { batches = given > 0; },
      "keep what each iteration is given, as the data set has it (default; not of PyTorch programs)");
  app.add_flag(
      "--no-replay", noReplay,
      "keep neither: what is not stored cannot be computed again, and nothing can be resumed. Default "
      "with --policy none, with --every, and where a rule says none of an input");
  app.add_option("--tensors", tensors,
                 "keep the values of these only (names, unique ends of names, or globs)")
      ->type_name("GLOB");
  app.add_option("--iterations", iterations, "record only these: 0,2-4,100-")->type_name("LIST");
  app.add_option("--every", every, "record every Nth iteration")->type_name("N")->check(notTooLarge);
  app.add_option("--max-size", maxSize,
                 "of the run (2GiB): old values go first, then old rows of statistics thin")
      ->type_name("BYTES");
  app.add_option("--keep-last", keepLast,
                 "keep the values of the newest N recorded iterations only, and of those in one segment with "
                 "them (all)")
      ->type_name("N")
      ->check(notTooLarge);
  app.add_option(
         "--on-hit", onHit,
         "keep values only near iterations in which this fires, on all ranks: CONDITION[:param=value,...], "
         "CONDITION:recommended, or recommended; may be repeated")
      ->type_name("CONDITION")
      ->allow_extra_args(false);
  app.add_option("--before", before, "with --on-hit: so many recorded iterations before a hit (1)")
      ->type_name("K")
      ->check(notTooLarge);
  app.add_option("--after", after, "and after it (1)")->type_name("K")->check(notTooLarge);
  app.add_flag("--stop-on-hit", stopOnHit, "end training after those, on all ranks; exit status 3");
  app.add_option("--compress", compress,
                 "auto: tensors of which a sample gets 1.8 times smaller (default); none: faster, larger")
      ->type_name("auto|none");
  app.add_option(
         "--write", write,
         "who writes large values: training's threads (team) or a thread of its own, through the page "
         "cache or past it (-direct); auto tries all after a minute and stays with the fastest "
         "(default). With --on-hit always a thread")
      ->type_name("auto|team|thread|team-direct|thread-direct");
  app.add_option("--buffer", buffer,
                 "memory of a rank for what is not on disk yet (512MiB); training then waits")
      ->type_name("BYTES");
  app.add_option("--keep-free", keepFree,
                 "bytes of the disk that stay free (5 %, at most 1GiB): values go first, oldest first")
      ->type_name("BYTES");
  app.add_option("--on-error", onError,
                 "when something cannot be recorded: training goes on (default, once anything was recorded), "
                 "or stops")
      ->type_name("continue|stop");
  app.add_option(
         "--commit-every", commitEvery,
         "what is finished is on the disk after so long (1): more is less work for a shared file system, and "
         "a kill costs as much")
      ->type_name("SECONDS");
  app.add_option("--watchdog", watchdog,
                 "say when a rank makes no progress for so long, and where it is (30; 0: never)")
      ->type_name("SECONDS");
  app.add_flag("--watchdog-kill", watchdogKill, "end the run then, in good order");
}

Result<dump::RecordOptions> RecordingOptions::read() const {
  if (every && *every < 1) return Error(ErrorCode::kUsage, "--every must be at least 1");
  if (keepLast && *keepLast < 0) return Error(ErrorCode::kUsage, "--keep-last must be at least 0 (0: all)");
  if (watchdog && !(*watchdog >= 0))
    return Error(ErrorCode::kUsage, "--watchdog must be at least 0 (0: off)");
  if (commitEvery && !(*commitEvery >= dump::RecordOptions::kLeastCommit &&
                       *commitEvery <= dump::RecordOptions::kMostCommit))
    return Error(ErrorCode::kUsage, "--commit-every must be from 1 to 3600 seconds");
  dump::RecordOptions record;
  MSDBG_TRY(readConfig(config, record));
  for (std::size_t i = 0; i < rules.size(); ++i) {
    dump::Rule& rule = *record.rules.emplace(record.rules.begin() + static_cast<std::ptrdiff_t>(i));
    MSDBG_TRY(take(rule, "--record", dump::parseRule(rules[i])));
  }
  if (!policy.empty()) {
    record.policy.emplace();
    MSDBG_TRY(take(*record.policy, "--policy", dump::policyFromName(policy)));
  }
  if (!statistics.empty()) MSDBG_TRY(takeStatistics(*this, record));
  if (!checkpointEvery.empty()) {
    record.checkpointEvery.emplace();
    MSDBG_TRY(take(*record.checkpointEvery, "--checkpoint-every",
                   dump::RecordOptions::parseCheckpointEvery(checkpointEvery)));
  }
  if (batches) record.batches = batches;
  if (noReplay) MSDBG_TRY(leaveOutReplay(*this, record));
  if (!tensors.empty()) record.tensors = globsOf(tensors);
  if (!iterations.empty())
    MSDBG_TRY(take(record.iterations, "--iterations", core::IndexList::parse(iterations)));
  if (!maxSize.empty()) MSDBG_TRY(take(record.maxBytes, "--max-size", core::parseBytes(maxSize)));
  if (!keepFree.empty()) {
    record.keepFree.emplace();
    MSDBG_TRY(take(*record.keepFree, "--keep-free", core::parseBytes(keepFree)));
  }
  if (!onError.empty())
    MSDBG_TRY(take(record.onError.emplace(), "--on-error", dump::onErrorFromText(onError)));
  if (keepLast) record.keepLast = *keepLast;
  if (!compress.empty()) MSDBG_TRY(take(record.compress, "--compress", dump::compressFromName(compress)));
  if (!buffer.empty()) MSDBG_TRY(take(record.bufferBytes, "--buffer", core::parseBytes(buffer)));
  if (!write.empty()) MSDBG_TRY(take(record.write, "--write", dump::writingWayFromName(write)));
  if (every) record.every = *every;
  if (commitEvery) record.commitSeconds = *commitEvery;
  if (watchdog) record.watchdogSeconds = *watchdog;
  record.watchdogKills |= watchdogKill;
  MSDBG_TRY(readOnHit(*this, record.onHit));
  MSDBG_TRY(checkTensors(*this, record));
  return record;
}

Result<std::vector<std::string>> RecordingOptions::check(const core::Graph& graph,
                                                         const dump::RecordOptions& record,
                                                         bool dryRun) const {
  for (const std::string& glob : globsOf(tensors))
    if (const Status status = dump::checkTensorName(glob, graph); !status.ok())
      return status.error().in("--tensors " + glob);
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (const auto mistakes = dump::ruleMistakes(record.rules[i], graph); !mistakes.empty())
      return mistakes.front().in("--record " + rules[i]);
  MSDBG_ASSIGN(const dump::OnHitConditions asked, dump::onHitConditions(record.onHit.conditions));
  for (const watch::Watchpoint& watchpoint : asked.watchpoints)
    if (const Status fit = watch::namesFit(watchpoint, graph); !fit.ok()) return fit.error().in("--on-hit");
  std::vector<std::string> warnings;
  if (!dryRun) return warnings;  // the recorder warns
  const std::vector<dump::Rule> all = record.allRules();
  for (std::size_t i = rules.size(); i < all.size(); ++i)
    for (const Error& mistake : dump::ruleMistakes(all[i], graph))
      warnings.push_back(mistake.in("the recording rule " + dump::ruleText(all[i])).message());
  return warnings;
}

void refuseEmptyValues(CLI::App& app) {
  for (CLI::Option* option : app.get_options())
    if (option->get_items_expected_min() > 0)
      option->check([](const std::string& text) { return text.empty() ? "a value is missing" : ""; });
}

std::string notTooLarge(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc::result_out_of_range ? "'" + text + "' is not a number that fits" : "";
}

}  // namespace msdbg::app
