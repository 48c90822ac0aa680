#include "replay/run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

#include "core_engine/base/text.h"
#include "replay/describe.h"

namespace msdbg::replay {
namespace {

// "rank_0/segment_000003.h5: /tensor/x:0" and "sources/3f… (model.cpp)" lie in one file.
std::string fileOf(const std::string& where) { return where.substr(0, where.find(": ")); }

std::string countOf(std::int64_t some, std::int64_t all, const std::string& noun) {
  return fmt::format("{} of {} {}", groupedNumber(some), counted(all, noun), some == 1 ? "is" : "are");
}

constexpr std::int64_t kSilent = 30;  // seconds: a recorder commits every second

std::int64_t silentSeconds(Run& run) {
  namespace fs = std::filesystem;
  std::optional<fs::file_time_type> newest;
  for (const core::Rank rank : run.ranks()) {
    std::error_code error;  // a rank whose folder is gone wrote nothing
    const fs::path journal = run.folder() / ("rank_" + std::to_string(rank.value)) / "journal";
    const fs::file_time_type written = fs::last_write_time(journal, error);
    if (!error) newest = std::max(newest.value_or(written), written);
  }
  if (!newest) return 0;
  return std::chrono::duration_cast<std::chrono::seconds>(fs::file_time_type::clock::now() - *newest).count();
}

// Of a run that can be computed again the conditions themselves tell what is missing; of PyTorch's not: there
// a tensor without a row may be one that nothing reads any more.
bool hasStatistics(Run& run) {
  constexpr std::size_t kNewest = 5;
  const Recomputable* const source = run.recomputable();
  if ((source && !source->recomputableIterations().empty()) || !run.damage().empty()) return true;
  bool any = false;
  for (const core::Rank rank : run.ranks()) {
    const std::vector<core::Iteration> recorded = run.iterations(rank);
    any = any || !recorded.empty();
    for (std::size_t i = recorded.size() - std::min(kNewest, recorded.size()); i < recorded.size(); ++i)
      for (const core::TensorInfo& info : run.graph().tensors())
        if (run.flags(rank, recorded[i], info.id)) return true;
  }
  return !any;
}

}  // namespace

RunState stateOf(Run& run) {
  RunState state;
  state.recording = run.recording();
  if (state.recording) state.silentSeconds = silentSeconds(run);
  state.end = run.end();
  for (const core::Rank rank : run.ranks())
    if (const core::IterationSet& recorded = run.iterationSet(rank); !recorded.empty())
      state.lastIteration = std::max(state.lastIteration.value_or(0), recorded.back());
  state.segments = run.storage().segments;
  state.ranks = run.rankCount();
  state.damage = run.damage();
  state.gaps = run.gaps();
  state.hasStatistics = hasStatistics(run);
  return state;
}

std::string endSentence(const RunState& state) {
  const auto at = [&](const char* word, std::optional<std::int64_t> iteration) {
    return iteration ? fmt::format(" {} iteration {}", word, groupedNumber(*iteration)) : std::string();
  };
  const std::string newest = at("after", state.lastIteration);
  const std::string place = state.end.iteration ? at("at", state.end.iteration) : newest;
  if (state.recording && state.silentSeconds >= kSilent)
    return fmt::format(
        "the run is being recorded{}, but nothing has come for {} s (msdbg stacks: where it is)",
        at("and is past", state.lastIteration), state.silentSeconds);
  if (state.recording) return "the run is being recorded" + at("and is past", state.lastIteration);
  if (state.interrupted()) return "the run broke off" + newest + " without saying how";
  if (state.end.state == "finished") return "the run is complete";
  if (state.end.state == "failed") return "the run failed" + place;
  return "the run was " + state.end.state + place;
}

bool DamagedFile::isSegment() const { return file.find("/segment_") != std::string::npos; }

bool DamagedFile::isRank() const { return file.starts_with("rank_") && file.find('/') == std::string::npos; }

std::vector<DamagedFile> damagedFiles(const std::vector<Damage>& damage) {
  std::vector<DamagedFile> files;
  for (const Damage& found : damage) {
    const std::string name = fileOf(found.where);
    auto file = std::ranges::find(files, name, &DamagedFile::file);
    if (file == files.end()) file = files.insert(file, {name, found.rank, {}, {}});
    file->iterations.append(found.iterations);
    const std::string part = found.where.size() > name.size() ? found.where.substr(name.size() + 2) : "";
    file->details.push_back(part.empty() ? found.what : part + ": " + found.what);
  }
  return files;
}

std::optional<DamagedFile> damageAt(const std::vector<Damage>& damage, core::Rank rank,
                                    core::Iteration iteration) {
  const auto costsIt = [&](const Damage& found) {
    return found.rank == rank && found.iterations.contains(iteration.value);
  };
  const auto found = std::ranges::find_if(damage, costsIt);
  if (found == damage.end()) return std::nullopt;
  std::vector<Damage> same;
  for (const Damage& other : damage)
    if (fileOf(other.where) == fileOf(found->where)) same.push_back(other);
  return damagedFiles(same).front();
}

std::string damageText(const DamagedFile& file) {
  const bool isMissing = file.isRank() || std::ranges::count(file.details, "the file is missing") > 0;
  const std::string text = file.file + (isMissing ? " is missing" : " is damaged");
  if (file.iterations.empty()) return text;
  const bool one = file.iterations.size() == 1;
  const bool inParts =
      std::ranges::all_of(file.details, [](const std::string& d) { return d.starts_with("/"); });
  return fmt::format("{}: iteration{} {} of rank {} {}", text, one ? "" : "s", file.iterations.text(),
                     file.rank.value,
                     inParts ? "cannot be read in whole"
                     : one   ? "is left out"
                             : "are left out");
}

std::string damageAdvice() {
  return "Copy these files again from where the run was recorded; if they are damaged there too, record the "
         "run again. msdbg verify checks every byte.";
}

std::string damageSentence(const RunState& state) {
  const std::vector<DamagedFile> files = damagedFiles(state.damage);
  const std::int64_t segments = std::ranges::count_if(files, &DamagedFile::isSegment);
  const std::int64_t ranks = std::ranges::count_if(files, &DamagedFile::isRank);
  const std::int64_t others = static_cast<std::int64_t>(files.size()) - segments - ranks;
  std::vector<std::string> parts;
  if (ranks > 0)
    parts.push_back(countOf(ranks, std::max<std::int64_t>(state.ranks, ranks), "rank") + " missing");
  if (segments > 0)  // some of them may not be in the journal
    parts.push_back(countOf(segments, std::max(state.segments, segments), "segment") + " damaged");
  if (others == 1)
    parts.push_back(
        std::ranges::find_if(files, [](const DamagedFile& f) { return !f.isSegment() && !f.isRank(); })
            ->file +
        " is damaged");
  if (others > 1) parts.push_back(counted(others, parts.empty() ? "file" : "other file") + " are damaged");
  return core::join(parts, ", ");
}

namespace {

std::string notRecorded(const core::IterationSet& iterations, core::Rank rank) {
  const bool one = iterations.size() == 1;
  return fmt::format("iteration{} {} of rank {} {} not recorded", one ? "" : "s", iterations.text(),
                     rank.value, one ? "was" : "were");
}

}  // namespace

std::string gapText(const Gap& gap) {
  return fmt::format("{} ({})", notRecorded(gap.iterations, gap.rank), gap.why);
}

std::string gapSentence(const RunState& state) {
  std::map<core::Rank, core::IterationSet> ranks;
  std::int64_t iterations = 0;
  for (const Gap& gap : state.gaps) {
    ranks[gap.rank].append(gap.iterations);
    iterations += static_cast<std::int64_t>(gap.iterations.size());
  }
  if (ranks.empty()) return {};
  if (ranks.size() == 1 && ranks.begin()->second.ranges().size() == 1)
    return notRecorded(ranks.begin()->second, ranks.begin()->first);
  const std::string of = ranks.size() == 1 ? fmt::format("rank {}", ranks.begin()->first.value)
                                           : counted(static_cast<std::int64_t>(ranks.size()), "rank");
  return fmt::format("{} of {} were not recorded", counted(iterations, "iteration"), of);
}

}  // namespace msdbg::replay
