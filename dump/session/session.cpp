#include "dump/session/session.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#include "core_engine/base/log.h"
#include "core_engine/base/text.h"
#include "core_engine/distributed/communicators.h"
#include "dump/end_text.h"
#include "dump/hits/hit_votes.h"
#include "dump/session/exit_status.h"
#include "dump/session/program_end.h"
#include "dump/session/rank_watch.h"
#include "dump/session/run_control.h"
#include "dump/session/run_end.h"
#include "dump/session/run_folders.h"
#include "dump/session/run_start.h"
#include "dump/session/session_settings.h"
#include "dump/session/uncaught.h"
#include "dump/writer/recorder.h"

namespace msdbg::dump {

namespace fs = std::filesystem;
using core::Communicator;
using core::Error;
using core::ErrorCode;
using core::Iteration;
using core::Ok;
using core::Rank;
using core::Result;
using core::Status;

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <typename T>
T orThrow(Result<T> result) {
  return std::move(result).orThrow();
}

// What somebody typed wrong has a status of its own, as of a command.
template <typename T>
T orRefuse(Result<T> result) {
  if (!result.ok() && result.error().code() == ErrorCode::kUsage)
    throw UsageFailure(result.error().message());
  return orThrow(std::move(result));
}

void orThrow(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.error().message());
}

std::string counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

fs::path rankFolder(const fs::path& run, Rank rank) { return run / ("rank_" + std::to_string(rank.value)); }

// What ranks must have in common to decide on hits in the same way.
std::string decisionsText(const RecordOptions& options) {
  if (!options.onHit.on()) return "";
  return options.onHit.text() + "; every " + std::to_string(options.every) + " of " +
         options.iterations.text();
}

// Passes everything on to the recorder, and tells the launcher how far training is.
class SessionObserver : public core::Observer {
 public:
  SessionObserver(Recorder& recorder, RunControl* control) : m_recorder(recorder), m_control(control) {}

  void graphReady(const core::Graph& graph) override { m_recorder.graphReady(graph); }
  void sourcesGiven(Iteration iteration, std::span<const core::GivenSource> sources) override {
    m_recorder.sourcesGiven(iteration, sources);
  }
  void stateSet(Iteration iteration) override { m_recorder.stateSet(iteration); }
  void iterationStarted(Iteration iteration) override { m_recorder.iterationStarted(iteration); }
  void tensorReady(const core::TensorReady& ready) override { m_recorder.tensorReady(ready); }
  core::ValueWish valueWish(core::Iteration iteration, core::TensorId tensor) override {
    return m_recorder.valueWish(iteration, tensor);
  }
  core::UpdateWish updateWish(Iteration iteration, core::TensorId tensor) override {
    return m_recorder.updateWish(iteration, tensor);
  }
  void kernelStarted(Iteration iteration, core::KernelId kernel) override {
    m_recorder.kernelStarted(iteration, kernel);
  }
  void iterationFinished(Iteration iteration, const core::Scalars& scalars) override {
    m_recorder.iterationFinished(iteration, scalars);
    const auto loss = std::ranges::find(scalars, "loss", &core::Scalars::value_type::first);
    if (m_control)
      m_control->setProgress(
          {iteration.value + 1, loss == scalars.end() ? std::nullopt : std::optional(loss->second)});
  }
  void metricsGiven(Iteration iteration, const core::Scalars& metrics) override {
    m_recorder.metricsGiven(iteration, metrics);
  }

 private:
  Recorder& m_recorder;
  RunControl* m_control;
};

// What this rank says of those on its machine while it waits for them in a collective. A launcher sees deaths
// and hangs itself, and ends the run in better order. That one has ended too early the communicator says.
class PeerWatch {
 public:
  PeerWatch(const fs::path& run, Rank self, const std::vector<Rank>& peers, const RecordOptions& options)
      : m_self(self), m_kills(options.watchdogKills) {
    for (const Rank peer : peers)
      m_watches.emplace_back(rankFolder(run, peer), peer, options.watchdogSeconds);
    for (RankWatch& watch : m_watches) watch.look(now());
  }

