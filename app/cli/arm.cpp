// msdbg arm: asks a PyTorch program that is being recorded to record some of the iterations to come at
// another level. Its ranks look for the request at the beginning of each iteration
// (dump/python/msdbg/_arm.py).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "app/cli/arm_request.h"
#include "app/cli/command.h"
#include "app/cli/json_output.h"
#include "app/cli/python_program.h"
#include "app/cli/rank_folders.h"
#include "app/cli/recording_options.h"
#include "app/cli/run_access.h"
#include "dump/reader/rank_index.h"
#include "dump/run_info.h"
#include "dump/writer/rank_status.h"

namespace msdbg::app {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::Result;

struct ArmArguments {
  std::string run, level, iterations;
  std::optional<std::int64_t> margin;
  bool cancel = false;
};

constexpr std::int64_t kLeastMargin = 2;                   // iterations
constexpr auto kWatched = std::chrono::milliseconds(500);  // to see how fast they pass

core::Status checkRun(const fs::path& run) {
  MSDBG_ASSIGN(const dump::RunInfo info, dump::readRunInfo(run));
  const std::vector<int> ranks = rankFolders(run);
  const bool recording =
      std::ranges::any_of(ranks, [&](int rank) { return dump::isRecording(rankFolder(run, rank)); });
  const bool torch = std::ranges::any_of(info.libraries, [](const auto& l) { return l.first == "torch"; });
  if (!recording)
    return Error(ErrorCode::kUsage,
                 run.string() +
                     " is not being recorded; to have iterations at another level, run the "
                     "program again with msdbg dump --level");
  if (!torch)
    return Error(
        ErrorCode::kUsage,
        run.string() + " is no run of PyTorch: what is recorded of others does not change meanwhile");
  return core::Ok{};
}

// Where the foremost rank is: what it says itself is newer than what it has recorded.
std::int64_t newestIteration(const fs::path& run) {
  std::int64_t newest = -1;
  for (const int rank : rankFolders(run)) {
    if (const auto status = dump::readRankStatus(rankFolder(run, rank)))
      newest = std::max(newest, status->iteration);
    const auto index = dump::loadRank(run, rank);
    if (index.ok() && !index->iterations.empty()) newest = std::max(newest, index->iterations.back());
  }
  return newest;
}

// As many iterations as pass in twice the time that was watched: until then every rank has seen the request.
std::int64_t marginOf(const ArmArguments& arguments, const fs::path& run, std::int64_t& newest) {
  if (arguments.margin) return *arguments.margin;
  const std::int64_t before = newest;
  std::this_thread::sleep_for(kWatched);
  newest = newestIteration(run);
  return std::max(kLeastMargin, 2 * (newest - before));
}

// Ranges that have begun, or may have before all ranks see a new request, stay: else ranks would end them at
// different iterations.
Result<ArmRequest> requestOf(const ArmArguments& arguments, const fs::path& run, std::int64_t newest,
                             std::int64_t base) {
  ArmRequest request;
  if (!arguments.cancel) {
    MSDBG_ASSIGN(request.ranges, armedRanges(arguments.iterations, arguments.level, base));
  }
  const Result<ArmRequest> before = ArmRequest::read(run);
  if (!before.ok()) return arguments.cancel ? request : Result<ArmRequest>(before.error());
  std::vector<ArmedRange> kept;
  for (const ArmedRange& range : before->ranges)
    if (range.first < base && range.last >= newest) kept.push_back(range);
  request.ranges.insert(request.ranges.begin(), kept.begin(), kept.end());
  return request;
}

void print(const fs::path& run, std::int64_t newest, std::int64_t margin, const ArmRequest& request) {
  const std::string name = core::printable(run.string());
  fmt::print("{}: iteration {} is the newest\n", name, newest);
  if (margin > kLeastMargin && !request.ranges.empty())
    fmt::print("+0 is iteration {}: so many pass until every rank has seen this (--margin)\n",
               newest + margin);
  if (request.ranges.empty()) fmt::print("nothing is asked for any more\n");
  for (const ArmedRange& range : request.ranges)
    fmt::print("iterations {}-{} will be recorded at level {} on all ranks\n", range.first, range.last,
               range.level);
}

Json json(const fs::path& run, std::int64_t newest, std::int64_t margin, const ArmRequest& request) {
  Json json = document("arm");
  json["run"] = run.string();
  json["newest_iteration"] = newest;
  json["margin"] = margin;
  json["ranges"] = Json::array();
  for (const ArmedRange& range : request.ranges)
    json["ranges"].push_back({{"level", range.level}, {"first", range.first}, {"last", range.last}});
  return json;
}

Result<int> arm(const ArmArguments& arguments, const Context& context) {
  if (!arguments.cancel && !isLevel(arguments.level))
    return Error(ErrorCode::kUsage, fmt::format("--level {}: there are {}", arguments.level, kLevels));
  if (arguments.margin && *arguments.margin < 1)
    return Error(ErrorCode::kUsage,
                 "--margin must be at least 1: no rank can be asked about what it does now");
  MSDBG_ASSIGN(const std::string found, findRun(arguments.run));
  const fs::path run = plainPath(found);
  MSDBG_TRY(checkRun(run));
  std::int64_t newest = newestIteration(run);
  const std::int64_t margin = marginOf(arguments, run, newest);
  MSDBG_ASSIGN(const ArmRequest request, requestOf(arguments, run, newest, newest + margin));
  MSDBG_TRY(request.write(run));
  if (context.json)
    printJson(json(run, newest, margin, request));
  else
    print(run, newest, margin, request);
  return kExitFine;
}

Command::Run setup(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<ArmArguments>();
  app.add_option("RUN", arguments->run, "run folder (default: the newest *.msdbg here)");
  app.add_option("--level", arguments->level, "how these iterations are recorded")
      ->type_name("train|modules|ops")
      ->default_val("ops");
  auto* iterations =
      app.add_option(
             "--iterations", arguments->iterations,
             "which: 110-120, or from the first on that all ranks can begin at: +0-+4; a list of such")
          ->type_name("LIST")
          ->default_val("+0-+2");
  app.add_option(
         "--margin", arguments->margin,
         "iterations from the newest one to +0, until all ranks have seen the request (default: those "
         "of one second; a shared file system may need more)")
      ->type_name("N")
      ->check(notTooLarge);
  app.add_flag("--cancel", arguments->cancel, "take back what is asked for and has not begun")
      ->excludes(iterations);
  refuseEmptyValues(app);
  return [arguments, &context] { return arm(*arguments, context); };
}

}  // namespace

Command armCommand() {
  return {.name = "arm",
          .summary = "have iterations of a PyTorch program that runs recorded in more detail",
          .examples =
              "  msdbg arm                                  the next three, every operator\n"
              "  msdbg arm run.msdbg --level ops --iterations +2-+4\n"
              "  msdbg arm run.msdbg --iterations 5000-5002 --json\n"
              "  msdbg arm run.msdbg --cancel\n"
              "All ranks begin at the same iteration; which ones it will be is printed.\n",
          .setup = setup};
}

}  // namespace msdbg::app
