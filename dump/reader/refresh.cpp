// RunReader::refresh: a run that is being recorded, seen again. Journals only grow and run.json is replaced,
// so what is new is found without reading anything twice.
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "dump/reader/run_reader_internal.h"

namespace msdbg::dump {

using core::Error;
using core::ErrorCode;
using core::Ok;
using core::Status;

namespace {

std::uint64_t inodeOf(const std::filesystem::path& file) {
  struct stat status = {};
  return ::stat(file.c_str(), &status) == 0 ? status.st_ino : 0;
}

std::string missingRank(const RunInfo& info) {
  return info.ranks > 1 ? "the folder is missing; msdbg merge joins the folders of several hosts"
                        : "the folder is missing";
}

// What stays the same while one run is recorded, however often its run.json is written.
bool sameRun(const RunInfo& a, const RunInfo& b) {
  if (!a.id.empty() || !b.id.empty()) return a.id == b.id;
  return a.startedAt == b.startedAt && a.command == b.command && a.ranks == b.ranks;
}

}  // namespace

// The number first: a file that takes its place in between is read again the next time.
Status RunReader::Impl::readInfo() {
  const std::uint64_t inode = inodeOf(folder / "run.json");
  MSDBG_ASSIGN(info, readRunInfo(folder));
  if (!info.damage.empty()) addDamage({"run.json", info.damage, core::Rank(), {}});
  infoInode = inode;
  return Ok{};
}

Status RunReader::Impl::refreshInfo(RunGrowth& growth) {
  const std::uint64_t inode = inodeOf(folder / "run.json");
  if (inode == 0)
    return Error(ErrorCode::kMissing, folder.string() + ": the run is gone: its folder was moved or removed");
  if (inode == infoInode) return Ok{};
  const RunInfo before = info;
  MSDBG_TRY(readInfo());
  if (!sameRun(before, info)) {
    info = before;
    infoInode = 0;
    return Error(ErrorCode::kMissing, folder.string() + ": another run was recorded here; open it again");
  }
  growth.runInfo = true;
  return Ok{};
}

// `growth` is null while the run is opened.
Status RunReader::Impl::loadNewRanks(RunGrowth* growth) {
  for (std::int64_t rank = 0; rank < info.ranks; ++rank) {
    if (ranks.contains(rank)) continue;
    const std::string name = "rank_" + std::to_string(rank);
    std::error_code error;
    if (!std::filesystem::is_directory(folder / name, error)) {
      // A rank that has not started yet is not damage.
      if (info.end.state != "running" && !graphless)
        addDamage({name, missingRank(info), core::Rank(rank), {}});
      continue;
    }
    if (info.end.state == "running" && std::filesystem::is_empty(folder / name, error))
      continue;  // starts now
    MSDBG_ASSIGN(RankIndex index, loadRank(folder, rank));
    for (const Damage& found : index.damage) addDamage(found);
    if (growth) {
      growth->ranks = true;
      if (!index.iterations.empty()) growth->iterations[index.rank] = index.iterations.numbers();
      for (const GraphLine& line : index.journal.graphs)
        growth->newerGraph |= !graphs.learn(index.rank, line);
    }
    ranks.emplace(rank, std::move(index));
  }
  return Ok{};
}

// Another segment holds their iterations now; it is opened when it is asked for.
void RunReader::Impl::forget(const RankIndex& index, const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    const auto at = open.find({index.rank.value, file});
    if (at != open.end()) close(at);
  }
}

// A journal that is another file now is read from its start. Of one that is gone, what was seen stays.
Status RunReader::Impl::readAgain(const RankIndex& index, const Error& error, RunGrowth& growth) {
  const core::Rank rank = index.rank;
  if (error.code() == ErrorCode::kMissing || !reload(rank)) {
    addDamage({"rank_" + std::to_string(rank.value) + "/journal", error.message(), rank, {}});
    return Ok{};
  }
  if (!index.iterations.empty()) growth.iterations[rank] = index.iterations.numbers();
  growth.ranks = true;
  return Ok{};
}

Status RunReader::Impl::refreshRank(RankIndex& index, RunGrowth& growth) {
  const std::size_t damageBefore = index.damage.size(), graphsBefore = index.journal.graphs.size();
  const bool endedBefore = index.journal.end.has_value();
  auto found = extendRank(index);
  if (!found.ok() && found.error().code() == ErrorCode::kUnsupported) return found.error();
  if (!found.ok()) return readAgain(index, found.error(), growth);
  if (!found->any) return Ok{};
  forget(index, found->gone);
  for (std::size_t i = damageBefore; i < index.damage.size(); ++i) addDamage(index.damage[i]);
  for (std::size_t i = graphsBefore; i < index.journal.graphs.size(); ++i)
    growth.newerGraph |= !graphs.learn(index.rank, index.journal.graphs[i]);
  if (index.journal.graphs.size() > graphsBefore) loadSources();
  growth.ranks = growth.ranks || index.journal.end.has_value() != endedBefore;
  growth.metrics = growth.metrics || found->metrics;
  if (!found->iterations.empty()) {
    std::ranges::sort(found->iterations);
    growth.iterations[index.rank] = std::move(found->iterations);
  }
  return Ok{};
}

core::Result<RunGrowth> RunReader::refresh() {
  RunGrowth growth;
  m_impl->asked.clear();
  MSDBG_TRY(m_impl->refreshInfo(growth));
  MSDBG_TRY(m_impl->loadNewRanks(&growth));
  for (auto& [rank, index] : m_impl->ranks) MSDBG_TRY(m_impl->refreshRank(index, growth));
  growth.newerGraph |= std::exchange(m_impl->missedGraph, false);
  return growth;
}

}  // namespace msdbg::dump
