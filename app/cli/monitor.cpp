#include "app/cli/monitor.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "app/cli/attempts.h"
#include "app/cli/command.h"
#include "app/cli/python_stacks.h"
#include "app/cli/rank_folders.h"
#include "app/cli/started_ranks.h"
#include "core_engine/base/log.h"
#include "core_engine/base/text.h"
#include "dump/end_text.h"
#include "dump/session/rank_watch.h"
#include "replay/formats/msdbg/died_at.h"

namespace msdbg::app {

namespace fs = std::filesystem;
using dump::RankWatch;
using dump::RunEnd;
using dump::signalText;
using State = dump::RankWatch::State;

namespace {

constexpr auto kPoll = std::chrono::milliseconds(50);
constexpr auto kStacksPatience = std::chrono::seconds(3);
constexpr double kGraceSeconds = 5;  // from SIGTERM to SIGKILL

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int shellStatus(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

class Monitor {
 public:
  Monitor(Launch& launch, const MonitorOptions& options)
      : m_launch(launch),
        m_options(options),
        m_place{options.run, options.id, 1},
        m_started(launch, options.run) {
    watchRanks(launch.ranks());
  }

  Outcome run() {
    while (!m_launch.over()) {
      std::this_thread::sleep_for(kPoll);
      if (m_launch.ranks() == 1) lookForRanks(false);
      if (!m_endingSince)
        lookForTrouble();
      else if (now() - *m_endingSince > kGraceSeconds)
        m_launch.kill();
      if (m_options.progress) m_options.progress(m_launch.control().progress());
    }
    if (m_launch.ranks() == 1) lookForRanks(true);
    if (!m_trouble && programStartsRanks()) startedRanksEnded();
    if (!m_trouble) lookAtExits(true);
    if (!m_trouble && m_launch.launcherFailure()) launcherFailed(*m_launch.launcherFailure());
    if (!m_trouble) finished();
    m_trouble->last = m_place;
    m_trouble->before = std::move(m_before);
    return *m_trouble;
  }

 private:
  int ranks() const { return static_cast<int>(m_watches.size()); }

  // Then the process that msdbg started is no rank.
  bool programStartsRanks() const { return m_launch.ranks() == 1 && (m_started.any() || ranks() > 1); }

  void watchRanks(int count) {
    for (int rank = ranks(); rank < count; ++rank)
      m_watches.emplace_back(rankFolder(m_place.run, rank), core::Rank(rank), m_options.watchdogSeconds);
  }

  // Those that the program starts itself. Reading the directory costs more than looking at the status files.
  void lookForRanks(bool programEnded) {
    std::error_code ignored;
    if (programEnded || m_polls % 8 == 0) followRestarts();
    if (fs::exists(rankFolder(m_place.run, ranks()), ignored)) watchRanks(ranks() + 1);
    if (programEnded || m_polls++ % 8 == 0) watchRanks(m_started.count());
    std::vector<State> states;
    for (RankWatch& watch : m_watches) states.push_back(watch.look(now()));
    m_started.look(m_watches, states, programEnded);
    sayLost();
  }

  // The program was started again: what is watched from now on is the recording of that.
  void followRestarts() {
    if (m_options.id.empty()) return;
    while (const auto next = nextAttempt(m_options.run, m_options.id, m_place.number)) {
      m_before.push_back({m_place, endOfAttempt()});
      m_place = *next;
      m_watches.clear();
      m_started.startAgain(m_place.run);
      m_stall.reset();
      m_saidLost = 0;
    }
    if (m_watches.empty()) watchRanks(1);
  }

  // Of one that was given up, or came to its end before the next began.
  RunEnd endOfAttempt() {
    RunEnd end;
    if (const std::optional<StartedRanks::Lost> lost = m_started.firstLost())
      return lostRank(end, *lost), end;
    const std::optional<RunEnd> own = journalEnd(m_place.run, 0);
    if (own && own->state == "finished") return *own;
    end.state = "stopped";
    end.message = "the program was started again";
    return end;
  }

  // Once for each; not where the program is ending already.
  void sayLost() {
    const std::optional<StartedRanks::Lost> lost = m_started.seenLost();
    if (lost && lost->silent() && lost->pid != m_saidLost && !m_endingSince && !m_launch.over())
      core::logWarn(lostText(*lost) + "; waiting for the program to end, or to start it again");
    m_saidLost = lost ? lost->pid : 0;
  }

  void lookForTrouble() {
    if (m_options.cancel.cancelled())
      interrupted();
    else if (!lookAtExits(false))
      lookAtProgress();
    if (!m_trouble) return;
    m_endingSince = now();
    m_launch.signalRanks(SIGTERM);
  }

  std::string name(int rank) const { return dump::rankName(core::Rank(rank), ranks()); }
  std::string place(int rank) const {
    const auto& status = m_watches[static_cast<std::size_t>(rank)].status();
    return status ? " " + dump::placeText(*status) : "";
  }

  void trouble(RunEnd end, int exitStatus) { m_trouble = Outcome{end, exitStatus, end.message}; }

  // Of a run that stood still that is what somebody wants to know later, not that he ended it.
  void interrupted() {
    RunEnd end = m_stall.value_or(RunEnd{});
    if (!m_stall) end.state = "stopped";
    end.signal = interruptSignal();
    const std::string by =
        *end.signal == SIGINT ? "stopped by Ctrl-C" : "stopped by signal " + signalText(*end.signal);
    end.message += (m_stall ? "; " : "") + by;
    trouble(end, 128 + *end.signal);
  }

  // A rank that ended badly. One that only says it lost another is not the reason, if the reason is there
  // too.
  // Where only the recorder failed, the others are left to end in their own time.
  bool lookAtExits(bool allEnded) {
    if (programStartsRanks()) return false;  // what was started is no rank; it is waited for
    std::optional<int> found;
    for (int rank = 0; rank < m_launch.ranks(); ++rank) {
      const std::optional<int> status = m_launch.rankStatus(rank);
      if (!status || *status == 0 || (!allEnded && onlyRecorderFailed(rank, *status))) continue;
      const std::optional<RunEnd> own = journalEnd(m_place.run, rank);
      const bool blamesOther = own && own->state == "failed" && own->rank && *own->rank != rank;
      if (!found || !blamesOther) found = rank;
      if (!blamesOther) break;
    }
    if (found) rankEnded(*found, *m_launch.rankStatus(*found));
    return found.has_value();
  }

  bool onlyRecorderFailed(int rank, int status) const {
    return shellStatus(status) == kExitDamaged && m_launch.control().process(rank).recorderFailure;
  }

  void rankEnded(int rank, int status) {
    m_watches[static_cast<std::size_t>(rank)].look(now());  // what it left behind
    const std::optional<RunEnd> own = journalEnd(m_place.run, rank);
    RunEnd end;
    dump::setPlace(end, core::Rank(rank), m_watches[static_cast<std::size_t>(rank)].status());
    if (own && own->iteration) end.rank = own->rank, end.node = own->node, end.iteration = own->iteration;
    end.exitStatus = shellStatus(status);
    if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
    if (onlyRecorderFailed(rank, status)) return recorderFailed(rank);
    if (const std::optional<int> other = own && own->state == "finished" ? waitingRank(rank) : std::nullopt)
      return leftOthers(end, rank, *other);
    describe(end, rank, own);
    trouble(end, shellStatus(status));
  }

  // One that is inside a collective now.
  std::optional<int> waitingRank(int except) {
    for (int rank = 0; rank < m_launch.ranks(); ++rank)
      if (rank != except && m_watches[static_cast<std::size_t>(rank)].look(now()) == State::kWaiting)
        return rank;
    return std::nullopt;
  }

  // Its recording is whole and its training over, but MPI does not end while others need it: that is a status
  // of MPI's, which means nothing to anybody.
  void leftOthers(RunEnd end, int rank, int other) {
    end.state = "failed";
    end.message = fmt::format(
        "{} ended{} while {} waits for it{}: every rank has to take the same steps", name(rank),
        end.iteration ? fmt::format(" after iteration {}", *end.iteration) : "", name(other), place(other));
    trouble(end, kExitDamaged);
  }

  // Ctrl-C and SIGTERM that the program itself got are no failures. The reason of one that blames another
  // says both by name.
  void describe(RunEnd& end, int rank, const std::optional<RunEnd>& own) const {
    if (own && own->state == "stopped" && !own->message.empty()) {
      end.state = own->state;
      end.message = own->message;
      return;
    }
    const bool hasReason = own && !own->message.empty() && own->state == "failed";
    if (hasReason) end.message = own->message;
    end.state = end.signal && !hasReason ? "killed" : "failed";
    if (hasReason && end.rank != rank) return;
    end.message = dump::failureText(end, core::Rank(rank), ranks());
  }

  // The rank has said it on stderr, when it happened.
  void recorderFailed(int rank) {
    RunEnd end;
    end.state = m_options.stopOnRecorderFailure ? "stopped" : "finished";
    const std::string why = *m_launch.control().process(rank).recorderFailure;
    end.message = fmt::format("{}: {}", name(rank), why);
    trouble(end, kExitDamaged);
    m_trouble->error = fmt::format("{}: {} (see above)", name(rank), why.substr(0, why.find(':')));
  }

  void lookAtProgress() {
    bool someoneWorks = false;
    std::optional<int> hanging;
    for (std::size_t rank = 0; rank < m_watches.size(); ++rank) {
      const State state = m_watches[rank].look(now());
      if (state == State::kHangs && !hanging) hanging = static_cast<int>(rank);
      someoneWorks |= state == State::kWorking || state == State::kUnknown || state == State::kEnded ||
                      (state == State::kDied && !programStartsRanks()) ||  // its exit is about to be seen
                      m_watches[rank].stillSeconds() <= m_options.watchdogSeconds;
    }
    if (hanging)
      standsStill(hangs(*hanging));
    else if (!someoneWorks && m_options.watchdogSeconds > 0)
      standsStill(nobodyWorks());
    else if (std::exchange(m_stall, std::nullopt))
      core::logWarn("training goes on");
  }

  void standsStill(RunEnd end) {
    if (!m_stall) {
      if (!m_options.watchdogKills)
        core::logWarn(end.message +
                      "; msdbg goes on waiting (--watchdog-kill would end the run, Ctrl-C does)");
      m_stallPlaces = sayStacks();
    }
    end.message += m_stallPlaces;
    if (m_options.watchdogKills) return trouble(end, 128 + SIGTERM);
    m_stall = end;
  }

  // Of programs in Python; others do not answer, and Ctrl-C is not kept waiting. "; rank 1 is at train.py:14
  // …" of all that do: who waits is easily taken for who hangs.
  std::string sayStacks() {
    if (!m_options.asksStacks) return "";
    const auto found = stacksOf(m_place.run, m_watches.size(), kStacksPatience);
    if (!found.ok()) {
      core::logWarn("where the ranks are cannot be asked: " + found.error().message());
      return "";
    }
    std::string all;
    for (const RankStacks& rank : *found) {
      const std::string text = fmt::format("{} is at {}", name(rank.rank), core::printable(rank.place()));
      core::logWarn(text);
      all += "; " + text;
    }
    if (!found->empty())
      core::logWarn("all of their frames: msdbg stacks " + core::printable(m_place.run.string()));
    return all;
  }

  RunEnd hangs(int rank) const {
    RunEnd end;
    end.state = "failed";
    dump::setPlace(end, core::Rank(rank), m_watches[static_cast<std::size_t>(rank)].status());
    end.message = fmt::format("{} hangs{} (no progress for {:.0f} s)", name(rank), place(rank),
                              m_watches[static_cast<std::size_t>(rank)].stillSeconds());
    return end;
  }

  // Who waits in a collective waits for those that do not: these are named first, and the first of them as
  // the place where the run ended.
  RunEnd nobodyWorks() {
    RunEnd end;
    end.state = "failed";
    std::vector<std::string> still, waiting;
    for (int rank = 0; rank < ranks(); ++rank) {
      RankWatch& watch = m_watches[static_cast<std::size_t>(rank)];
      const State state = watch.look(now());
      if (state == State::kDied || state == State::kEnded) continue;  // of those that the program started
      if (state == State::kWaiting) {
        waiting.push_back(name(rank) + " waits" + place(rank));
        continue;
      }
      if (still.empty()) dump::setPlace(end, core::Rank(rank), watch.status());
      still.push_back(name(rank) + " stands still" + place(rank) + " (in the program's own code)");
    }
    still.insert(still.end(), waiting.begin(), waiting.end());
    end.message =
        fmt::format("no progress for {:.0f} s: {}", m_options.watchdogSeconds, core::join(still, ", "));
    return end;
  }

  std::string lostText(const StartedRanks::Lost& lost) const {
    if (const std::string error = replay::fatalErrorOf(m_place.run, core::Rank(lost.rank)); !error.empty())
      return fmt::format("{} (process {}) was ended{} by a fatal error: {}", name(lost.rank), lost.pid,
                         place(lost.rank), error);
    return fmt::format("{} (process {}) is gone{} without a word: it was killed, or left by os._exit()",
                       name(lost.rank), lost.pid, place(lost.rank));
  }

  // How the program ended is known, how its ranks did only where they say so.
  void startedRanksEnded() {
    const int status = *m_launch.rankStatus(0);
    if (status == 0) return finished();
    RunEnd end;
    end.exitStatus = shellStatus(status);
    if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
    if (const std::optional<StartedRanks::Lost> lost = m_started.firstLost())
      lostRank(end, *lost);
    else if (const std::optional<RunEnd> stopped = stoppedAll())
      describe(end, 0, stopped);
    else
      end.state = end.signal ? "killed" : "failed", end.message = dump::failureText(end, core::Rank(0), 1);
    trouble(end, shellStatus(status));
  }

  // How the first rank says so, if all of them were asked to stop.
  std::optional<RunEnd> stoppedAll() const {
    std::optional<RunEnd> first;
    for (const int rank : rankFolders(m_place.run)) {
      const std::optional<RunEnd> own = journalEnd(m_place.run, rank);
      if (!own || own->state != "stopped") return std::nullopt;
      if (!first) first = own;
    }
    return first;
  }

  void lostRank(RunEnd& end, const StartedRanks::Lost& lost) {
    const std::optional<RunEnd> own = journalEnd(m_place.run, lost.rank);
    dump::setPlace(end, core::Rank(lost.rank), m_watches[static_cast<std::size_t>(lost.rank)].status());
    if (own && own->iteration) end.rank = own->rank, end.node = own->node, end.iteration = own->iteration;
    if (!lost.silent()) return describe(end, lost.rank, own);
    end.state = "killed";
    end.message = lostText(lost);
  }

  void launcherFailed(int status) {
    RunEnd end;
    end.state = "failed";
    end.exitStatus = shellStatus(status);
    end.message = fmt::format("mpirun ended with status {} before the ranks did", *end.exitStatus);
    trouble(end, *end.exitStatus == 0 ? kExitDamaged : *end.exitStatus);
  }

  // exit() and a return from main() end the Session; what does not come by there leaves no word.
  void endedSilently(int rank) {
    m_watches[static_cast<std::size_t>(rank)].look(now());  // what it left behind
    RunEnd end;
    dump::setPlace(end, core::Rank(rank), m_watches[static_cast<std::size_t>(rank)].status());
    end.state = "failed";
    end.exitStatus = 0;
    end.message = programStartsRanks()
                      ? fmt::format("{} ended{} without a word: it was killed, or left by os._exit()",
                                    name(rank), place(rank))
                      : fmt::format(
                            "{} ended with status 0{} without ending its Session (_exit() or quick_exit()?): "
                            "return from main(), or call exit()",
                            name(rank), place(rank));
    trouble(end, kExitDamaged);
  }

  // The program did well; its recorder may not have.
  void finished() {
    RunEnd end;
    end.state = "finished";
    end.exitStatus = 0;
    int status = kExitFine;
    std::optional<RunEnd> hit;  // all ranks say the same
    for (const int rank : rankFolders(m_place.run)) {
      const std::optional<RunEnd> own = journalEnd(m_place.run, rank);
      if (!own && !m_launch.control().process(rank).recorderFailure) return endedSilently(rank);
      if (own && own->onHit()) hit = own;
      if (own && (own->message.empty() || own->onHit())) continue;
      if (own && own->state == "stopped") end.state = "stopped";
      end.message = fmt::format("{}: {}", name(rank), own ? own->message : "the recorder did not finish");
      status = end.state == "stopped" ? kExitFine : kExitDamaged;
    }
    if (hit && end.message.empty()) end = *hit, end.exitStatus = 0, status = kExitHits;
    trouble(end, status);
  }

  Launch& m_launch;
  const MonitorOptions& m_options;
  AttemptPlace m_place;  // what is watched
  std::vector<EndedAttempt> m_before;
  StartedRanks m_started;
  std::vector<RankWatch> m_watches;
  int m_polls = 0;
  pid_t m_saidLost = 0;
  std::optional<Outcome> m_trouble;
  std::optional<RunEnd> m_stall;  // as it would end the run; said already
  std::string m_stallPlaces;      // where the ranks were then
  std::optional<double> m_endingSince;
};

}  // namespace

Outcome monitorRun(Launch& launch, const MonitorOptions& options) { return Monitor(launch, options).run(); }

}  // namespace msdbg::app
