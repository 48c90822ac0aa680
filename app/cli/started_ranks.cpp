#include "app/cli/started_ranks.h"

#include "app/cli/rank_folders.h"
#include "dump/end_text.h"
#include "dump/journal.h"
#include "dump/reader/journal_tail.h"

namespace msdbg::app {

using dump::RankWatch;
using State = dump::RankWatch::State;

std::optional<dump::RunEnd> journalEnd(const std::filesystem::path& run, int rank) {
  const auto text = dump::JournalTail().readOn(rankFolder(run, rank) / "journal");
  return text.ok() ? dump::parseJournal(*text).end : std::nullopt;
}

void StartedRanks::startAgain(std::filesystem::path run) {
  m_run = std::move(run);
  m_pids.clear();
  m_ended.clear();
  m_lost.reset();
}

int StartedRanks::count() const {
  const std::vector<int> there = rankFolders(m_run);
  return there.empty() ? 0 : there.back() + 1;
}

void StartedRanks::adopt(const RankWatch& watch) {
  const auto& status = watch.status();
  if (!status) return;
  const int rank = static_cast<int>(watch.rank().value);
  const auto pid = static_cast<pid_t>(status->pid);
  const auto known = m_pids.find(rank);
  if (pid == m_launch.child() || (known != m_pids.end() && known->second == pid)) return;
  if (m_launch.adopt(rank, pid)) m_pids[rank] = pid, m_ended.erase(rank);
}

// One that goes on was started again.
void StartedRanks::forgetRestarted(const std::vector<State>& states) {
  if (!m_lost) return;
  const State state = states[static_cast<std::size_t>(m_lost->rank)];
  if (state != State::kDied && state != State::kEnded && state != State::kUnknown) m_lost.reset();
}

// nullopt: it goes on, has ended well, or is known already. A process that was never seen alive may be
// another host's, so that it is dead is known only when the program has ended.
std::optional<StartedRanks::Lost> StartedRanks::lost(const RankWatch& watch, State state, bool programEnded) {
  const int rank = static_cast<int>(watch.rank().value);
  const auto known = m_pids.find(rank);
  const bool judged = known != m_pids.end() || (programEnded && state == State::kDied);
  if (!judged || (state != State::kDied && state != State::kEnded)) return std::nullopt;
  if (!m_ended.insert(rank).second) return std::nullopt;
  const pid_t pid = watch.status() ? static_cast<pid_t>(watch.status()->pid) : known->second;
  const auto own = journalEnd(m_run, rank);
  if (own && own->state == "failed")
    return Lost{rank, pid, dump::lostAnother(own->message) ? kVictim : kFailed};
  if (state != State::kDied) return std::nullopt;
  return Lost{rank, pid, watch.status() && watch.status()->waiting ? kDiedWaiting : kDied};
}

std::optional<StartedRanks::Lost> StartedRanks::firstLost() const {
  if (m_lost) return m_lost;
  for (const int rank : rankFolders(m_run)) {
    const auto own = journalEnd(m_run, rank);
    if (own && own->state == "failed" && own->rank.value_or(rank) == rank) return Lost{rank, 0, kFailed};
  }
  return std::nullopt;
}

void StartedRanks::look(const std::vector<RankWatch>& watches, const std::vector<State>& states,
                        bool programEnded) {
  for (const RankWatch& watch : watches) adopt(watch);
  forgetRestarted(states);
  // One that died while it waited may have waited for another that nobody had seen yet.
  const bool settled = m_lost && m_lost->how > kDiedWaiting;
  for (std::size_t rank = 0; rank < watches.size(); ++rank) {
    const std::optional<Lost> found = lost(watches[rank], states[rank], programEnded);
    if (found && !settled && (!m_lost || found->how > m_lost->how)) m_lost = found;
  }
}

}  // namespace msdbg::app
