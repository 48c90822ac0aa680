#include "dump/writer/recorder.h"

#include <signal.h>

#include "core_engine/base/log.h"
#include "dump/commit_file.h"
#include "dump/writer/disk_side.h"
#include "dump/writer/training_side.h"

namespace msdbg::dump {

struct Recorder::Impl {
  Recording recording;
  TrainingSide training;
  DiskSide disk;
  std::mutex finishMutex;

  Impl(const Place& place, const RecordOptions& options, std::shared_ptr<JournalWriter> journal,
       std::unique_ptr<HitWatch> hits, std::unique_ptr<RankStatusWriter> status)
      : recording(place, options, std::move(journal), std::move(hits)),
        training(recording, std::move(status)),
        disk(recording) {}
};

static bool endedWell(const RunEnd& end) { return end.state == "finished" || end.state == "stopped"; }

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
  MSDBG_ASSIGN(std::unique_ptr<RankStatusWriter> status, RankStatusWriter::create(folder));
  auto impl = std::make_unique<Impl>(place, options, std::move(journal), std::move(hits), std::move(status));
  impl->disk.start();
  return std::unique_ptr<Recorder>(new Recorder(std::move(impl)));
}

Recorder::Recorder(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}

Recorder::~Recorder() {
  RunEnd end;
  end.state = "finished";
  (void)finish(end);  // a failure was logged, and status() told it to whoever asked
}

void Recorder::graphReady(const core::Graph& graph) { m_impl->training.graphReady(graph); }

void Recorder::sourcesGiven(core::Iteration iteration, std::span<const core::GivenSource> sources) {
  m_impl->training.sourcesGiven(iteration, sources);
}

void Recorder::stateSet(core::Iteration iteration) { m_impl->training.stateSet(iteration); }
void Recorder::iterationStarted(core::Iteration iteration) { m_impl->training.iterationStarted(iteration); }

void Recorder::tensorReady(const core::TensorReady& ready) { m_impl->training.tensorReady(ready); }
core::ValueWish Recorder::valueWish(core::Iteration iteration, core::TensorId tensor) {
  return m_impl->training.valueWish(iteration, tensor);
}

core::UpdateWish Recorder::updateWish(core::Iteration iteration, core::TensorId tensor) {
  return m_impl->training.updateWish(iteration, tensor);
}

void Recorder::kernelStarted(core::Iteration iteration, core::KernelId kernel) {
  m_impl->training.kernelStarted(iteration, kernel);
}

void Recorder::iterationFinished(core::Iteration iteration, const core::Scalars& scalars) {
  m_impl->training.iterationFinished(iteration, scalars);
}

void Recorder::metricsGiven(core::Iteration iteration, const core::Scalars& metrics) {
  m_impl->training.metricsGiven(iteration, metrics);
}

core::Status Recorder::finish(const RunEnd& end) {
  Impl& impl = *m_impl;
  const std::lock_guard lock(impl.finishMutex);
  if (!impl.disk.started()) return status();
  if (impl.recording.hits && endedWell(end)) impl.recording.hits->windows().close();
  impl.recording.pending.close();
  const bool here = impl.disk.finish(end);
  if (endedWell(end) && here) impl.training.removeStatus();
  return status().ok() ? impl.disk.completeness() : status();
}

void Recorder::requestCommit() noexcept { m_impl->recording.pending.requestCommit(); }

std::optional<RunEnd> Recorder::firstHit() const {
  const auto& hits = m_impl->recording.hits;
  return hits ? hits->firstHit() : std::nullopt;
}

bool Recorder::hitWindowDone() const {
  return m_impl->recording.hits && m_impl->recording.hits->windowDone();
}

core::Status Recorder::status() const { return m_impl->recording.pending.status(); }

bool Recorder::endsTraining() const { return m_impl->recording.gaveUp; }

std::uint64_t Recorder::bytesWritten() const { return m_impl->disk.bytesWritten(); }

RecordingTimes Recorder::times() const { return m_impl->recording.times(); }

void Recorder::setMesh(const std::vector<MeshAxis>& axes) {
  (void)m_impl->recording.journal->append(formatMesh(axes));  // durable with the next segment
}

void Recorder::spent(Stage stage, double seconds, std::uint64_t bytes) {
  const std::chrono::duration<double> took(seconds);
  m_impl->recording.clock.add(stage, std::chrono::duration_cast<StageClock::Clock::duration>(took), bytes);
}

}  // namespace msdbg::dump
