#include "replay/run.h"

#include <deque>
#include <map>

#include "replay/run/failures.h"

namespace msdbg::replay {
namespace {

using core::Iteration;
using core::Rank;
using core::TensorId;

namespace fs = std::filesystem;

/// The rows of one rank and iteration, read when asked.
struct RowBlock {
  enum class State : char { kUnread, kPresent, kMissing, kDamaged };
  explicit RowBlock(std::size_t tensors) : states(tensors, State::kUnread), rows(tensors) {}
  std::vector<State> states;
  std::vector<watch::StatisticsRow> rows;
};

constexpr std::size_t kCachedRows = 1 << 18;  // about 60 MB; conditions walk iteration by iteration

class RecordedRun : public Run {
 public:
  explicit RecordedRun(std::unique_ptr<dump::RunReader> reader) : m_reader(std::move(reader)) {}

  dump::RunReader& reader() override { return *m_reader; }

  // What was asked of an iteration before it was there, or of a file that is gone, is asked again.
  core::Result<dump::RunGrowth> refresh() override {
    MSDBG_ASSIGN(dump::RunGrowth growth, m_reader->refresh());
    for (const auto& [rank, iterations] : growth.iterations)
      for (const std::int64_t iteration : iterations) forget({rank, Iteration(iteration)});
    return growth;
  }

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
    RowBlock& block = blockOf(rank, iteration);
    const std::size_t i = tensor.index();
    if (block.states[i] == RowBlock::State::kUnread) read(block, rank, iteration, tensor);
    if (block.states[i] == RowBlock::State::kPresent) return &block.rows[i];
    m_missingReason = block.states[i] == RowBlock::State::kDamaged ? "damaged" : "no_value";
    return nullptr;
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
  using Key = std::pair<Rank, Iteration>;

  void forget(const Key& key) {
    if (m_blocks.erase(key) > 0) std::erase(m_oldestFirst, key);
  }

  RowBlock& blockOf(Rank rank, Iteration iteration) {
    const Key key(rank, iteration);
    if (const auto found = m_blocks.find(key); found != m_blocks.end()) return found->second;
    const std::size_t tensors = graph().tensors().size();
    while (!m_oldestFirst.empty() && (m_blocks.size() + 1) * tensors > kCachedRows) {
      m_blocks.erase(m_oldestFirst.front());
      m_oldestFirst.pop_front();
    }
    m_oldestFirst.push_back(key);
    return m_blocks.emplace(key, RowBlock(tensors)).first->second;
  }

  void read(RowBlock& block, Rank rank, Iteration iteration, TensorId tensor) {
    core::Result<watch::StatisticsRow> row = m_reader->statistics(rank, iteration, tensor);
    RowBlock::State& state = block.states[tensor.index()];
    if (!row) {
      const bool notRecorded = row.error().code() == core::ErrorCode::kUnavailable;
      state = notRecorded ? RowBlock::State::kMissing : RowBlock::State::kDamaged;
      return;
    }
    block.rows[tensor.index()] = std::move(row).value();
    state = RowBlock::State::kPresent;
  }

  std::unique_ptr<dump::RunReader> m_reader;
  std::map<Key, RowBlock> m_blocks;
  std::deque<Key> m_oldestFirst;
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
