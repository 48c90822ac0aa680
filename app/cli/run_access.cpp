#include "app/cli/run_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "core_engine/base/text.h"
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
  MSDBG_ASSIGN(opened.run, replay::Run::openOrFailure(opened.path));
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
  if (run.run->iterationSet(rank).contains(iteration)) return Ok{};
  if (const auto file = replay::damageAt(run.run->damage(), rank, core::Iteration(iteration)))
    return Error(ErrorCode::kDamaged,
                 fmt::format("iteration {} of rank {} is lost: {} ({})", iteration, rank.value,
                             replay::damageText(*file), core::join(file->details, "; ")));
  return Error(ErrorCode::kUsage,
               fmt::format("iteration {} of rank {} is not recorded in {}; recorded are {}", iteration,
                           rank.value, run.path, iterationsText(run, rank)));
}

Result<std::vector<core::Rank>> selectedRanks(const OpenedRun& run, const std::string& text) {
  if (text.empty()) return run.run->ranks();
  auto list = core::IndexList::parse(text);
  if (!list.ok()) return list.error().in("--ranks");
  std::vector<core::Rank> ranks;
  for (const core::Rank rank : run.run->ranks())
    if (list->contains(rank.value)) ranks.push_back(rank);
  if (ranks.empty())
    return Error(ErrorCode::kUsage,
                 fmt::format("--ranks {}: {} has ranks {}", text, run.path, ranksText(run)));
  return ranks;
}

core::IterationSet recordedIterations(const OpenedRun& run, const std::vector<core::Rank>& ranks,
                                      const core::IndexList& list) {
  core::IterationSet found;
  for (const core::Rank rank : ranks)
    for (const std::int64_t each : run.run->iterationSet(rank))
      if (list.contains(each)) found.push_back(each);
  return found;
}

core::Result<core::IndexList> selectedIterations(const OpenedRun& run, std::string_view flag,
                                                 const std::string& text) {
  if (text.empty()) return core::IndexList::all();
  auto list = core::IndexList::parse(text);
  if (!list.ok()) return list.error().in(std::string(flag));
  for (const core::Rank rank : run.run->ranks())
    for (const core::Iteration iteration : run.run->iterations(rank))
      if (list->contains(iteration.value)) return *list;
  const std::vector<core::Rank> ranks = run.run->ranks();
  return core::Error(core::ErrorCode::kUsage,
                     fmt::format("{} {}: {} has {}", flag, text, run.path,
                                 ranks.empty() ? "none" : iterationsText(run, ranks.front())));
}

namespace {

// Where `range` begins a row of at least four single iterations that are as far apart: how many it has.
std::size_t rowFrom(const std::vector<core::IterationSet::Range>& ranges, std::size_t at) {
  constexpr std::size_t kLeast = 4;
  const auto isSingle = [&](std::size_t i) { return ranges[i].first == ranges[i].last; };
  std::size_t end = at;
  while (
      end < ranges.size() && isSingle(end) &&
      (end < at + 2 || ranges[end].first - ranges[end - 1].first == ranges[at + 1].first - ranges[at].first))
    ++end;
  return end - at >= kLeast ? end - at : 0;
}

}  // namespace

std::string iterationsText(const core::IterationSet& iterations) {
  const std::vector<core::IterationSet::Range>& ranges = iterations.ranges();
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < ranges.size();) {
    const std::size_t count = rowFrom(ranges, at);
    if (count == 0)
      parts.push_back(core::IndexList({ranges[at]}).text());
    else
      parts.push_back(fmt::format("{}-{} every {}", ranges[at].first, ranges[at + count - 1].first,
                                  ranges[at + 1].first - ranges[at].first));
    at += std::max<std::size_t>(count, 1);
  }
  return parts.empty() ? "none" : core::join(parts, ",");
}

std::string iterationsText(const OpenedRun& run, Rank rank) {
  return iterationsText(run.run->iterationSet(rank));
}

std::string ranksText(const OpenedRun& run) {
  std::vector<std::int64_t> numbers;
  for (const Rank rank : run.run->ranks()) numbers.push_back(rank.value);
  return numbers.empty() ? "none" : core::formatRanges(numbers);
}

Result<std::int64_t> elementOf(const core::TensorInfo& tensor, const std::string& index) {
  const auto wrong = [&](const std::string& why) {
    const std::string given = index.empty() ? "no --index" : "--index " + index;
    return Error(ErrorCode::kUsage, fmt::format("{}: {} is {}{}: {}", given, tensor.fullName(),
                                                core::dtypeName(tensor.dtype), tensor.shape.text(), why));
  };
  if (index.empty() && tensor.shape.known() && tensor.shape.elements() == 1) return 0;
  const std::vector<std::string> parts = index.empty() ? std::vector<std::string>() : core::split(index, ',');
  if (tensor.shape.rank() == 0 && !parts.empty()) return wrong("it has one element: leave --index out");
  if (parts.size() != tensor.shape.rank())
    return wrong(fmt::format("give {}, as --index {}",
                             replay::counted(static_cast<std::int64_t>(tensor.shape.rank()), "number"),
                             core::join(std::vector<std::string>(tensor.shape.rank(), "0"), ",")));
  std::int64_t element = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::int64_t at = -1;
    const auto [end, error] = std::from_chars(parts[i].data(), parts[i].data() + parts[i].size(), at);
    if (error != std::errc() || end != parts[i].data() + parts[i].size())
      return wrong("'" + parts[i] + "' is no number");
    const std::int64_t size = tensor.shape[i];
    if (at < 0 && at >= -size) at += size;  // as NumPy
    if (at < 0 || (size >= 0 && at >= size)) return wrong(fmt::format("dimension {} has no {}", i, parts[i]));
    element = element * size + at;
  }
  return element;
}

namespace {

// Folders of ranks that are missing for the same reason are one line: somebody copied one of many.
void warnOfMissingRanks(const OpenedRun& run, const std::vector<replay::DamagedFile>& ranks) {
  std::map<std::string, std::vector<std::int64_t>> byReason;
  for (const replay::DamagedFile& file : ranks)
    byReason[core::join(file.details, "; ")].push_back(file.rank.value);
  for (auto& [reason, numbers] : byReason) {
    std::ranges::sort(numbers);
    if (numbers.size() == 1)
      printWarning(fmt::format("{}/rank_{} is missing ({})", run.path, numbers.front(), reason));
    else
      printWarning(fmt::format("{}: {} ranks are missing, {} ({})", run.path, numbers.size(),
                               core::formatRanges(numbers), reason));
  }
}

}  // namespace

int withDamage(const OpenedRun& run, int status) {
  std::vector<replay::DamagedFile> files = replay::damagedFiles(run.run->damage());
  const bool damaged = !files.empty();
  const auto others = std::ranges::stable_partition(files, &replay::DamagedFile::isRank);
  warnOfMissingRanks(run, {files.begin(), others.begin()});
  for (const replay::DamagedFile& file : others)
    printWarning(
        fmt::format("{}/{} ({})", run.path, replay::damageText(file), core::join(file.details, "; ")));
  if (damaged) printWarning(replay::damageAdvice());
  return status == kExitFine && damaged ? kExitDamaged : status;
}

std::string endText(const OpenedRun& run) {
  const replay::RunEnd end = run.run->end();
  if (run.run->recording()) return "is being recorded";
  if (end.state == "running") return "was interrupted: it never said how it ended";
  return end.message.empty() ? end.state : end.state + ": " + end.message;
}

}  // namespace msdbg::app
