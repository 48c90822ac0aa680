#include "dump/writer/recorder.h"

#include <signal.h>

#include <algorithm>

#include "core_engine/base/log.h"
#include "core_engine/base/text.h"
#include "core_engine/graph/graph_io.h"
#include "dump/policy/rule_doubts.h"
#include "dump/statistics_columns.h"
#include "dump/writer/commit_file.h"
#include "dump/writer/disk_space.h"
#include "dump/writer/graph_files.h"
#include "dump/writer/recorder_internal.h"

namespace msdbg::dump {
namespace {

bool endedWell(const RunEnd& end) { return end.state == "finished" || end.state == "stopped"; }

// Without a graph nothing can be read, so training waits for it.
core::Result<GraphLine> writeGraphAtLast(const std::filesystem::path& run, const core::Graph& graph,
                                         Pauses pauses) {
  while (true) {
    core::Result<GraphLine> line = writeGraph(run, graph);
    if (line.ok() || line.error().code() != core::ErrorCode::kIo || pauses.longEnough()) return line;
    std::this_thread::sleep_for(pauses.next());
  }
}

}  // namespace

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
  // Lines that are not durable yet are written with the first segment.
  if (schedule.interval() > 0)
    (void)journal->append(formatCheckpoints({schedule.interval(), checkpointBytes(plan->graph)}));
  if (place.rank.value != 0) return core::Ok{};
  if (first) warnOfRules(graph);
  MSDBG_ASSIGN(const GraphLine line, writeGraphAtLast(place.run, plan->graph, Pauses(place.patience)));
  (void)journal->append(formatGraph(line));
  return core::Ok{};
}

void Recorder::Impl::warnOfRules(const core::Graph& graph) const {
  for (const Rule& rule : options.allRules())
    for (const core::Error& mistake : ruleMistakes(rule, graph))
      core::logWarn(mistake.in("the recording rule " + ruleText(rule)).message());
}

void Recorder::Impl::waitForRoom() {
  const StageTimer timer(&clock, Stage::kWait, 0);
  pending.waitForRoom();
}

// Where values are dropped, a checkpoint goes with the iterations that are computed from it, not with those
// before it.
void Recorder::Impl::beginRecord(core::Iteration iteration) {
  auto record = std::make_shared<IterationRecord>();
  record->beginsFile = rows.iterationStarted(pending, checkpoint && limited);
  if (record->beginsFile) {
    const StageTimer timer(&clock, Stage::kWait, 0);
    pending.waitForFile();
  }
  diskShort = !hasRoom();
  if (diskShort) noRoomFor(iteration);
  pending.setSegmentBytes(rows.mayCopy() ? segmentInMemory : segmentInFile);
  writing = rows.chosen();
  record->iteration = iteration.value;
  record->plan = plan;
  record->valuesDropped = diskShort;
  record->statistics.resize(plan->graph.tensors().size());
  record->seen.resize(plan->graph.tensors().size());
  pending.begin(std::move(record));
}

// Rows that are written while they come in have to find room before their own commit can make any; those
// before them do.
bool Recorder::Impl::hasRoom() {
  if (!rows.writing().inTeam || onlyStatistics) return true;
  const auto fits = [&] {
    const auto disk = diskSpace(folder);
    return !disk.ok() || spareBytes(*disk, options.keepFree) >= rows.bytesAnIteration();
  };
  if (fits()) {
    waitedInVain = false;
    return true;
  }
  wantedRoom = rows.bytesAnIteration();
  if (waitedInVain) return false;  // a commit comes within a second; one for each iteration would only slow
  const StageTimer timer(&clock, Stage::kWait, 0);
  pending.commitAll();
  waitedInVain = !fits();
  return !waitedInVain;
}

void Recorder::Impl::noRoomFor(core::Iteration iteration) {
  const std::string text = folder.string() + ": the disk has no room for the values of iteration " +
                           std::to_string(iteration.value) +
                           " (--keep-free): only statistics, until there is room again";
  saidDiskShort ? core::logInfo(text) : core::logWarn(text);
  saidDiskShort = true;
  if (checkpoint) schedule.request();
}

// This iteration keeps its statistics only; where the disk is full, the oldest values go for the next.
void Recorder::Impl::failedToKeep(const core::Error& error, std::uint64_t bytes) {
  const auto disk = diskSpace(folder);
  const std::shared_ptr<const IterationRecord> record = pending.current();
  if (!record || !rows.writing().inTeam || error.code() != core::ErrorCode::kIo) return fail(error);
  diskShort = true;
  if (disk.ok() && disk->free < bytes) {
    noRoomFor(core::Iteration(record->iteration));
  } else if (!mayLose()) {
    return fail(error);
  } else {
    const std::string text =
        "iteration " + std::to_string(record->iteration) + " keeps its statistics only: " + error.message();
    lostValues.exchange(true) ? core::logInfo(text) : core::logWarn(text);
  }
  rows.abandon(rows.bytesAnIteration() + bytes);
  pending.dropRows();
}

