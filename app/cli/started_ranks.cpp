#include "app/cli/started_ranks.h"

#include "app/cli/rank_folders.h"
#include "dump/journal.h"
#include "dump/reader/journal_tail.h"

namespace msdbg::app {

using dump::RankWatch;
using State = dump::RankWatch::State;

std::optional<dump::RunEnd> journalEnd(const std::filesystem::path& run, int rank) {
  const auto text = dump::JournalTail().readOn(rankFolder(run, rank) / "journal");
  return text.ok() ? dump::parseJournal(*text).end : std::nullopt;
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

// nullopt: it goes on, has ended well, or was no process of this run.
std::optional<StartedRanks::Lost> StartedRanks::lost(const RankWatch& watch, State state) {
  const int rank = static_cast<int>(watch.rank().value);
  const auto known = m_pids.find(rank);
  if (known == m_pids.end() || (state != State::kDied && state != State::kEnded)) return std::nullopt;
  if (!m_ended.insert(rank).second) return std::nullopt;
  const auto own = journalEnd(m_run, rank);
  if (own && own->state == "failed") return Lost{rank, known->second, false};
  if (state == State::kDied) return Lost{rank, known->second, true};
  return std::nullopt;
}

std::optional<StartedRanks::Lost> StartedRanks::firstLost() const {
  if (m_lost) return m_lost;
  for (const int rank : rankFolders(m_run)) {
    const auto own = journalEnd(m_run, rank);
    if (own && own->state == "failed" && own->rank.value_or(rank) == rank) return Lost{rank};
  }
  return std::nullopt;
}

// Of those that are lost within one look: who died without a word, and not while it waited for another.
void StartedRanks::look(const std::vector<RankWatch>& watches, const std::vector<State>& states) {
  for (const RankWatch& watch : watches) adopt(watch);
  forgetRestarted(states);
  if (m_lost) return;
  int least = 0;
  for (std::size_t rank = 0; rank < watches.size(); ++rank) {
    const std::optional<Lost> found = lost(watches[rank], states[rank]);
    if (!found) continue;
    const auto& status = watches[rank].status();
    const int blame = !found->died ? 1 : status && status->waiting ? 2 : 3;
    if (blame > least) m_lost = found, least = blame;
  }
}

}  // namespace msdbg::app
