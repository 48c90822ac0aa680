#include "replay/run.h"

#include <cstdlib>

#include "core_engine/base/text.h"
#include "replay/formats/msdbg/recorded_run.h"

namespace msdbg::replay {
namespace {

using core::Iteration;
using core::Rank;
using core::TensorId;

namespace fs = std::filesystem;

/// When a run was last written: its run.json is replaced when it ends.
std::optional<fs::file_time_type> timeOf(const fs::path& run) {
  std::error_code error;
  fs::file_time_type time = fs::last_write_time(run / "run.json", error);
  if (error) time = fs::last_write_time(run, error);
  return error ? std::nullopt : std::optional(time);
}

}  // namespace

core::Result<std::unique_ptr<Run>> Run::open(const fs::path& folder) { return openRecordedRun(folder); }

core::Result<std::unique_ptr<Run>> Run::openOrFailure(const fs::path& folder) {
  auto run = open(folder);
  if (run.ok()) return run;
  auto failed = openFailedRun(folder);
  if (failed.ok()) return failed;
  return run.error();
}

std::vector<Iteration> Run::iterations(Rank rank) const {
  std::vector<Iteration> iterations;
  const core::IterationSet& recorded = iterationSet(rank);
  iterations.reserve(recorded.size());
  for (const std::int64_t iteration : recorded) iterations.emplace_back(iteration);
  return iterations;
}

std::string meshText(const std::vector<MeshAxis>& axes) {
  std::vector<std::string> texts;
  for (const MeshAxis& axis : axes)
    texts.push_back(axis.name + " " + std::to_string(axis.index) + "/" + std::to_string(axis.size));
  return core::join(texts, ", ");
}

std::string rankText(const Run& run, Rank rank) {
  const std::string mesh = meshText(run.mesh(rank));
  return std::to_string(rank.value) + (mesh.empty() ? "" : " (" + mesh + ")");
}

const RecordingTimes::Stage& RecordingTimes::operator[](const std::string& name) const {
  static const Stage none;
  const auto found = std::ranges::find(stages, name, &Stage::name);
  return found == stages.end() ? none : *found;
}

double RecordingTimes::seconds() const {
  double all = 0;
  for (const Stage& stage : stages) all += stage.seconds;
  return all;
}

std::optional<Iteration> nearestValue(const Run& run, Rank rank, Iteration iteration, TensorId tensor) {
  std::optional<Iteration> best;
  const auto distance = [&](Iteration i) { return std::abs(i.value - iteration.value); };
  for (const Iteration i : run.iterations(rank))
    if ((!best || distance(i) < distance(*best)) && run.origin(rank, i, tensor)) best = i;
  return best;
}

core::Result<fs::path> Run::newest(const fs::path& folder) {
  std::error_code error;
  std::optional<std::pair<fs::file_time_type, fs::path>> best;  // of equally old ones the last by name
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;  // an entry that vanishes or is no folder is not a candidate
    if (entry->path().extension() != ".msdbg" || !entry->is_directory(ignored)) continue;
    const std::optional<fs::file_time_type> time = timeOf(entry->path());
    if (time && (!best || std::pair(*time, entry->path()) > *best)) best.emplace(*time, entry->path());
  }
  if (error) return core::Error(core::ErrorCode::kMissing, folder.string() + ": " + error.message());
  if (!best)
    return core::Error(core::ErrorCode::kMissing, "no run (*.msdbg) in " +
                                                      fs::absolute(folder).lexically_normal().string() +
                                                      "; name one, or record one with `msdbg dump`");
  return best->second;
}

}  // namespace msdbg::replay