// Statistics that only conditions wanted.
void Recorder::Impl::forgetUnwanted(core::Iteration iteration) {
  std::vector<core::TensorId> hashes, nothing;
  for (const core::TensorInfo& tensor : plan->graph.tensors()) {
    const Policy policy = plan->decisions.decide(tensor.id, iteration);
    if (policy == Policy::kRecord) hashes.push_back(tensor.id);
    if (policy == Policy::kNone) nothing.push_back(tensor.id);
  }
  pending.forgetStatistics(hashes, nothing);
}

Recorder::Impl::Known Recorder::Impl::knownOf(const core::TensorInfo& tensor, core::TensorId same,
                                              bool isWritten) const {
  if (!same.valid()) return {};
  if (plan->graph.tensor(same).updateOf == tensor.id) return {updates.find(tensor.id), !isWritten};
  const std::shared_ptr<const IterationRecord> record = pending.current();
  if (!record || !record->seen[same.index()]) return {};  // none: recording just failed
  return {&record->statistics[same.index()].values, !isWritten};
}

core::TensorObservation Recorder::Impl::observe(core::TensorId tensor, const core::Tensor& value,
                                                const core::Tensor* previous, const Known& known,
                                                std::function<void()> alongside) {
  core::TensorObservation seen;
  if (updateSeen && updateSeen->first == tensor) {
    seen = std::move(std::exchange(updateSeen, std::nullopt)->second);
    updates.add(plan->graph.tensor(tensor).updateOf, seen.values);
    return seen;
  }
  core::ObservationWish wish{.previous = previous, .range = {}, .alongside = std::move(alongside)};
  if (known.values && known.values->count >= 0) wish.expected = known.values;
  if (const auto& range = plan->activation[tensor.index()]) wish.range = {range->start, range->end};
  if (wish.expected && known.certain && !previous && !wish.range) {
    seen.values = *known.values;
    return seen;
  }
  const StageTimer timer(&clock, Stage::kStatistics, value.bytes());
  seen = core::observeTensor(value, wish, place.threads);
  updates.add(plan->graph.tensor(tensor).updateOf, seen.values);
  return seen;
}

core::Hash128 Recorder::Impl::hash(core::TensorId tensor, const core::Tensor& value, const Known& known) {
  if (known.values && known.certain) return known.values->hash;
  const StageTimer timer(&clock, Stage::kStatistics, value.bytes());
  const core::Hash128 hash = core::hashTensor(value, place.threads);
  updates.add(plan->graph.tensor(tensor).updateOf, hashOnly(hash).values);
  return hash;
}

RowKey Recorder::Impl::judgedAs(RowKey key) const {
  const core::TensorId parameter = plan->graph.tensor(core::TensorId(key.tensor)).updateOf;
  return parameter.valid() ? RowKey{key.section, parameter.value} : key;
}

// What is known is likely to lie in the file already.
bool Recorder::Impl::mayWriteAhead(core::TensorId tensor, const core::Tensor& value, const Known& known) {
  if (keepsNone(value) || known.values || (updateSeen && updateSeen->first == tensor)) return false;
  return rows.mayWriteAhead(judgedAs({Section::kTensor, tensor.value}), value);
}

// One thread of the team writes while the others observe: writing is one thread's work.
core::TensorObservation Recorder::Impl::observeAndKeep(core::TensorId tensor, const core::Tensor& value,
                                                       const core::Tensor* previous, const Known& known) {
  if (!mayWriteAhead(tensor, value, known)) {
    core::TensorObservation seen = observe(tensor, value, previous, known);
    keep({Section::kTensor, tensor.value}, value, std::exchange(seen.blocks, {}));
    return seen;
  }
  waitForRoom();  // not with the file's lock in hand
  std::optional<RowFile::Ahead> ahead;
  StageClock::Clock::duration wrote{};
  core::TensorObservation seen = observe(tensor, value, previous, known, [&] {
    const auto start = StageClock::Clock::now();
    if (auto written = rows.writeAhead(value)) ahead.emplace(*std::move(written));
    wrote = StageClock::Clock::now() - start;
  });
  clock.add(Stage::kStatistics, -wrote, 0);  // what they took beyond it
  keep({Section::kTensor, tensor.value}, value, std::exchange(seen.blocks, {}), {}, std::move(ahead));
  return seen;
}

