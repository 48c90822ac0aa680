#include "app/cli/run_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core_engine/base/text.h"
#include "replay/run/failures.h"
#include "replay/run_state.h"

namespace msdbg::app {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::Ok;
using core::Rank;
using core::Result;
using core::Status;

namespace {

std::vector<std::string> runsIn(const fs::path& folder) {
  std::vector<std::string> runs;
  std::error_code error;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".msdbg") runs.push_back((folder / entry->path().filename()).string());
  std::ranges::sort(runs);
  return runs;
}

Error noSuchRun(const fs::path& path) {
  const std::vector<std::string> runs = runsIn(path.parent_path());
  std::string advice = core::didYouMean(path.string(), runs);
  if (advice.empty())
    advice =
        runs.empty()
            ? "; record one with msdbg dump"
            : "; here are " + core::join(std::span(runs).first(std::min<std::size_t>(runs.size(), 3)), ", ");
  return {ErrorCode::kMissing, "there is no run " + path.string() + advice};
}

Error noSuchRank(const OpenedRun& run, std::int64_t rank) {
  return {ErrorCode::kUsage, fmt::format("{} has no rank {}; it has {}", run.path, rank, ranksText(run))};
}

// Of a program that failed before its graph was complete: nothing but how it ended.
class FailedRun : public replay::Run {
 public:
  explicit FailedRun(std::unique_ptr<dump::RunReader> reader) : m_reader(std::move(reader)) {}

  dump::RunReader& reader() override { return *m_reader; }
  Result<dump::RunGrowth> refresh() override { return m_reader->refresh(); }
  const core::Graph& graph() const override { return m_reader->graph(); }
  std::vector<Rank> ranks() const override { return m_reader->ranks(); }
  int rankCount() const override { return m_reader->info().ranks; }
  std::vector<core::Iteration> iterations(Rank) const override { return {}; }
  const watch::StatisticsRow* statistics(Rank, core::Iteration, core::TensorId) override { return nullptr; }
  Result<core::Tensor> value(Rank, core::Iteration, core::TensorId) override {
    return Error(ErrorCode::kUnavailable, "the run failed before its first iteration");
  }
  bool stored(Rank, core::Iteration, core::TensorId) const override { return false; }
  std::optional<double> scalar(Rank, core::Iteration, const std::string&) override { return std::nullopt; }
  std::vector<RunFailure> failures() const override { return replay::failuresOf(*m_reader); }

 private:
  std::unique_ptr<dump::RunReader> m_reader;
};

}  // namespace

fs::path plainPath(const std::string& given) {
  fs::path path = given;
  while (path.has_relative_path() && !path.has_filename()) path = path.parent_path();
  return path;
}

Result<std::string> findRun(const std::string& given) {
  fs::path path = given;
  if (given.empty()) {
    MSDBG_ASSIGN(const fs::path newest, replay::Run::newest("."));
    path = newest.lexically_normal();
    fmt::print(stderr, "msdbg: using {}\n", core::printable(path.string()));
  }
  path = plainPath(path.string());
  std::error_code error;
  if (!fs::exists(path, error)) return noSuchRun(path);
  return path.string();
}

Result<OpenedRun> openRun(const std::string& given) {
  OpenedRun opened;
  MSDBG_ASSIGN(opened.path, findRun(given));
  MSDBG_ASSIGN(opened.run, replay::Run::open(opened.path));
  return opened;
}

Result<OpenedRun> openRunOrFailure(const std::string& given) {
  OpenedRun opened;
  MSDBG_ASSIGN(opened.path, findRun(given));
  auto run = replay::Run::open(opened.path);
  if (run.ok()) {
    opened.run = std::move(*run);
    return opened;
  }
  auto failed = dump::RunReader::open(opened.path, dump::WithoutGraph::kOpen);
  if (!failed.ok()) return run.error();
  opened.run = std::make_unique<FailedRun>(std::move(*failed));
  if (opened.run->failures().empty()) return run.error();
  return opened;
}

Result<RunAndQuery> splitRunAndQuery(const std::vector<std::string>& arguments,
                                     const std::string& queryName) {
  if (arguments.empty()) return Error(ErrorCode::kUsage, queryName + " is missing");
  if (arguments.size() == 1) return RunAndQuery{"", arguments[0]};
  return RunAndQuery{arguments[0], arguments[1]};
}

Result<Rank> checkedRank(const OpenedRun& run, std::optional<std::int64_t> rank) {
  const std::vector<Rank> ranks = run.run->ranks();
  if (ranks.empty()) return Error(ErrorCode::kUnavailable, run.path + " holds nothing of any rank");
  if (!rank) return ranks.front();
  if (std::ranges::find(ranks, Rank(*rank)) == ranks.end()) return noSuchRank(run, *rank);
  return Rank(*rank);
}

Status checkIteration(const OpenedRun& run, Rank rank, std::int64_t iteration) {
  if (run.reader().iterationSet(rank).contains(iteration)) return Ok{};
  if (const auto file = replay::damageAt(run.reader().damage(), rank, core::Iteration(iteration)))
    return Error(ErrorCode::kDamaged,
                 fmt::format("iteration {} of rank {} is lost: {} ({})", iteration, rank.value,
                             replay::damageText(*file), core::join(file->details, "; ")));
  return Error(ErrorCode::kUsage,
               fmt::format("iteration {} of rank {} is not recorded in {}; recorded are {}", iteration,
                           rank.value, run.path, iterationsText(run, rank)));
}

std::string iterationsText(const OpenedRun& run, Rank rank) {
  const dump::IterationSet& iterations = run.reader().iterationSet(rank);
  return iterations.empty() ? "none" : iterations.text();
}

std::string ranksText(const OpenedRun& run) {
  std::vector<std::int64_t> numbers;
  for (const Rank rank : run.run->ranks()) numbers.push_back(rank.value);
  return numbers.empty() ? "none" : core::formatRanges(numbers);
}

int withDamage(const OpenedRun& run, int status) {
  const std::vector<replay::DamagedFile> files = replay::damagedFiles(run.reader().damage());
  for (const replay::DamagedFile& file : files)
    printWarning(
        fmt::format("{}/{} ({})", run.path, replay::damageText(file), core::join(file.details, "; ")));
  if (!files.empty()) printWarning(replay::damageAdvice());
  return status == kExitFine && !files.empty() ? kExitDamaged : status;
}

std::string endText(const OpenedRun& run) {
  const bool recording = run.reader().recording();
  const dump::RunEnd end = replay::endOf(run.reader(), recording);
  if (recording) return "is being recorded";
  if (end.state == "running") return "was interrupted: it never said how it ended";
  return end.message.empty() ? end.state : end.state + ": " + end.message;
}

}  // namespace msdbg::app