  std::string look() {
    for (RankWatch& watch : m_watches) {
      const std::string text = complaint(watch, watch.look(now()));
      if (!text.empty()) {
        m_culprit = watch.rank();
        return text;
      }
    }
    return {};
  }
  /// The rank that the last complaint was about is the one that ended the run.
  void blame(RunEnd& end) const {
    for (const RankWatch& watch : m_watches)
      if (watch.rank() == m_culprit) setPlace(end, watch.rank(), watch.status());
  }

 private:
  std::string complaint(const RankWatch& watch, RankWatch::State state) {
    const std::string rank = "rank " + std::to_string(watch.rank().value);
    if (state == RankWatch::State::kDied) return rank + " died " + placeText(*watch.status());
    if (state != RankWatch::State::kHangs && state != RankWatch::State::kIdle) {
      m_said.erase(watch.rank());
      return {};
    }
    const std::string text = rank + " hangs " + placeText(*watch.status()) + " (no progress for " +
                             std::to_string(static_cast<int>(watch.stillSeconds())) + " s)";
    if (m_kills) return text;
    // It may be writing a checkpoint.
    if (m_said.insert(watch.rank()).second && isFirstBut(watch.rank()))
      core::logWarn(text + "; waiting on (watchdog_kill in MSDBG_DUMP_CONFIG's file would end the run)");
    return {};
  }

  /// Of those that wait on this machine one says it.
  bool isFirstBut(Rank except) const {
    return std::ranges::all_of(
        m_watches, [&](const RankWatch& other) { return other.rank() == except || m_self <= other.rank(); });
  }

  Rank m_self;
  bool m_kills;
  std::set<Rank> m_said;
  std::vector<RankWatch> m_watches;
  Rank m_culprit;
};

// MPI, the handlers of signals and the run folder are one for the whole process.
class OnlySession {
 public:
  OnlySession() {
    if (s_there.exchange(true))
      throw std::runtime_error(
          "this program has a msdbg::Session already: a program makes one, at its start, and gives it to "
          "whoever trains");
  }
  ~OnlySession() { s_there = false; }
  OnlySession(const OnlySession&) = delete;
  OnlySession& operator=(const OnlySession&) = delete;

 private:
  static inline std::atomic<bool> s_there{false};
};

}  // namespace

struct Session::Impl {
  OnlySession only;
  SessionSettings settings;
  std::unique_ptr<Communicator> communicator;
  int threads = 1;
  RunFolders folders;
  std::unique_ptr<RunControl> control;
  std::unique_ptr<Recorder> recorder;
  std::unique_ptr<SessionObserver> observer;
  std::shared_ptr<PeerWatch> peers;
  std::unique_ptr<ProgramEnd> programEnd;
  std::once_flag ended;
  std::string failure;  // given by fail()
  std::optional<Iteration> firstDone, lastDone;
  std::string failedStep;         // what a step threw, none has finished since
  Iteration failedIteration{-1};  // of that step

  Rank rank() const { return communicator->rank(); }
  int ranks() const { return communicator->size(); }

  void start(int argc, char** argv);
  void startRecording();
  void end(RunEnd end);
  void blame(RunEnd& how) const;
  void recorderFailed(RunEnd& how, const std::string& why);
  void finishRunInfo(const RunEnd& end);
  void sayStart() const;
  void sayEnd(const RunEnd& end) const;
  void sayIdleFaults(const RunEnd& end) const;
  bool stopOnHit() const;
  RunEnd endInGoodOrder() const;
  std::string whyFailed() const;
  bool stopsOnError() const;
};

void Session::Impl::start(int argc, char** argv) {
  reportUncaughtFailures();
  settings = orRefuse(SessionSettings::read(argc, argv));
  communicator = orThrow(core::makeCommunicator());
  const int cores = std::max(1u, std::thread::hardware_concurrency());
  threads = settings.threads > 0 ? settings.threads : std::max(1, cores / ranks());
  omp_set_num_threads(threads);
  if (!settings.run.empty()) startRecording();
}

