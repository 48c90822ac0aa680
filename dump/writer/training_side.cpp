#include "dump/writer/training_side.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "core_engine/base/log.h"
#include "core_engine/base/text.h"
#include "core_engine/graph/graph_io.h"
#include "dump/policy/rule_doubts.h"
#include "dump/statistics_columns.h"
#include "dump/writer/disk_space.h"
#include "dump/writer/graph_files.h"
#include "dump/writer/segment_writer.h"

namespace msdbg::dump {
namespace {

// Of the disk, that files whose rows lie there already take when they are completed; else those of the next
// iteration could take it meanwhile.
constexpr std::uint64_t kToComplete = 1u << 20;
constexpr std::uint64_t kUncounted = 1u << 20;  // blocks that are not whole, lines of the journal, copies
constexpr int kTries = 2;  // the second has an iteration to commit that needs little, and makes more room

// Without a graph nothing can be read, so training waits for it.
core::Result<GraphLine> writeGraphAtLast(const Recorder::Place& place, const GraphPlan& plan,
                                         const std::string& bytes) {
  Pauses pauses(place.patience);
  while (true) {
    core::Result<GraphLine> line = writeGraph(place.run, place.rank, plan.version, plan.graph, bytes);
    if (line.ok() || line.error().code() != core::ErrorCode::kIo || pauses.longEnough()) return line;
    std::this_thread::sleep_for(pauses.next());
  }
}

// " (train.cpp:59)": the line of the Trainer, which is the learning rate's.
std::string trainerPlace(const core::Graph& graph) {
  for (const core::TensorInfo& tensor : graph.tensors()) {
    const core::Frame* frame =
        tensor.role == core::TensorRole::kHyperparameter ? graph.userFrame(tensor.frames) : nullptr;
    if (frame) return " (" + frame->file + ":" + std::to_string(frame->line) + ")";
  }
  return {};
}

}  // namespace

TrainingSide::TrainingSide(Recording& recording, std::unique_ptr<RankStatusWriter> status)
    : m_recording(recording),
      m_pending(recording.pending),
      m_clock(recording.clock),
      m_status(std::move(status)),
      m_rows({recording.folder, recording.place.threads, recording.options.compress, recording.spareFile,
              recording.place.pace},
             ways(), recording.pool, recording.clock),
      m_values(recording.pending, recording.clock, recording.place.threads),
      m_segmentInMemory(recording.segmentBytes(true)),
      m_segmentInFile(recording.segmentBytes(false)) {
  m_pending.whileWaiting([this] {
    if (m_status) m_status->beat();
  });
}

// Values of which most will be dropped (--on-hit) are not worth a file.
std::vector<WritingWay> TrainingSide::ways() const {
  const Recorder::Place& place = m_recording.place;
  std::vector<WritingWay> all = waysToWrite(m_recording.options.write, place.threads, place.ranks, place.run);
  if (!m_recording.spools()) return all;
  for (WritingWay& way : all) way.inTeam = false;
  all.erase(std::ranges::unique(all).begin(), all.end());
  return all;
}

// A new version of the graph, with what the rules say about its tensors.
core::Status TrainingSide::adopt(const core::Graph& graph, const std::string& bytes) {
  MSDBG_ASSIGN(Decisions decisions, Decisions::make(graph, m_recording.options, m_recording.place.rank));
  const auto plan =
      std::make_shared<const GraphPlan>(graph, static_cast<std::int64_t>(m_plans.size()),
                                        std::move(decisions), m_recording.options, m_recording.place.ranks);
  if (m_plans.empty() && m_recording.place.rank.value == 0) warnOfRules(graph);
  m_plans.emplace(bytes, plan);
  use(plan);
  m_recording.schedule.adopt(m_recording.options, m_plan->graph, m_recording.place.ranks);
  // Lines that are not durable yet are written with the first segment.
  if (m_recording.schedule.interval() > 0)
    (void)m_recording.journal->append(
        formatCheckpoints({m_recording.schedule.interval(), checkpointBytes(m_plan->graph)}));
  MSDBG_ASSIGN(const GraphLine line, writeGraphAtLast(m_recording.place, *m_plan, bytes));
  (void)m_recording.journal->append(formatGraph(line));
  return core::Ok{};
}

void TrainingSide::use(std::shared_ptr<const GraphPlan> plan) {
  m_apart = m_plan != nullptr;
  m_plan = std::move(plan);
  if (m_recording.hits) m_recording.hits->graphReady(m_plan);
  m_values.adopt(m_plan);
}

void TrainingSide::warnOfRules(const core::Graph& graph) const {
  for (const Rule& rule : m_recording.options.allRules())
    for (const core::Error& mistake : ruleMistakes(rule, graph))
      core::logWarn(mistake.in("the recording rule " + ruleText(rule)).message());
  if (!checkpointsTooLarge(m_recording.options, graph, m_recording.place.ranks)) return;
  core::logWarn("a checkpoint has " + core::formatBytes(checkpointBytes(graph)) +
                ", more than a quarter of what a rank may keep (" + core::formatBytes(m_recording.share()) +
                "): none is kept, so what is not stored cannot be computed again; raise --max-size");
}

// As fast as everything went so far, training and the disk's side.
double TrainingSide::checkpointCost() const {
  const RecordingTimes times = m_clock.times();
  const std::uint64_t bytes = times[Stage::kWrite].bytes;
  if (bytes == 0 || m_recorded == 0) return 0;
  double seconds = 0;
  for (const Stage stage : {Stage::kSnapshot, Stage::kHash, Stage::kCompress, Stage::kBuild, Stage::kWrite})
    seconds += times[stage].seconds;
  const double one =
      seconds / static_cast<double>(bytes) * static_cast<double>(checkpointBytes(m_plan->graph));
  return one / (times.wallSeconds / static_cast<double>(m_recorded));
}

void TrainingSide::waitForRoom() {
  const StageTimer timer(&m_clock, Stage::kWait, 0);
  m_pending.waitForRoom();
}

// Where values are dropped, a checkpoint goes with the iterations that are computed from it, not with those
// before it. `auto` has many of them where iterations are quick: a file for each would cost more than they
// do.
bool TrainingSide::checkpointBeginsSegment() {
  if (!m_checkpoint || !m_recording.limited) return false;
  const auto now = std::chrono::steady_clock::now();
  if (m_recording.schedule.isAuto() &&
      now - m_begun < std::chrono::duration<double>(m_recording.options.commitSeconds))
    return false;
  m_begun = now;
  return true;
}

void TrainingSide::beginRecord(core::Iteration iteration) {
  auto record = std::make_shared<IterationRecord>();
  record->beginsFile =
      m_rows.iterationStarted(m_pending, std::exchange(m_apart, false) || checkpointBeginsSegment());
  if (record->beginsFile) {
    const StageTimer timer(&m_clock, Stage::kWait, 0);
    m_pending.waitForFile();
  }
  m_diskShort = !hasRoom();
  if (m_diskShort) noRoomFor(iteration);
  m_pending.setSegmentBytes(m_rows.mayCopy() ? m_segmentInMemory : m_segmentInFile);
  m_recording.writing = m_rows.chosen();
  record->iteration = iteration.value;
  record->plan = m_plan;
  record->anew = std::exchange(m_anew, false);
  record->valuesDropped = m_diskShort;
  record->statistics.resize(m_plan->graph.tensors().size());
  record->seen.resize(m_plan->graph.tensors().size());
  m_pending.begin(std::move(record));
}

// Rows that are written while they come in have to find room before their own commit can make any; those
// before them do.
bool TrainingSide::hasRoom() {
  const bool needs = m_rows.writing().inTeam && !m_recording.onlyStatistics;
  const std::uint64_t wanted = m_rows.bytesAnIteration() + kToComplete;
  m_recording.wantedRoom = needs ? wanted + kUncounted : 0;
  if (!needs) return true;
  const auto fits = [&] {
    const auto disk = m_recording.place.disk(m_recording.folder);
    return !disk.ok() || spareBytes(*disk, m_recording.options.keepFree) >= wanted;
  };
  if (fits()) {
    m_waitedInVain = 0;
    return true;
  }
  if (m_waitedInVain == kTries) return false;  // a commit comes within a second; more would only slow
  const StageTimer timer(&m_clock, Stage::kWait, 0);
  m_pending.commitAll();
  const bool roomy = fits();
  m_waitedInVain = roomy ? 0 : m_waitedInVain + 1;
  return roomy;
}

void TrainingSide::noRoomFor(core::Iteration iteration) {
  const std::string text =
      m_recording.folder.string() + ": the disk has no room for the values of iteration " +
      std::to_string(iteration.value) + " (--keep-free): only statistics, until there is room again";
  m_saidDiskShort ? core::logInfo(text) : core::logWarn(text);
  m_saidDiskShort = true;
  if (m_checkpoint) m_recording.schedule.request();
}

// This iteration keeps its statistics only; where the disk is full, the oldest values go for the next.
void TrainingSide::failedToKeep(const core::Error& error, std::uint64_t bytes) {
  const auto disk = m_recording.place.disk(m_recording.folder);
  const std::shared_ptr<const IterationRecord> record = m_pending.current();
  if (!record || !m_rows.writing().inTeam || error.code() != core::ErrorCode::kIo)
    return m_recording.fail(error);
  m_diskShort = true;
  if (disk.ok() && disk->free < bytes) {
    noRoomFor(core::Iteration(record->iteration));
  } else if (!m_recording.mayLose()) {
    return m_recording.fail(error);
  } else {
    const std::string text =
        "iteration " + std::to_string(record->iteration) + " keeps its statistics only: " + error.message();
    m_recording.lostValues.exchange(true) ? core::logInfo(text) : core::logWarn(text);
  }
  m_rows.abandon(m_rows.bytesAnIteration() + bytes);
  m_pending.dropRows();
}

// Statistics that only conditions wanted.
void TrainingSide::forgetUnwanted(core::Iteration iteration) {
  std::vector<core::TensorId> hashes, flags, nothing;
  for (const core::TensorInfo& tensor : m_plan->graph.tensors()) {
    const Policy policy = m_plan->decisions.decide(tensor.id, iteration);
    if (policy == Policy::kRecord) hashes.push_back(tensor.id);
    if (policy == Policy::kFlags) flags.push_back(tensor.id);
    if (policy == Policy::kNone) nothing.push_back(tensor.id);
  }
  m_pending.forgetStatistics(hashes, flags, nothing);
}

RowKey TrainingSide::judgedAs(RowKey key) const {
  const core::TensorId parameter = m_plan->graph.tensor(core::TensorId(key.tensor)).updateOf;
  return parameter.valid() ? RowKey{key.section, parameter.value} : key;
}

// What is known is likely to lie in the file already.
bool TrainingSide::mayWriteAhead(const core::TensorReady& ready, const ValueObserver::Known& known) {
  if (keepsNone(ready.value) || known.values || ready.update || ready.observed) return false;
  return m_rows.mayWriteAhead(judgedAs({Section::kTensor, ready.tensor.value}), ready.value);
}

// One thread of the team writes while the others observe: writing is one thread's work.
core::TensorObservation TrainingSide::observeAndKeep(const core::TensorReady& ready,
                                                     const ValueObserver::Known& known) {
  const RowKey key{Section::kTensor, ready.tensor.value};
  if (!mayWriteAhead(ready, known)) {
    core::TensorObservation seen = m_values.observe(ready, known);
    keep(key, ready.value, std::exchange(seen.blocks, {}));
    return seen;
  }
  waitForRoom();  // not with the file's lock in hand
  std::optional<RowFile::Ahead> ahead;
  StageClock::Clock::duration wrote{};
  core::TensorObservation seen = m_values.observe(ready, known, [&] {
    const auto start = StageClock::Clock::now();
    if (auto written = m_rows.writeAhead(ready.value)) ahead.emplace(*std::move(written));
    wrote = StageClock::Clock::now() - start;
  });
  m_clock.add(Stage::kStatistics, -wrote, 0);  // what they took beyond it
  keep(key, ready.value, std::exchange(seen.blocks, {}), {}, std::move(ahead));
  return seen;
}

// `divisor`: the value is the source of an input.
void TrainingSide::keep(RowKey key, const core::Tensor& value, std::vector<core::Hash128> blocks,
                        std::optional<float> divisor, std::optional<RowFile::Ahead> ahead) {
  if (keepsNone(value)) return;
  if (!ahead) waitForRoom();
  core::Result<TensorRow> row = m_rows.take(judgedAs(key), value, std::move(blocks), std::move(ahead));
  if (!row.ok()) return failedToKeep(row.error(), value.bytes());
  if (SegmentWriter::ownChunks(value.bytes())) m_recording.wroteLarge = true;
  row->divisor = divisor;
  m_pending.addRow(key, std::move(row).value());
}

// What the iteration starts from: a part of the checkpoint, or of the batch in the form that the loader had.
void TrainingSide::keepForReplay(const core::TensorInfo& tensor, const core::Tensor& value) {
  if (inCheckpoint(tensor)) {
    if (m_checkpoint) keep({Section::kState, tensor.id.value}, value);
  } else if (m_plan->batches && value.bytes() > 0) {
    const RowKey key{Section::kBatch, tensor.id.value};
    const auto source = std::ranges::find(m_given, tensor.id, &core::GivenSource::input);
    if (source == m_given.end()) return keep(key, value);
    keep(key, source->source.values, {}, source->source.divisor);
  }
}

void TrainingSide::graphReady(const core::Graph& graph) {
  if (!m_pending.open()) return;
  core::Graph numbered = graph;  // equal graphs are equal files
  numbered.setVersion(0);
  const std::string bytes = core::serializeGraph(numbered);
  if (const auto known = m_plans.find(bytes); known != m_plans.end()) {
    if (known->second != m_plan) use(known->second);
    return;
  }
  const core::Status status = adopt(graph, bytes);
  if (!status.ok()) m_recording.fail(status.error());
}

void TrainingSide::stateSet(core::Iteration) { m_anew = true; }

void TrainingSide::sourcesGiven(core::Iteration iteration, std::span<const core::GivenSource> sources) {
  m_given.clear();
  if (m_plan && m_plan->batches && m_recording.options.records(iteration))
    m_given.assign(sources.begin(), sources.end());
}

// A second Trainer counts from 0 again. The reader shows of each iteration what was recorded last.
void TrainingSide::restarts(core::Iteration iteration) {
  m_anew = m_apart = true;
  const RestartLine line{iteration.value, m_newest};
  (void)m_recording.journal->append(formatRestart(line));
  if (m_recording.place.rank.value != 0 || std::exchange(m_saidRestart, true)) return;
  const std::string again = std::to_string(line.iteration) + "-" + std::to_string(line.newest);
  core::logWarn("training begins again at iteration " + std::to_string(line.iteration) +
                trainerPlace(m_plan->graph) + ", and iterations " + again +
                " are recorded already: the run will show what is recorded of them from now on, and no more "
                "what was. To keep both, record each training as a program of its own, or let the second "
                "Trainer count on: auto s = trainer.state(); s.iteration = msdbg::Iteration(" +
                std::to_string(line.newest + 1) + "); trainer.restore(s)");
}

// Nothing leads to it but a checkpoint of its own.
void TrainingSide::beginsAnew(core::Iteration iteration) {
  (void)m_recording.journal->append(formatSet({iteration.value}));
  m_recording.schedule.request();
}

void TrainingSide::iterationStarted(core::Iteration iteration) {
  m_selected = m_plan && m_recording.options.records(iteration) && m_pending.open();
  if (!m_selected) return;
  if (iteration.value <= m_finished) restarts(iteration);
  if (m_finished < 0) m_anew = false;  // nothing is
  if (m_anew) beginsAnew(iteration);
  m_checkpoint = m_recording.schedule.begin(iteration, [this] { return checkpointCost(); });
  ++m_recorded;
  m_values.iterationStarted(iteration);
  waitForRoom();
  m_clock.start();
  if (const core::Status here = m_recording.journal->checkPlace(); !here.ok())
    return m_recording.fail(here.error());
  beginRecord(iteration);
}

void TrainingSide::tensorReady(const core::TensorReady& ready) {
  if (!m_selected || !m_pending.open()) return;
  const core::TensorInfo& info = m_plan->graph.tensor(ready.tensor);
  if (info.isSource()) keepForReplay(info, ready.value);
  const Policy policy = m_plan->decisions.decide(ready.tensor, ready.iteration);
  const bool observed = needsStatistics(policy);
  if (policy == Policy::kNone && !observed) return;
  const bool isWritten = policy == Policy::kFull || (m_checkpoint && inCheckpoint(info));
  const ValueObserver::Known known = m_values.knownOf(ready, isWritten);
  if (policy == Policy::kFlags && !observed)
    return m_pending.addStatistics(ready.tensor.value, {m_values.flags(ready, known), {}, {}});
  if (!observed) return m_pending.addStatistics(ready.tensor.value, hashOnly(m_values.hash(ready, known)));
  const core::TensorObservation seen =
      policy == Policy::kFull ? observeAndKeep(ready, known) : m_values.observe(ready, known);
  m_pending.addStatistics(ready.tensor.value, {seen.values, seen.change, seen.activation});
}

// As tensorReady() will want it. A hash comes with the statistics.
core::ValueWish TrainingSide::valueWish(core::Iteration iteration, core::TensorId tensor) const {
  if (!m_selected || !m_pending.open()) return {.value = false};
  const core::TensorInfo& info = m_plan->graph.tensor(tensor);
  const Policy policy = m_plan->decisions.decide(tensor, iteration);
  core::ValueWish wish;
  wish.value = policy == Policy::kFull || (m_checkpoint && inCheckpoint(info));
  wish.statistics = policy != Policy::kNone || needsStatistics(policy);
  if (const auto& range = m_plan->activation[tensor.index()]) wish.range = {range->start, range->end};
  return wish;
}

core::UpdateWish TrainingSide::updateWish(core::Iteration iteration, core::TensorId tensor) const {
  if (!m_selected || !m_pending.open()) return core::UpdateWish::kNothing;
  const Policy policy = m_plan->decisions.decide(tensor, iteration);
  return needsStatistics(policy) ? core::UpdateWish::kStatistics : core::UpdateWish::kNothing;
}

void TrainingSide::kernelStarted(core::Iteration iteration, core::KernelId kernel) {
  if (!m_plan || kernel.index() >= m_plan->graph.kernels().size()) return;
  const core::Kernel& running = m_plan->graph.kernels()[kernel.index()];
  if (running.nodes.empty()) return;
  const core::Node& node = m_plan->graph.node(running.nodes.front());
  m_status->set(iteration.value, node.id.value, node.name, node.phase == core::Phase::kCollective);
}

void TrainingSide::iterationFinished(core::Iteration iteration, const core::Scalars& scalars) {
  m_status->set(iteration.value, -1, "", false);
  // All ranks ask each other here, whatever became of this one's recording.
  const std::shared_ptr<const IterationRecord> record = m_selected ? m_pending.current() : nullptr;
  const bool hit = m_recording.hits && m_recording.options.records(iteration) &&
                   m_recording.hits->finished(iteration, record.get());
  if (!m_selected) return;
  m_finished = iteration.value;
  m_newest = std::max(m_newest, m_finished);
  if (record && !m_recording.spools()) m_recording.firstFault.finished(*record);
  m_selected = false;
  m_given.clear();
  if (m_recording.hits) forgetUnwanted(iteration);
  m_pending.finish(scalars);
  if (hit) m_pending.requestCommit();
  waitForRoom();
}

// Of an iteration that is not recorded too. No write of its own: it may be one of very many.
void TrainingSide::metricsGiven(core::Iteration iteration, const core::Scalars& metrics) {
  if (iteration.valid() && m_pending.open())
    m_recording.journal->appendLater(formatMetrics({iteration.value, metrics}));
}

}  // namespace msdbg::dump
