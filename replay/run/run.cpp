#include "replay/run.h"

#include <cstdlib>

#include "replay/run/failures.h"
namespace msdbg::replay {
namespace {

using core::Iteration;
using core::Rank;
using core::TensorId;

namespace fs = std::filesystem;

class RecordedRun : public Run {
 public:
  explicit RecordedRun(std::unique_ptr<dump::RunReader> reader) : m_reader(std::move(reader)) {}

  dump::RunReader& reader() override { return *m_reader; }

  core::Result<dump::RunGrowth> refresh() override { return m_reader->refresh(); }

  const core::Graph& graph() const override { return m_reader->graph(); }
  std::vector<Rank> ranks() const override { return m_reader->ranks(); }
  int rankCount() const override { return m_reader->info().ranks; }
  std::string missingReason() const override { return m_missingReason; }
  std::vector<RunFailure> failures() const override { return failuresOf(*m_reader); }

  std::vector<Iteration> iterations(Rank rank) const override {
    std::vector<Iteration> iterations;
    for (const dump::IterationState& state : m_reader->iterations(rank))
      iterations.emplace_back(state.iteration);
    return iterations;
  }

  const watch::StatisticsRow* statistics(Rank rank, Iteration iteration, TensorId tensor) override {
    const dump::RunReader::RowView found = m_reader->row(rank, iteration, tensor);
    if (!found.row) m_missingReason = found.damaged ? "damaged" : found.thinned ? "thinned" : "no_value";
    return found.row;
  }

  core::Result<core::Tensor> value(Rank rank, Iteration iteration, TensorId tensor) override {
    return m_reader->tensor(rank, iteration, tensor);
  }

  bool stored(Rank rank, Iteration iteration, TensorId tensor) const override {
    return m_reader->stored(rank, iteration, tensor);
  }

  std::optional<double> scalar(Rank rank, Iteration iteration, const std::string& name) override {
    return m_reader->scalar(rank, iteration, name);
  }

 private:
  std::unique_ptr<dump::RunReader> m_reader;
  std::string m_missingReason = "no_value";
};

/// When a run was last written: its run.json is replaced when it ends.
std::optional<fs::file_time_type> timeOf(const fs::path& run) {
  std::error_code error;
  fs::file_time_type time = fs::last_write_time(run / "run.json", error);
  if (error) time = fs::last_write_time(run, error);
  return error ? std::nullopt : std::optional(time);
}

}  // namespace

core::Result<std::unique_ptr<Run>> Run::open(const fs::path& folder) {
  MSDBG_ASSIGN(std::unique_ptr<dump::RunReader> reader, dump::RunReader::open(folder));
  return std::unique_ptr<Run>(std::make_unique<RecordedRun>(std::move(reader)));
}

std::optional<Iteration> nearestValue(Run& run, Rank rank, Iteration iteration, TensorId tensor) {
  std::optional<Iteration> best;
  const auto distance = [&](Iteration i) { return std::abs(i.value - iteration.value); };
  for (const Iteration i : run.iterations(rank))
    if ((!best || distance(i) < distance(*best)) && run.reader().origin(rank, i, tensor)) best = i;
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