void Session::Impl::startRecording() {
  settings.run = fs::absolute(settings.run);  // the program may change its folder
  folders = orThrow(makeRunFolders(*communicator, settings, threads));
  if (!folders.refused.empty()) {
    uncaughtFailureIsTold();
    throw std::runtime_error(folders.refused);
  }
  if (!settings.control.empty()) control = orThrow(RunControl::open(settings.control));
  orThrow(agreeOnText(*communicator, decisionsText(settings.options), "on_hit, every or iterations"));
  recorder = orThrow(
      Recorder::create({settings.run, rank(), ranks(), threads, communicator.get()}, settings.options));
  observer = std::make_unique<SessionObserver>(*recorder, rank() == Rank(0) ? control.get() : nullptr);
  if (ranks() > 1) orThrow(communicator->barrier());  // from here on a missing status file means an end
  if (ranks() > 1 && !settings.launcher) {
    peers = std::make_shared<PeerWatch>(settings.run, rank(), folders.neighbours, settings.options);
    communicator->setWatchdog([watch = peers](double) { return watch->look(); });
  }
  programEnd = std::make_unique<ProgramEnd>([this](const RunEnd& how) { end(how); });
  sayStart();
}

// Called once, by the training thread or by ProgramEnd's.
void Session::Impl::end(RunEnd how) {
  std::call_once(ended, [&] {
    if (!how.onHit()) setPlace(how, rank(), readRankStatus(rankFolder(settings.run, rank())));
    // A step may be refused before its iteration begins: the last that began is not the one that failed.
    if (how.state == "failed" && !failedStep.empty() && how.iteration.value_or(-1) < failedIteration.value)
      how.iteration = failedIteration.value, how.node.clear();
    if (how.state == "failed") blame(how);
    const Status recorded = recorder->finish(how);  // logs a failure itself
    if (!recorded.ok()) recorderFailed(how, recorded.error().message());
    if (!settings.launcher || folders.mine) finishRunInfo(how);
    if (recorded.ok() && settings.launcher) uncaughtFailureIsTold();  // it reads it there
    if (programEnd) programEnd->recorded();
  });
}

// Who is to blame is not always who fails. A rank that ended early is missed where the others wait for it.
void Session::Impl::blame(RunEnd& how) const {
  if (peers) peers->blame(how);
  if (const std::optional<Rank> missed = communicator->missed()) how.rank = missed->value;
}

// The program goes on to its end; its exit status is to tell if nothing else does.
void Session::Impl::recorderFailed(RunEnd& how, const std::string& why) {
  const std::string what =
      recorder->status().ok() ? "the recording is not complete: " : "the recorder failed: ";
  how.message += (how.message.empty() ? "" : "; ") + what + why;
  if (control) control->setRecorderFailed(static_cast<int>(rank().value), what + why);
  ProgramEnd::setExitStatus(1);
}

// Whoever writes it says it.
void Session::Impl::finishRunInfo(const RunEnd& how) {
  const bool recordedWell = recorder->status().ok();
  const Result<ToldEnd> told =
      tellRunEnd({settings.run, folders.id, rank(), ranks(), folders.mine, recordedWell}, how);
  if (told.ok() && told->failedBefore) uncaughtFailureIsTold();
  if (told.ok() && told->end) sayEnd(*told->end);
  if (told.ok()) return;
  const bool another = folders.mine && told.error().code() == ErrorCode::kMissing;
  if (recordedWell || another) core::logError(told.error().message());  // else told already
}

// As `msdbg dump` says it. The program's own output stays its own: all of this goes to stderr.
void Session::Impl::sayStart() const {
  if (settings.launcher || rank() != Rank(0)) return;
  core::logSay("recording " + counted(ranks(), "rank") + " x " + counted(threads, "thread") + " into " +
               settings.run.string());
}

void Session::Impl::sayEnd(const RunEnd& how) const {
  if (settings.launcher) return;
  uncaughtFailureIsTold();
  const std::string run = settings.run.string();
  if (how.state == "failed" || how.state == "killed")
    return core::logError(how.message + "; what was recorded is in " + run + ": msdbg check " +
                          core::shellQuoted(run));
  const std::int64_t done = lastDone ? lastDone->value - firstDone->value + 1 : 0;
  core::logSay((how.message.empty() ? how.state : how.message) + ", " + counted(done, "iteration") +
               "; next: msdbg check " + core::shellQuoted(run));
}

