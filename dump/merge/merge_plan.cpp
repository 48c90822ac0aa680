#include <algorithm>
#include <map>
#include <set>

#include "core_engine/base/text.h"
#include "dump/json_internal.h"
#include "dump/merge/merge_plan_internal.h"
#include "dump/reader/rank_index.h"

namespace msdbg::dump {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::Ok;
using core::Rank;
using core::Result;
using core::Status;

std::string rankName(std::int64_t rank) { return "rank_" + std::to_string(rank); }

void addFile(MergePart& part, const fs::path& name, MergeFile file = {}) {
  std::error_code error;
  file.from = part.folder / name;
  file.name = name;
  file.bytes = fs::file_size(file.from, error);
  if (error) {
    part.damage.push_back(
        {(part.folder / name).string(), "the file is missing", file.rank, std::move(file.iterations)});
    return;
  }
  part.files.push_back(std::move(file));
}

Status addRank(MergePart& part, std::int64_t rank) {
  MSDBG_ASSIGN(const RankIndex index, loadRank(part.folder, rank));
  if (isRecording(index.folder))
    return Error(ErrorCode::kUsage, part.folder.string() + ": rank " + std::to_string(rank) +
                                        " is still being recorded; merge when it has ended");
  part.ranks.push_back(rank);
  for (const Damage& found : index.damage)
    part.damage.push_back({(part.folder / found.where).string(), found.what, found.rank, found.iterations});
  std::error_code error;
  for (int i = 0; fs::exists(journalPart(index.folder / "journal", i), error); ++i)
    addFile(part, journalPart(rankName(rank) + "/journal", i).string(), {.rank = Rank(rank)});
  for (const SegmentLine& line : index.segments)
    addFile(part, rankName(rank) + "/" + line.file,
            {.hash = line.hash, .rank = Rank(rank), .iterations = line.iterations});
  for (const GraphLine& line : index.journal.graphs) addFile(part, line.file, {.hash = line.hash});
  return Ok{};
}

// Files whose names no journal tells: sources, and graphs where a journal is lost.
void addLoose(MergePart& part) {
  std::set<fs::path> known;
  for (const MergeFile& file : part.files) known.insert(file.name);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(part.folder, error)) {
    const fs::path name = entry.path().filename();
    const bool graph = name.string().starts_with("graph_") && name.extension() == ".pb";
    if (graph && !known.contains(name)) addFile(part, name);
  }
  for (const auto& entry : fs::directory_iterator(part.folder / "graphs", error)) {
    const fs::path name = fs::path("graphs") / entry.path().filename();
    if (name.extension() == ".pb" && !known.contains(name)) addFile(part, name);
  }
  for (const auto& entry : fs::directory_iterator(part.folder / "sources", error))
    if (!entry.path().filename().string().starts_with("."))
      addFile(part, fs::path("sources") / entry.path().filename());
}

Result<MergePart> readPart(const fs::path& folder) {
  MergePart part;
  part.folder = folder;
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return Error(ErrorCode::kMissing, folder.string() + ": there is no such run folder");
  MSDBG_ASSIGN(part.info, readRunInfo(folder));
  for (std::int64_t rank = 0; rank < part.info.ranks; ++rank) {
    if (!fs::is_directory(folder / rankName(rank), error)) continue;
    MSDBG_TRY(addRank(part, rank));
  }
  addLoose(part);
  return part;
}

std::string listText(const std::vector<std::string>& words) { return core::join(words, " "); }

// Every host of a run has its id. Before there were ids, what was run tells.
Status checkSame(const MergePart& a, const MergePart& b) {
  std::string what;
  const auto compare = [&what](const char* name, const std::string& x, const std::string& y) {
    if (what.empty() && x != y) what = std::string(name) + " '" + x + "' and '" + y + "'";
  };
  compare("id", a.info.id, b.info.id);
  compare("ranks", std::to_string(a.info.ranks), std::to_string(b.info.ranks));
  if (a.info.id.empty()) {
    compare("command", listText(a.info.command), listText(b.info.command));
    compare("model", a.info.model, b.info.model);
    compare("seed", std::to_string(a.info.seed), std::to_string(b.info.seed));
    compare("data", a.info.data, b.info.data);
  }
  if (what.empty()) return Ok{};
  return Error(ErrorCode::kUsage, a.folder.string() + " and " + b.folder.string() +
                                      " are not of the same run: they have " + what);
}