// `divisor`: the value is the source of an input.
void Recorder::Impl::keep(RowKey key, const core::Tensor& value, std::vector<core::Hash128> blocks,
                          std::optional<float> divisor, std::optional<RowFile::Ahead> ahead) {
  if (keepsNone(value)) return;
  if (!ahead) waitForRoom();
  core::Result<TensorRow> row = rows.take(judgedAs(key), value, std::move(blocks), std::move(ahead));
  if (!row.ok()) return failedToKeep(row.error(), value.bytes());
  if (SegmentWriter::ownChunks(value.bytes())) wroteLarge = true;
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

// A file that reaches `ulimit -f` is a full disk (EFBIG) to the recorder, and no reason to end the training.
static void ignoreFileSizeSignal() {
  struct sigaction before = {};
  if (::sigaction(SIGXFSZ, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) ::signal(SIGXFSZ, SIG_IGN);
}

core::Result<std::unique_ptr<Recorder>> Recorder::create(const Place& place, const RecordOptions& options) {
  const std::filesystem::path folder = place.run / ("rank_" + std::to_string(place.rank.value));
  ignoreFileSizeSignal();
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
  if (const core::Status copied = copyRunInfo(place.run, folder);
      !copied.ok() && copied.error().code() != core::ErrorCode::kMissing)
    core::logWarn("the folder of rank " + std::to_string(place.rank.value) +
                  " has no copy of run.json: " + copied.error().message());
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
  if (const core::Status here = impl.journal->checkPlace(); !here.ok()) return impl.fail(here.error());
  impl.beginRecord(iteration);
}

void Recorder::tensorReady(core::Iteration iteration, core::TensorId tensor, const core::Tensor& value,
                           const core::Tensor* previous) {
  Impl& impl = *m_impl;
  const auto [told, same] = std::exchange(impl.sameValue, {});
  if (!impl.selected || !impl.pending.open()) return;
  const core::TensorInfo& info = impl.plan->graph.tensor(tensor);
  if (info.isSource()) impl.keepForReplay(info, value);
  const Policy policy = impl.plan->decisions.decide(tensor, iteration);
  const bool observed = impl.needsStatistics(policy);
  if (policy == Policy::kNone && !observed) return;
  const bool isWritten = policy == Policy::kFull || (impl.checkpoint && inCheckpoint(info));
  const Impl::Known known = impl.knownOf(info, told == tensor ? same : core::TensorId(), isWritten);
  if (!observed) return impl.pending.addStatistics(tensor.value, hashOnly(impl.hash(tensor, value, known)));
  const core::TensorObservation seen = policy == Policy::kFull
                                           ? impl.observeAndKeep(tensor, value, previous, known)
                                           : impl.observe(tensor, value, previous, known);
  impl.pending.addStatistics(tensor.value, {seen.values, seen.change, seen.activation});
}

void Recorder::sameValue(core::Iteration, core::TensorId tensor, core::TensorId as) {
  m_impl->sameValue = {tensor, as};
}

core::UpdateWish Recorder::updateWish(core::Iteration iteration, core::TensorId tensor) {
  const Impl& impl = *m_impl;
  if (!impl.selected || !impl.pending.open()) return core::UpdateWish::kNothing;
  const Policy policy = impl.plan->decisions.decide(tensor, iteration);
  return impl.needsStatistics(policy) ? core::UpdateWish::kStatistics : core::UpdateWish::kNothing;
}

void Recorder::updateSeen(core::Iteration, core::TensorId tensor, core::TensorObservation seen,
                          double seconds) {
  const auto took = std::chrono::duration<double>(seconds);
  m_impl->clock.add(Stage::kStatistics, std::chrono::duration_cast<StageClock::Clock::duration>(took),
                    static_cast<std::uint64_t>(seen.values.count) *
                        core::dtypeSize(m_impl->plan->graph.tensor(tensor).dtype));
  m_impl->updateSeen.emplace(tensor, std::move(seen));
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
  if (record && !impl.spools()) impl.firstFault.finished(*record);
  impl.selected = false;
  impl.given.clear();
  if (impl.hits) impl.forgetUnwanted(iteration);
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
  const std::string last[] = {formatTiming(times()), formatEnd(end)};
  (void)impl.journal->append(last);
  impl.settleJournal();
  if (impl.journal->isBehind() && impl.trouble) impl.fail(impl.trouble->error);
  const bool here = impl.journal->checkPlace().ok();
  impl.store.release();
  impl.journal.reset();  // the lock with it
  if (endedWell(end) && here) impl.rankStatus->remove();
  return status().ok() ? impl.completeness() : status();
}

void Recorder::requestCommit() noexcept { m_impl->pending.requestCommit(); }

std::optional<RunEnd> Recorder::firstHit() const {
  return m_impl->hits ? m_impl->hits->firstHit() : std::nullopt;
}

bool Recorder::hitWindowDone() const { return m_impl->hits && m_impl->hits->windowDone(); }

core::Status Recorder::status() const { return m_impl->pending.status(); }

bool Recorder::endsTraining() const { return m_impl->gaveUp; }

std::uint64_t Recorder::bytesWritten() const { return m_impl->bytesWritten; }

RecordingTimes Recorder::times() const {
  RecordingTimes times = m_impl->clock.times();
  if (m_impl->wroteLarge) times.writtenBy = m_impl->writing.load().text();
  return times;
}

}  // namespace msdbg::dump