// Under a launcher that one says it, of all ranks.
void Session::Impl::sayIdleFaults(const RunEnd& how) const {
  if (settings.launcher || how.state != "finished") return;
  for (const core::FaultSpec& fault : settings.faults) {
    const bool noSuchRank = fault.rank && fault.rank->value >= ranks();
    if (rank() != (noSuchRank ? Rank(0) : fault.rank.value_or(Rank(0)))) continue;
    const std::string why =
        noSuchRank ? "fault '" + fault.text + "' never acts: there is no such rank"
                   : whyNeverActed(fault, firstDone.value_or(Iteration(0)), lastDone.value_or(Iteration(-1)));
    if (why.empty()) continue;
    core::logError(why);
    ProgramEnd::setExitStatus(kUsageStatus);
  }
}

bool Session::Impl::stopsOnError() const { return recorder && recorder->endsTraining(); }

// All ranks say the same: the hit is that of any of them.
bool Session::Impl::stopOnHit() const { return settings.options.onHit.stop && recorder->hitWindowDone(); }

RunEnd Session::Impl::endInGoodOrder() const {
  RunEnd how;
  if (settings.options.onHit.stop) how = recorder->firstHit().value_or(how);
  how.state = stopOnHit() ? "stopped" : "finished";
  if (const int signal = programEnd ? programEnd->stopSignal() : 0) {
    how = {};
    how.state = "stopped";
    how.signal = signal;
    how.message = "stopped by signal " + signalText(signal);
  } else if (stopsOnError()) {
    how.state = "stopped";
    how.message = "stopped because recording failed (--on-error)";
  } else if (std::uncaught_exceptions() > 0 || !failure.empty() || !failedStep.empty()) {
    how = {};
    how.state = "failed";
    how.message = whyFailed();
  }
  return how;
}

std::string Session::Impl::whyFailed() const {
  if (!failure.empty()) return failure;
  if (!failedStep.empty()) return failedStep;
  return "an exception ended training; the program caught it further out";
}

Session::Session(int argc, char** argv) : m_impl(std::make_unique<Impl>()) { m_impl->start(argc, argv); }

Session::~Session() {
  const RunEnd how = m_impl->endInGoodOrder();
  m_impl->sayIdleFaults(how);
  if (!m_impl->recorder) return;
  m_impl->end(how);
  if (!m_impl->settings.launcher && how.state == "finished") {
    RunEnd place = how;
    if (m_impl->lastDone) place.iteration = m_impl->lastDone->value;
    noteExitStatus(m_impl->settings.run, m_impl->folders.id, m_impl->rank(), m_impl->ranks(), place);
  }
  const int signal = m_impl->programEnd->stopSignal();
  m_impl->programEnd.reset();
  if (signal) ProgramEnd::endBySignal(signal);
}

core::Communicator& Session::communicator() { return *m_impl->communicator; }
core::Observer* Session::observer() { return m_impl->observer.get(); }
std::uint64_t Session::seed() const { return m_impl->settings.seed; }
int Session::threads() const { return m_impl->threads; }
core::BackendKind Session::backend() const { return m_impl->settings.backend; }
const std::vector<core::FaultSpec>& Session::faults() const { return m_impl->settings.faults; }
std::int64_t Session::steps(std::int64_t fallback) const { return m_impl->settings.steps.value_or(fallback); }
core::PlanChoices Session::planChoices() const { return m_impl->settings.plan; }
bool Session::recording() const { return m_impl->recorder != nullptr; }

void Session::stepFinished(Iteration iteration) {
  if (!m_impl->firstDone) m_impl->firstDone = iteration;
  m_impl->lastDone = iteration;
  m_impl->failedStep.clear();
}

void Session::stepFailed(Iteration iteration, const std::string& what) {
  m_impl->failedStep = what;
  m_impl->failedIteration = iteration;
}

bool Session::stopRequested() {
  if (!m_impl->programEnd) return false;
  const bool stop = m_impl->programEnd->stopSignal() != 0 || m_impl->stopOnHit() || m_impl->stopsOnError();
  if (stop)
    m_impl->end(m_impl->endInGoodOrder());  // committed now; what the program does after this may take long
  return stop;
}

void Session::fail(const std::string& message) {
  m_impl->failure = message.empty() ? "failed" : message;
  if (m_impl->recorder) m_impl->end(m_impl->endInGoodOrder());
}

}  // namespace msdbg::dump
