#include "dump/writer/recorder.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "core_engine/base/log.h"
#include "core_engine/base/text.h"
#include "core_engine/graph/graph_io.h"
#include "dump/hits/hit_watch.h"
#include "dump/statistics_columns.h"
#include "dump/writer/checkpoint_schedule.h"
#include "dump/writer/commit_file.h"
#include "dump/writer/disk_space.h"
#include "dump/writer/graph_files.h"
#include "dump/writer/pending_iterations.h"
#include "dump/writer/rank_status.h"
#include "dump/writer/row_path.h"
#include "dump/writer/segment_store.h"
#include "dump/writer/updated_values.h"

namespace msdbg::dump {
namespace {

constexpr std::uint64_t kLargestSegment = 4ull << 30;

// Four segments fit into a rank's share, so that dropping one keeps most of what may be kept; that share is
// no more than what the disk has to spare. Values that wait in memory limit a segment further.
std::uint64_t segmentBytes(const RecordOptions& options, const Recorder::Place& place, bool inMemory) {
  const auto ranks = static_cast<std::uint64_t>(std::max(1, place.ranks));
  const auto disk = diskSpace(place.run);
  const std::uint64_t spare = disk.ok() ? spareBytes(*disk, options.keepFree) : options.maxBytes;
  const std::uint64_t share = std::min(options.maxBytes, spare) / ranks;
  return std::max<std::uint64_t>(1,
                                 std::min(inMemory ? options.bufferBytes / 2 : kLargestSegment, share / 4));
}

bool endedWell(const RunEnd& end) { return end.state == "finished" || end.state == "stopped"; }

}  // namespace

struct Recorder::Impl {
  Place place;
  RecordOptions options;
  std::filesystem::path folder;
  std::shared_ptr<JournalWriter> journal;
  std::unique_ptr<HitWatch> hits;  // nullptr: values are kept without
  std::unique_ptr<RankStatusWriter> rankStatus;
  StageClock clock;
  BufferPool pool;  // outlives everything that holds buffers
  PendingIterations pending;
  RowTaker rows;
  SegmentStore store;
  std::shared_ptr<const GraphPlan> plan;
  std::string graphBytes;  // of the plan: the same graph again is not a new version
  bool selected = false;   // the iteration in progress is recorded
  CheckpointSchedule schedule;
  UpdatedValues updates;
  bool checkpoint = false;               // the iteration in progress begins with one
  std::vector<core::GivenSource> given;  // what inputs of the next iteration were made from
  std::atomic<std::uint64_t> bytesWritten{0};
  std::atomic<bool> onlyStatistics{false};  // one iteration is more than may be kept
  std::thread thread;
  std::mutex finishMutex;

  Impl(const Place& where, const RecordOptions& what, std::shared_ptr<JournalWriter> lines,
       std::unique_ptr<HitWatch> watch)
      : place(where),
        options(what),
        folder(where.run / ("rank_" + std::to_string(where.rank.value))),
        journal(std::move(lines)),
        hits(std::move(watch)),
        pool(what.bufferBytes),
        pending(what.bufferBytes, segmentBytes(what, where, !wayOf(where, what).inTeam), windows()),
        rows(wayOf(where, what), pool, clock),
        store(folder, static_cast<int>(where.rank.value), retention(), what.keepFree, journal) {
    store.writer().configure(what.compress, &clock);
  }

