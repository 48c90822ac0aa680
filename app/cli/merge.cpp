// msdbg merge: the folders that the hosts of one run have written, joined into one run.
#include <fmt/format.h>

#include "app/cli/command.h"
#include "app/cli/json_output.h"
#include "app/cli/progress.h"
#include "app/cli/run_access.h"
#include "app/cli/table.h"
#include "dump/merge/merge_runs.h"
#include "replay/formats/msdbg/translate.h"

namespace msdbg::app {
namespace {

namespace fs = std::filesystem;

struct MergeArguments {
  std::vector<std::string> folders;
  std::string output;
  bool link = false, move = false;
};

// "host0/alexnet-1.msdbg" -> "alexnet-1-merged.msdbg", here.
fs::path outputOf(const MergeArguments& arguments) {
  if (!arguments.output.empty()) return plainPath(arguments.output);
  return fs::path(plainPath(arguments.folders.front()).stem().string() + "-merged.msdbg");
}

const char* modeName(dump::MergeMode mode) {
  constexpr const char* kNames[] = {"copy", "link", "move"};
  return kNames[static_cast<int>(mode)];
}

void printReport(const fs::path& run, const dump::MergeReport& report) {
  Table table({">ranks", "host", "folder"});
  std::size_t ranks = 0;
  for (const dump::MergeReport::Part& part : report.parts) {
    table.row({core::formatRanges(part.ranks), part.host, part.folder.string()});
    ranks += part.ranks.size();
  }
  fmt::print("{}: {} of {}, {}\n\n{}", core::printable(run.string()),
             counted(static_cast<std::int64_t>(ranks), "rank"),
             counted(static_cast<std::int64_t>(report.parts.size()), "folder"),
             core::formatBytes(report.bytes), table.text());
}

Json reportJson(const fs::path& run, dump::MergeMode mode, const dump::MergeReport& report) {
  Json json = document("merge");
  json["run"] = run.string();
  json["mode"] = modeName(mode);
  json["bytes"] = report.bytes;
  json["parts"] = Json::array();
  for (const dump::MergeReport::Part& part : report.parts)
    json["parts"].push_back({{"folder", part.folder.string()}, {"host", part.host}, {"ranks", part.ranks}});
  json["missing_ranks"] = report.missing;
  json["damage"] = damageJson(replay::translated(report.damage));
  json["remaining"] = Json::array();
  for (const fs::path& folder : report.remaining) json["remaining"].push_back(folder.string());
  return json;
}

std::string missingText(const std::vector<std::int64_t>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {} is missing: no folder has it", ranks.front());
  return fmt::format("ranks {} are missing: no folder has them", core::formatRanges(ranks));
}

void printWarnings(const fs::path& run, const dump::MergeReport& report) {
  if (!report.missing.empty()) printWarning(fmt::format("{}: {}", run.string(), missingText(report.missing)));
  for (const dump::Damage& found : report.damage)
    printWarning(fmt::format("{}: {}; it was taken over as it is", found.where, found.what));
  for (const fs::path& folder : report.remaining)
    printWarning(fmt::format("{} holds files that are no part of the run: they were left", folder.string()));
}

core::Result<int> merge(const MergeArguments& arguments, const Context& context) {
  dump::MergeOptions options;
  options.run = outputOf(arguments);
  options.cancel = context.cancel;
  options.mode = arguments.link   ? dump::MergeMode::kLink
                 : arguments.move ? dump::MergeMode::kMove
                                  : dump::MergeMode::kCopy;
  for (const std::string& folder : arguments.folders) options.folders.push_back(plainPath(folder));
  const auto merged = [&] {
    Progress progress;
    options.progress = [&](std::uint64_t done, std::uint64_t all) {
      progress.share("merging", all ? static_cast<double>(done) / static_cast<double>(all) : 1);
    };
    return dump::mergeRuns(options);
  }();
  if (!merged.ok())
    return merged.error().code() == core::ErrorCode::kCancelled ? cancelledError() : merged.error();
  if (context.json)
    printJson(reportJson(options.run, options.mode, *merged));
  else
    printReport(options.run, *merged);
  printWarnings(options.run, *merged);
  return merged->damage.empty() ? kExitFine : kExitDamaged;
}

Command::Run setup(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<MergeArguments>();
  app.add_option("FOLDER", arguments->folders, "run folders of the hosts, that of rank 0 among them")
      ->required();
  app.add_option("-o,--output", arguments->output,
                 "the run that comes of it (default: NAME-merged.msdbg, after the first folder)")
      ->type_name("RUN");
  auto* link = app.add_flag("--link", arguments->link, "hard links instead of copies: takes no room");
  app.add_flag("--move", arguments->move, "remove the folders when the run is complete")->excludes(link);
  return [arguments, &context] { return merge(*arguments, context); };
}

}  // namespace

Command mergeCommand() {
  return {.name = "merge",
          .summary = "join the folders that the hosts of one run have written on disks of their own",
          .examples =
              "  msdbg merge -o run.msdbg host0/run.msdbg host1/run.msdbg\n"
              "  msdbg merge --move host*/run.msdbg\n",
          .setup = setup};
}

}  // namespace msdbg::app
