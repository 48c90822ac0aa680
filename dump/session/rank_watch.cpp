#include "dump/session/rank_watch.h"

#include <signal.h>

#include "dump/session/process_info.h"

namespace msdbg::dump {
namespace {

// Between iterations a rank evaluates, loads data or saves something: as long as it computes, it is given
// more time.
constexpr double kBusyBetweenIterations = 10;
constexpr double kBusyShare = 0.1;  // of one core

}  // namespace

bool RankWatch::progressed(const RankStatus& status) {
  return !m_status || m_status->pid != status.pid || m_status->beat != status.beat ||
         m_status->iteration != status.iteration || m_status->node != status.node;
}

// Where it was at the last look is not where it ended.
RankWatch::State RankWatch::ended() {
  m_status.reset();
  return State::kEnded;
}

RankWatch::State RankWatch::look(double now) {
  const std::optional<RankStatus> status = readRankStatus(m_folder);
  if (!status) {
    // Where the whole folder is gone, somebody removed or renamed the run; the rank may live on.
    std::error_code ignored;
    return m_seen && std::filesystem::is_directory(m_folder, ignored) ? ended() : State::kUnknown;
  }
  m_seen = true;
  const std::optional<ProcessInfo> process = processInfo(static_cast<pid_t>(status->pid));
  if (!process) {
    // It may have ended between the two looks: then the file is gone by now.
    if (!readRankStatus(m_folder)) return ended();
    m_status = status;
    return State::kDied;
  }
  if (progressed(*status)) {
    m_lastProgress = now;
    m_cpuAtProgress = process->cpuSeconds;
  }
  m_status = status;
  m_still = now - m_lastProgress;
  const bool stopped = process->state == 'T' || process->state == 't';
  if (m_patience <= 0 || m_still <= m_patience) return status->waiting ? State::kWaiting : State::kWorking;
  if (stopped) return State::kHangs;
  if (status->waiting) return State::kWaiting;
  if (status->node >= 0) return State::kHangs;
  const bool busy = process->cpuSeconds - m_cpuAtProgress > kBusyShare * m_still;
  return busy && m_still <= kBusyBetweenIterations * m_patience ? State::kWorking : State::kIdle;
}

std::string placeText(const RankStatus& status) {
  if (status.iteration < 0) return "before its first iteration";
  const std::string iteration = "iteration " + std::to_string(status.iteration);
  return status.nodeName.empty() ? "after " + iteration : "at " + status.nodeName + " in " + iteration;
}

void setPlace(RunEnd& end, core::Rank rank, const std::optional<RankStatus>& status) {
  end.rank = rank.value;
  if (!status || status->iteration < 0) return;
  end.node = status->nodeName;
  end.iteration = status->iteration;
}

}  // namespace msdbg::dump
