#include "replay/formats/msdbg/recorded_run.h"

#include "core_engine/tensor/flags.h"
#include "core_engine/tensor/training_state.h"
#include "dump/hdf5/at_exit.h"
#include "replay/formats/msdbg/failures.h"
#include "replay/formats/msdbg/translate.h"
#include "watchpoints/known_rows.h"

namespace msdbg::replay {
namespace {

using core::Error;
using core::ErrorCode;
using core::Iteration;
using core::Rank;
using core::Result;
using core::TensorId;

class RecordedRun : public Run,
                    public Recomputable,
                    public Verifiable,
                    public Growing,
                    public watch::KnownRows {
 public:
  explicit RecordedRun(std::unique_ptr<dump::RunReader> reader)
      : m_reader(std::move(reader)), m_description(translated(m_reader->info())) {}

  std::filesystem::path folder() const override { return m_reader->folder(); }
  const RunDescription& description() const override { return m_description; }
  RunEnd end() const override;
  std::optional<RunEnd> rankEnd(Rank rank) const override { return translated(m_reader->rankEnd(rank)); }
  bool recording() const override { return m_reader->recording(); }
  std::vector<RunFailure> failures() const override { return failuresOf(*m_reader); }

  const core::Graph& graph() const override { return m_reader->graph(); }
  const core::GraphPart* part(Rank rank, Iteration iteration) const override {
    return m_reader->part(rank, iteration);
  }
  bool isWhole(core::NodeId node, TensorId tensor) const override {
    return m_reader->isOfNewestGraph(node, tensor);
  }
  std::vector<Rank> ranks() const override { return m_reader->ranks(); }
  const core::IterationSet& iterationSet(Rank rank) const override { return m_reader->iterationSet(rank); }
  std::vector<std::int64_t> incompleteIterations(Rank rank) const override {
    return m_reader->incompleteIterations(rank);
  }

  const watch::StatisticsRow* statistics(Rank rank, Iteration iteration, TensorId tensor) override {
    const dump::RunReader::RowView found = m_reader->row(rank, iteration, tensor);
    if (found.row && !core::isFlags(found.row->values)) return found.row;
    m_missingReason = found.row       ? "only_flags"
                      : found.damaged ? "damaged"
                      : found.thinned ? "thinned"
                                      : "no_value";
    return missingValues() ? missingValues()->statistics(rank, iteration, tensor) : nullptr;
  }
  const watch::StatisticsRow* flags(Rank rank, Iteration iteration, TensorId tensor) override {
    const watch::StatisticsRow* row = m_reader->row(rank, iteration, tensor).row;
    return row ? row : statistics(rank, iteration, tensor);
  }
  std::string missingReason() const override { return m_missingReason; }
  Rows rowsOf(Rank rank, Iteration iteration) const override {
    if (missingValues()) return Rows::kPossible;  // who computes them may have some of any iteration
    if (thinned(rank, iteration)) return Rows::kThinned;
    return iterationSet(rank).contains(iteration.value) ? Rows::kPossible : Rows::kNotRecorded;
  }
  Error missingStatistics(Rank rank, Iteration iteration, TensorId tensor) override {
    const Result<watch::StatisticsRow> row = m_reader->statistics(rank, iteration, tensor);
    return row.ok() ? Error(ErrorCode::kUnavailable, "they are recorded") : row.error();
  }
  Result<core::Hash128> hash(Rank rank, Iteration iteration, TensorId tensor) override {
    return m_reader->hash(rank, iteration, tensor);
  }

  Result<core::Tensor> value(Rank rank, Iteration iteration, TensorId tensor) override {
    Result<core::Tensor> recorded = m_reader->tensor(rank, iteration, tensor);
    const bool missing = !recorded.ok() && recorded.error().code() == ErrorCode::kUnavailable;
    return missing && missingValues() ? missingValues()->value(rank, iteration, tensor) : recorded;
  }
  bool stored(Rank rank, Iteration iteration, TensorId tensor) const override {
    return m_reader->stored(rank, iteration, tensor);
  }
  std::optional<ValueOrigin> origin(Rank rank, Iteration iteration, TensorId tensor) const override {
    return translated(m_reader->origin(rank, iteration, tensor));
  }
  std::int64_t storedCount(Rank rank, TensorId tensor) const override {
    return m_reader->storedCount(rank, tensor);
  }
  bool storedAnywhere(Rank rank, TensorId tensor) const override {
    return m_reader->storedAnywhere(rank, tensor);
  }

  std::optional<double> scalar(Rank rank, Iteration iteration, const std::string& name) override {
    return m_reader->scalar(rank, iteration, name);
  }
  std::vector<std::string> scalarNames() override { return m_reader->scalarNames(); }
  std::vector<Metric> metrics(Rank rank) const override {
    std::vector<Metric> list;
    const dump::Metrics* const told = m_reader->metrics(rank);
    if (!told) return list;
    for (const auto& [name, values] : *told) list.push_back({name, {values.begin(), values.end()}});
    return list;
  }
  std::optional<double> lastScalar(Rank rank, const std::string& name) override {
    return m_reader->lastScalar(rank, name);
  }
  std::vector<std::string> sourceFiles() const override { return m_reader->sourceFiles(); }
  std::optional<std::string> sourceText(const std::string& file) const override {
    return m_reader->sourceText(file);
  }
  Storage storage() const override { return translated(m_reader->storage()); }

  const std::vector<Damage>& damage() const override;
  std::vector<Gap> gaps() const override { return translated(m_reader->gaps()); }
  std::vector<Restart> restarts() const override { return translated(m_reader->restarts()); }
  bool thinned(Rank rank, Iteration iteration) const override { return m_reader->thinned(rank, iteration); }
  Thinning thinning(Rank rank) const override { return translated(m_reader->thinning(rank)); }
  std::vector<RecordedHit> hits() const override { return translated(m_reader->hits()); }
  std::vector<std::string> meshAxes() const override {
    std::vector<std::string> names;
    for (const Rank rank : ranks())
      for (const dump::MeshAxis& axis : m_reader->mesh(rank))
        if (std::ranges::count(names, axis.name) == 0) names.push_back(axis.name);
    return names;
  }
  std::vector<MeshAxis> mesh(Rank rank) const override {
    std::vector<MeshAxis> axes;
    for (const dump::MeshAxis& axis : m_reader->mesh(rank))
      axes.push_back({axis.name, axis.index, axis.size});
    return axes;
  }
  std::optional<RecordingTimes> timing(Rank rank) const override {
    return translated(m_reader->timing(rank));
  }

  Recomputable* recomputable() override { return this; }
  Verifiable* verifiable() override { return this; }
  Growing* growing() override { return this; }

  std::vector<std::int64_t> checkpoints(Rank rank) const override { return m_reader->checkpoints(rank); }
  std::vector<std::int64_t> batches(Rank rank) const override { return m_reader->batches(rank); }
  std::vector<std::int64_t> recomputableIterations() const override { return m_reader->recomputable(); }
  core::IterationSet begunAnew(Rank rank) const override { return m_reader->begunAnew(rank); }
  std::optional<CheckpointInterval> checkpointInterval(Rank rank) const override {
    return translated(m_reader->checkpointInterval(rank));
  }
  Result<Iteration> newestCheckpoint(const std::function<void(const std::string&)>& skipped) override {
    return m_reader->newestCheckpoint(skipped);
  }
  Result<core::TrainingState> checkpoint(Rank rank, Iteration iteration) override {
    return m_reader->checkpoint(rank, iteration);
  }
  Result<core::Batch> batch(Rank rank, Iteration iteration) override {
    return m_reader->batch(rank, iteration);
  }

  Result<core::Graph> recordedGraph(Rank rank, Iteration iteration) override {
    return m_reader->recordedGraph(rank, iteration);
  }
  bool sameGraph(Rank rank, Iteration a, Iteration b) const override {
    return m_reader->graphVersion(rank, a) == m_reader->graphVersion(rank, b);
  }
  Result<core::Hash128> digest(Rank rank, Iteration iteration) override {
    return m_reader->digest(rank, iteration);
  }
  const watch::StatisticsRow* recordedRow(Rank rank, Iteration iteration, TensorId tensor) override {
    return m_reader->row(rank, iteration, tensor).row;
  }
  Result<bool> checkDigest(Rank rank, Iteration iteration,
                           const std::vector<core::Hash128>& hashes) override {
    return m_reader->checkDigest(rank, iteration, hashes);
  }

  std::vector<Damage> verify(const core::CancelToken& cancel,
                             const std::function<void(std::uint64_t, std::uint64_t)>& progress) override {
    m_damage.clear();  // it may find that some is none
    return translated(m_reader->verify(cancel, progress));
  }

  Result<RunGrowth> refresh() override {
    MSDBG_ASSIGN(const dump::RunGrowth growth, m_reader->refresh());
    if (growth.runInfo) m_description = translated(m_reader->info());
    return RunGrowth{growth.any(), growth.newerGraph};
  }

 private:
  std::unique_ptr<dump::RunReader> m_reader;
  RunDescription m_description;
  mutable std::vector<Damage> m_damage;  // m_reader's, as far as it was asked for
  std::string m_missingReason = "no_value";
};

// The launcher writes run.json some time after the last rank has ended; one that was killed never does.
RunEnd RecordedRun::end() const {
  const RunEnd& said = m_description.end;
  const std::vector<Rank> all = ranks();
  if (said.state != "running" || recording() || all.empty()) return said;
  std::optional<RunEnd> worst;
  for (const Rank rank : all) {
    const std::optional<RunEnd> end = rankEnd(rank);
    if (!end) return said;
    if (!worst || (worst->good() && !end->good())) worst = end;
  }
  return *worst;
}

const std::vector<Damage>& RecordedRun::damage() const {
  const std::vector<dump::Damage>& all = m_reader->damage();  // it only grows
  for (std::size_t i = m_damage.size(); i < all.size(); ++i) m_damage.push_back(translated(all[i]));
  return m_damage;
}

// Of a program that failed before its graph was complete: nothing but how it ended.
class FailedRun : public RecordedRun {
 public:
  using RecordedRun::RecordedRun;

  const core::IterationSet& iterationSet(Rank) const override { return m_none; }
  std::vector<std::int64_t> incompleteIterations(Rank) const override { return {}; }

 private:
  core::IterationSet m_none;
};

}  // namespace

void prepareProcess() { dump::skipHdf5Cleanup(); }

Result<std::unique_ptr<Run>> openRecordedRun(const std::filesystem::path& folder) {
  MSDBG_ASSIGN(std::unique_ptr<dump::RunReader> reader, dump::RunReader::open(folder));
  return std::unique_ptr<Run>(std::make_unique<RecordedRun>(std::move(reader)));
}

Result<std::unique_ptr<Run>> openFailedRun(const std::filesystem::path& folder) {
  MSDBG_ASSIGN(std::unique_ptr<dump::RunReader> reader,
               dump::RunReader::open(folder, dump::WithoutGraph::kOpen));
  auto run = std::make_unique<FailedRun>(std::move(reader));
  if (run->failures().empty())
    return Error(ErrorCode::kUnavailable, folder.string() + ": its graph is not there, nor how it ended");
  return std::unique_ptr<Run>(std::move(run));
}

}  // namespace msdbg::replay
