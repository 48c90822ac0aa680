// HitWatch: the watchpoints of a recording, evaluated as training goes. At the end of an iteration it looks
// at this rank's statistics, says what hit, tells the other ranks, and decides which iterations keep their
// values and whether training is to stop. The recorder's; training thread, except where said.
#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <string>

#include "dump/hits/hit_votes.h"
#include "dump/hits/hit_windows.h"
#include "dump/hits/iteration_source.h"
#include "dump/journal.h"
#include "dump/policy/on_hit.h"
#include "dump/run_info.h"
#include "watchpoints/online.h"

namespace msdbg::dump {

class HitWatch {
 public:
  struct Place {
    core::Rank rank;
    int ranks = 1;
    core::Communicator* communicator = nullptr;  // nullptr: nobody is told
  };
  /// Errors: as onHitConditions().
  static core::Result<std::unique_ptr<HitWatch>> create(const OnHit& what, const Place& place);

  /// What is evaluated from now on; memory of the past goes.
  void graphReady(std::shared_ptr<const GraphPlan> plan);
  /// An iteration has ended, on all ranks; `record` is what is recorded of it here, nullptr if nothing. True:
  /// it hit on some rank.
  bool finished(core::Iteration iteration, const IterationRecord* record);

  /// Where training hit first, on any rank; the same on all ranks. The run's end when it stops for that.
  const std::optional<RunEnd>& firstHit() const { return m_first; }
  /// The iterations to be kept after the first hit are done.
  bool windowDone() const { return m_first && m_left <= 0; }

  HitWindows& windows() { return m_windows; }  // any thread
  /// This rank's hits since the last call. Any thread.
  std::vector<HitLine> takeHits();

 private:
  HitWatch(std::vector<watch::Watchpoint> watchpoints, const OnHit& what, const Place& place);
  void warnOfNames(const core::Graph& graph) const;
  std::vector<watch::OnlineHit> evaluate(const IterationRecord& record);
  std::vector<std::optional<HitVote>> exchange(const std::vector<watch::OnlineHit>& mine);
  void setFirst(core::Iteration iteration, const std::vector<watch::OnlineHit>& mine,
                const std::vector<std::optional<HitVote>>& votes);
  void say(const std::vector<watch::OnlineHit>& hits);
  void list(const std::vector<watch::OnlineHit>& hits);
  std::string lineOf(const watch::OnlineHit& hit, std::size_t others) const;

  const Place m_place;
  const std::vector<watch::Watchpoint> m_watchpoints;
  const std::int64_t m_after;
  HitWindows m_windows;
  std::shared_ptr<const GraphPlan> m_plan;
  std::unique_ptr<IterationSource> m_source;
  std::unique_ptr<watch::OnlineCheck> m_check;
  std::optional<RunEnd> m_first;
  std::int64_t m_left = 0;  // recorded iterations to come that are kept for the first hit
  bool m_alone = false;     // the other ranks could not be told
  std::set<std::pair<std::size_t, std::string>> m_said;  // watchpoint, tensor
  int m_linesSaid = 0;
  std::int64_t m_listed = 0;
  std::mutex m_mutex;  // of m_hits
  std::vector<HitLine> m_hits;
};

}  // namespace msdbg::dump
