// msdbg stacks: where the ranks of a PyTorch program that is being recorded are now, as lines of Python.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "app/cli/command.h"
#include "app/cli/json_output.h"
#include "app/cli/python_stacks.h"
#include "app/cli/rank_folders.h"
#include "app/cli/recording_options.h"
#include "app/cli/run_access.h"
#include "core_engine/base/text.h"
#include "dump/reader/rank_index.h"
#include "dump/run_info.h"

namespace msdbg::app {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::printable;
using core::Result;

struct StacksArguments {
  std::string run;
  double seconds = 5;
  bool allThreads = false;
};

std::vector<int> recordingRanks(const fs::path& run) {
  std::vector<int> ranks = rankFolders(run);
  std::erase_if(ranks, [&](int rank) { return !dump::isRecording(rankFolder(run, rank)); });
  return ranks;
}

void print(const ThreadStack& thread) {
  for (const StackFrame& frame : thread.frames)
    fmt::print("    {} {}:{} {}{}\n", frame.own ? '>' : ' ', printable(frame.file), frame.line,
               printable(frame.function), frame.code.empty() ? "" : "   " + printable(frame.code));
}

void print(const RankStacks& rank, bool allThreads) {
  fmt::print("rank {} (process {}), iteration {}: {}\n", rank.rank, rank.pid, rank.iteration,
             printable(rank.place()));
  for (const ThreadStack& thread : rank.threads) {
    if (&thread != &rank.threads.front() && !allThreads) continue;
    fmt::print("  {}, innermost first\n", printable(thread.name));
    print(thread);
  }
}

Json json(const RankStacks& rank) {
  Json json = {
      {"rank", rank.rank}, {"pid", rank.pid}, {"iteration", rank.iteration}, {"place", rank.place()}};
  json["threads"] = Json::array();
  for (const ThreadStack& thread : rank.threads) {
    Json frames = Json::array();
    for (const StackFrame& frame : thread.frames)
      frames.push_back({{"file", frame.file},
                        {"line", frame.line},
                        {"function", frame.function},
                        {"code", frame.code},
                        {"own", frame.own}});
    json["threads"].push_back({{"name", thread.name}, {"frames", frames}});
  }
  return json;
}

std::string silentText(const std::vector<int>& ranks, const std::vector<RankStacks>& found) {
  std::vector<std::int64_t> silent;
  for (const int rank : ranks)
    if (std::ranges::find(found, rank, &RankStacks::rank) == found.end()) silent.push_back(rank);
  return silent.empty() ? "" : core::formatRanges(silent);
}

Result<int> stacks(const StacksArguments& arguments, const Context& context) {
  MSDBG_ASSIGN(const std::string name, findRun(arguments.run));
  const fs::path run = plainPath(name);
  MSDBG_TRY(dump::readRunInfo(run));
  const std::vector<int> ranks = recordingRanks(run);
  const auto patience = std::chrono::milliseconds(static_cast<std::int64_t>(1000 * arguments.seconds));
  MSDBG_ASSIGN(const std::vector<RankStacks> found,
               stacksOf(run, std::max<std::size_t>(ranks.size(), 1), patience));
  if (found.empty() && ranks.empty())
    return Error(ErrorCode::kUsage,
                 name +
                     " is not being recorded, so nobody can say where it is; how it ended: msdbg "
                     "info " +
                     name);
  const std::string silent = silentText(ranks, found);
  if (context.json) {
    Json all = document("stacks");
    all["run"] = name;
    all["ranks"] = Json::array();
    for (const RankStacks& rank : found) all["ranks"].push_back(json(rank));
    all["silent"] = silent;
    printJson(all);
  } else {
    for (const RankStacks& rank : found) print(rank, arguments.allThreads);
  }
  if (silent.empty()) return kExitFine;
  return Error(
      ErrorCode::kIo,
      fmt::format("no answer from rank {} within {:g} s: it is stopped, in native code that holds Python's "
                  "lock, or no program in Python",
                  silent, arguments.seconds));
}

Command::Run setup(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<StacksArguments>();
  app.add_option("RUN", arguments->run, "run folder (default: the newest *.msdbg here)");
  app.add_option("--seconds", arguments->seconds, "how long to wait for the ranks")
      ->check(CLI::Range(0.1, 600.0))
      ->default_val(5);
  app.add_flag("--all-threads", arguments->allThreads, "not only the main thread of each rank");
  refuseEmptyValues(app);
  return [arguments, &context] { return stacks(*arguments, context); };
}

}  // namespace

Command stacksCommand() {
  return {.name = "stacks",
          .summary = "where the ranks of a PyTorch program that runs are now",
          .examples =
              "  msdbg stacks                    of the newest run here\n"
              "  msdbg stacks run.msdbg --all-threads\n"
              "  msdbg stacks run.msdbg --json\n"
              "Lines of your own code are marked. The program goes on meanwhile.\n",
          .setup = setup};
}

}  // namespace msdbg::app