  std::uint64_t share() const {
    return options.maxBytes / static_cast<std::uint64_t>(std::max(1, place.ranks));
  }
  // Values of which most will be dropped (--on-hit) are not worth a file.
  RowTaker::Way wayOf(const Place& where, const RecordOptions& what) const {
    return {folder, where.threads, !hits && writesInTeam(where.rows, where.threads, where.ranks),
            what.compress};
  }
  RetentionRules retention() const {
    RetentionRules rules{.maxBytes = share(), .keepLast = options.keepLast, .keep = {}};
    if (hits) rules.keep = [this](std::int64_t iteration) { return hits->windows().keep(iteration); };
    return rules;
  }
  const HitWindows* windows() const { return hits ? &hits->windows() : nullptr; }
  void start();
  void work();
  core::Status listHits();
  void settle();
  void commit(const PendingIterations::Commit& segment);
  bool spareWork(PendingIterations::Clock::time_point until);
  void fail(const core::Error& error);
  core::Status adopt(const core::Graph& graph, std::string bytes);
  void waitForRoom();
  core::TensorObservation observe(core::TensorId tensor, const core::Tensor& value,
                                  const core::Tensor* previous);
  void keep(RowKey key, const core::Tensor& value, std::vector<core::Hash128> blocks = {},
            std::optional<float> divisor = {});
  void keepForReplay(const core::TensorInfo& tensor, const core::Tensor& value);
};

// Signals are the training thread's: their handlers only wake this one.
void Recorder::Impl::start() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread = std::thread([this] { work(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Recorder::Impl::work() {
  bool spare = true;  // the last quiet moment was long enough for something
  while (true) {
    const PendingIterations::Work work = pending.next(spare && store.hasSpareWork());
    if (std::holds_alternative<PendingIterations::Stop>(work)) return settle();
    if (const auto* job = std::get_if<PendingIterations::Encode>(&work)) {
      store.writer().encode(job->key, *job->row);
      pending.encoded(*job);
    } else if (const auto* moment = std::get_if<PendingIterations::Spare>(&work)) {
      spare = spareWork(moment->until);
    } else {
      commit(std::get<PendingIterations::Commit>(work));
      spare = true;
    }
  }
}

void Recorder::Impl::commit(const PendingIterations::Commit& segment) {
  const auto start = PendingIterations::Clock::now();
  std::vector<const IterationRecord*> records;
  for (const auto& record : segment.records) records.push_back(record.get());
  core::Status status = listHits();
  if (status.ok()) status = store.commit(records);
  bytesWritten = store.bytesWritten();
  onlyStatistics = store.onlyStatistics();
  if (store.lacksCheckpoint()) schedule.request();
  if (!status.ok()) return fail(status.error().in("iteration " + std::to_string(records[0]->iteration)));
  pending.committed(segment, PendingIterations::Clock::now() - start);
}

core::Status Recorder::Impl::listHits() {
  if (!hits) return core::Ok{};
  const std::vector<std::string> lines = hits->takeLines();
  return lines.empty() ? core::Ok{} : journal->append(core::join(lines, "\n"));
}

// What was undecided when the last segment was committed may be decided now.
void Recorder::Impl::settle() {
  if (!hits || !pending.status().ok()) return;
  core::Status status = listHits();
  if (status.ok()) status = store.applyRules();
  if (!status.ok()) fail(status.error());
}

bool Recorder::Impl::spareWork(PendingIterations::Clock::time_point until) {
  const core::Result<bool> did = store.spareWork(until);
  if (!did.ok()) fail(did.error());
  return did.ok() && *did;
}

void Recorder::Impl::fail(const core::Error& error) {
  if (!pending.status().ok()) return;  // said already
  const core::Error why(error.code(), error.message() + whatToDo(folder));
  core::logError("rank " + std::to_string(place.rank.value) + ": recording stopped: " + why.message() + "; " +
                 (options.onError == OnError::kStop ? "training is stopped (--on-error stop)"
                                                    : "training goes on unrecorded") +
                 ", and what was recorded before stays readable");
  pending.fail(why);
}

// A new version of the graph, with what the rules say about its tensors.
core::Status Recorder::Impl::adopt(const core::Graph& graph, std::string bytes) {
  const std::int64_t least = plan ? plan->version + 1 : 0;
  MSDBG_ASSIGN(Decisions decisions, Decisions::make(graph, options, place.rank));
  const bool first = !plan;
  plan = std::make_shared<const GraphPlan>(graph, std::max(graph.version(), least), std::move(decisions),
                                           options);
  graphBytes = std::move(bytes);
  if (hits) hits->graphReady(plan);
  schedule.adopt(options, plan->graph);
  updates.clear();
  if (schedule.interval() > 0)
    MSDBG_TRY(journal->append(formatCheckpoints({schedule.interval(), checkpointBytes(plan->graph)})));
  if (place.rank.value != 0) return core::Ok{};
  MSDBG_ASSIGN(const std::vector<std::string> unused, unusedRules(graph, options.rules));
  for (const std::string& rule : unused)
    if (first) core::logWarn("the recording rule " + rule + " fits no tensor of the graph");
  MSDBG_ASSIGN(const GraphLine line, writeGraph(place.run, plan->graph));
  return journal->append(formatGraph(line));
}

void Recorder::Impl::waitForRoom() {
  const StageTimer timer(&clock, Stage::kWait, 0);
  pending.waitForRoom();
}

core::TensorObservation Recorder::Impl::observe(core::TensorId tensor, const core::Tensor& value,
                                                const core::Tensor* previous) {
  const StageTimer timer(&clock, Stage::kStatistics, value.bytes());
  core::ObservationWish wish{.previous = previous, .range = {}, .expected = updates.find(tensor)};
  if (const auto& range = plan->activation[tensor.index()]) wish.range = {range->start, range->end};
  core::TensorObservation seen = core::observeTensor(value, wish, place.threads);
  updates.add(plan->graph.tensor(tensor).updateOf, seen.values);
  return seen;
}

// `divisor`: the value is the source of an input.
void Recorder::Impl::keep(RowKey key, const core::Tensor& value, std::vector<core::Hash128> blocks,
                          std::optional<float> divisor) {
  if (value.bytes() == 0 || onlyStatistics) return;
  waitForRoom();
  core::Result<TensorRow> row = rows.take(key, value, std::move(blocks));
  if (!row.ok()) return fail(row.error());
  row->divisor = divisor;
  pending.addRow(key, std::move(row).value());
}

// What the iteration starts from: a part of the checkpoint, or of the batch in the form that the loader had.
void Recorder::Impl::keepForReplay(const core::TensorInfo& tensor, const core::Tensor& value) {
  if (inCheckpoint(tensor)) {
    if (checkpoint) keep({Section::kState, tensor.id.value}, value);
  } else if (options.keepsBatches() && value.bytes() > 0) {
    const RowKey key{Section::kBatch, tensor.id.value};
    const auto source = std::ranges::find(given, tensor.id, &core::GivenSource::input);
    if (source == given.end()) return keep(key, value);
    keep(key, source->source.values, {}, source->source.divisor);
  }
}

core::Result<std::unique_ptr<Recorder>> Recorder::create(const Place& place, const RecordOptions& options) {
  const std::filesystem::path folder = place.run / ("rank_" + std::to_string(place.rank.value));
  std::error_code error;
  std::filesystem::create_directory(folder, error);
  if (error)
    return core::Error(core::ErrorCode::kIo, "cannot create " + folder.string() + ": " + error.message());
  MSDBG_ASSIGN(std::shared_ptr<JournalWriter> journal, JournalWriter::create(folder / "journal"));
  JournalHeader header;
  header.rank = static_cast<int>(place.rank.value);
  header.ranks = place.ranks;
  MSDBG_TRY(journal->append(formatHeader(header)));
  std::unique_ptr<HitWatch> hits;
  if (options.onHit.on()) {
    MSDBG_ASSIGN(hits, HitWatch::create(options.onHit, {place.rank, place.ranks, place.communicator}));
  }
  auto impl = std::make_unique<Impl>(place, options, std::move(journal), std::move(hits));
  MSDBG_ASSIGN(impl->rankStatus, RankStatusWriter::create(folder));
  impl->start();
  return std::unique_ptr<Recorder>(new Recorder(std::move(impl)));
}

Recorder::Recorder(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}

Recorder::~Recorder() {
  RunEnd end;
  end.state = "finished";
  (void)finish(end);  // a failure was logged, and status() told it to whoever asked
}

void Recorder::graphReady(const core::Graph& graph) {
  Impl& impl = *m_impl;
  if (!impl.pending.open()) return;
  std::string bytes = core::serializeGraph(graph);
  if (impl.plan && bytes == impl.graphBytes) return;
  const core::Status status = impl.adopt(graph, std::move(bytes));
  if (!status.ok()) impl.fail(status.error());
}

void Recorder::sourcesGiven(core::Iteration iteration, std::span<const core::GivenSource> sources) {
  Impl& impl = *m_impl;
  impl.given.clear();
  if (impl.options.keepsBatches() && impl.options.records(iteration))
    impl.given.assign(sources.begin(), sources.end());
}

void Recorder::iterationStarted(core::Iteration iteration) {
  Impl& impl = *m_impl;
  impl.selected = impl.plan && impl.options.records(iteration) && impl.pending.open();
  if (!impl.selected) return;
  impl.checkpoint = impl.schedule.begin(iteration);
  impl.updates.begin(iteration);
  impl.waitForRoom();
  impl.clock.start();
  impl.rows.iterationStarted(impl.pending);
  auto record = std::make_shared<IterationRecord>();
  record->iteration = iteration.value;
  record->plan = impl.plan;
  record->statistics.resize(impl.plan->graph.tensors().size());
  record->seen.resize(impl.plan->graph.tensors().size());
  impl.pending.begin(std::move(record));
}

void Recorder::tensorReady(core::Iteration iteration, core::TensorId tensor, const core::Tensor& value,
                           const core::Tensor* previous) {
  Impl& impl = *m_impl;
  if (!impl.selected || !impl.pending.open()) return;
  if (const core::TensorInfo& info = impl.plan->graph.tensor(tensor); info.isSource())
    impl.keepForReplay(info, value);
  const Policy policy = impl.plan->decisions.decide(tensor, iteration);
  if (policy == Policy::kNone) return;
  if (policy == Policy::kRecord) {
    const StageTimer timer(&impl.clock, Stage::kStatistics, value.bytes());
    return impl.pending.addStatistics(tensor.value, hashOnly(core::hashTensor(value, impl.place.threads)));
  }
  core::TensorObservation seen = impl.observe(tensor, value, previous);
  impl.pending.addStatistics(tensor.value, {seen.values, seen.change, seen.activation});
  if (policy == Policy::kFull) impl.keep({Section::kTensor, tensor.value}, value, std::move(seen.blocks));
}

void Recorder::kernelStarted(core::Iteration iteration, core::KernelId kernel) {
  Impl& impl = *m_impl;
  if (!impl.plan || kernel.index() >= impl.plan->graph.kernels().size()) return;
  const core::Kernel& running = impl.plan->graph.kernels()[kernel.index()];
  if (running.nodes.empty()) return;
  const core::Node& node = impl.plan->graph.node(running.nodes.front());
  impl.rankStatus->set(iteration.value, node.id.value, node.name, node.phase == core::Phase::kCollective);
}

void Recorder::iterationFinished(core::Iteration iteration, const core::Scalars& scalars) {
  Impl& impl = *m_impl;
  impl.rankStatus->set(iteration.value, -1, "", false);
  // All ranks ask each other here, whatever became of this one's recording.
  const std::shared_ptr<const IterationRecord> record = impl.selected ? impl.pending.current() : nullptr;
  const bool hit =
      impl.hits && impl.options.records(iteration) && impl.hits->finished(iteration, record.get());
  if (!impl.selected) return;
  impl.selected = false;
  impl.given.clear();
  impl.pending.finish(scalars);
  if (hit) impl.pending.requestCommit();
  impl.waitForRoom();
}

core::Status Recorder::finish(const RunEnd& end) {
  Impl& impl = *m_impl;
  const std::lock_guard lock(impl.finishMutex);
  if (!impl.thread.joinable()) return status();
  if (impl.hits && endedWell(end)) impl.hits->windows().close();
  impl.pending.close();
  impl.thread.join();
  core::Status listed = impl.journal->append(formatTiming(impl.clock.times()));
  if (listed.ok()) listed = impl.journal->append(formatEnd(end));
  if (!listed.ok()) impl.fail(listed.error());
  impl.store.release();
  impl.journal.reset();  // the lock with it
  if (endedWell(end)) impl.rankStatus->remove();
  return status();
}

void Recorder::requestCommit() noexcept { m_impl->pending.requestCommit(); }

std::optional<RunEnd> Recorder::firstHit() const {
  return m_impl->hits ? m_impl->hits->firstHit() : std::nullopt;
}

bool Recorder::hitWindowDone() const { return m_impl->hits && m_impl->hits->windowDone(); }

core::Status Recorder::status() const { return m_impl->pending.status(); }

std::uint64_t Recorder::bytesWritten() const { return m_impl->bytesWritten; }

RecordingTimes Recorder::times() const { return m_impl->clock.times(); }

}  // namespace msdbg::dump