Status checkRanks(const std::vector<MergePart>& parts) {
  std::map<std::int64_t, const MergePart*> owner;
  for (const MergePart& part : parts) {
    for (const std::int64_t rank : part.ranks) {
      const auto [at, isNew] = owner.try_emplace(rank, &part);
      if (!isNew)
        return Error(ErrorCode::kUsage, "rank " + std::to_string(rank) + " is in both " +
                                            at->second->folder.string() + " and " + part.folder.string() +
                                            ": give only one of them");
    }
  }
  return Ok{};
}

bool hasGraph(const MergePart& part) {
  return std::ranges::any_of(part.files,
                             [](const MergeFile& file) { return file.name.extension() == ".pb"; });
}

int badness(const RunEnd& end) {
  if (end.state == "failed" || end.state == "killed") return 2;
  return end.state == "running" ? 1 : 0;
}

// The first folder's, with the worst end of all, and which ranks ran where.
RunInfo joinedInfo(const std::vector<MergePart>& parts) {
  RunInfo info = parts.front().info;
  Json hosts = Json::array();
  for (const MergePart& part : parts) {
    if (badness(part.info.end) > badness(info.end)) info.end = part.info.end;
    info.endedAt = std::max(info.endedAt, part.info.endedAt);
    hosts.push_back({{"host", part.info.host},
                     {"ranks", core::formatRanges(part.ranks)},
                     {"working_directory", part.info.workingDirectory},
                     {"cpu_model", part.info.cpuModel},
                     {"cpu_features", part.info.cpuFeatures}});
  }
  info.hosts = jsonText(hosts);
  return info;
}

}  // namespace

Result<MergePlan> planMerge(const std::vector<fs::path>& folders) {
  MergePlan plan;
  for (const fs::path& folder : folders) {
    MSDBG_ASSIGN(MergePart part, readPart(folder));
    plan.parts.push_back(std::move(part));
  }
  for (const MergePart& part : plan.parts) MSDBG_TRY(checkSame(plan.parts.front(), part));
  MSDBG_TRY(checkRanks(plan.parts));
  for (const MergePart& part : plan.parts)
    if (part.ranks.empty())
      return Error(ErrorCode::kUsage, part.folder.string() + " holds nothing of any rank: leave it out");
  std::ranges::sort(plan.parts, {}, [](const MergePart& part) { return part.ranks.front(); });
  const auto graph = std::ranges::find_if(plan.parts, hasGraph);
  if (graph == plan.parts.end())
    return Error(ErrorCode::kUsage, "none of the folders has the graph: give the one of rank 0's host, too");
  std::rotate(plan.parts.begin(), graph, graph + 1);
  std::set<std::int64_t> there;
  for (const MergePart& part : plan.parts) there.insert(part.ranks.begin(), part.ranks.end());
  for (std::int64_t rank = 0; rank < plan.parts.front().info.ranks; ++rank)
    if (!there.contains(rank)) plan.missing.push_back(rank);
  std::set<fs::path> names;  // graphs and sources are stored on every host
  for (MergePart& part : plan.parts) {
    std::erase_if(part.files, [&](const MergeFile& file) {
      const bool again = !names.insert(file.name).second;
      if (again && file.name.has_parent_path()) part.doubles.push_back(file.name);
      return again;
    });
    for (const MergeFile& file : part.files) plan.bytes += file.bytes;
  }
  plan.info = joinedInfo(plan.parts);
  return plan;
}

}  // namespace msdbg::dump
