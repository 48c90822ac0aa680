// From where an iteration can be computed again, and what that costs: known without computing anything. Of a
// run, on its thread.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "replay/run.h"

namespace msdbg::replay {

struct RecomputeWay {
  core::Iteration checkpoint;   // all ranks begin there
  std::int64_t iterations = 0;  // to be computed, with the one that is wanted
  double seconds = 0;           // as training took for them, all ranks on this machine; 0: not known
};

class RecomputeWays {
 public:
  explicit RecomputeWays(Run& run);
  /// Reads the checkpoints of all ranks, which the journals say are there: those that are damaged lead
  /// nowhere from then on. As long as reading takes; the run lists the damage.
  void readCheckpoints(Run& run);
  const std::map<core::Iteration, std::string>& damagedCheckpoints() const { return m_damaged; }  // and why
  void readBatches(Run& run);  // the same: nothing leads over one that is damaged
  /// The newest checkpoint from which an unbroken row of batches leads there on all ranks, but for those in
  /// `damaged` (and why). kUnavailable, in words: there is none.
  core::Result<core::Iteration> checkpointFor(
      core::Iteration iteration, const std::map<core::Iteration, std::string>& damaged = {}) const;
  core::Result<RecomputeWay> to(core::Iteration iteration) const;
  /// The same from a checkpoint that can be read: reads it, and older ones where it is damaged. kDamaged:
  /// none can.
  core::Result<RecomputeWay> toReadable(Run& run, core::Iteration iteration);
  /// Of all that can be computed the one that takes longest. nullopt: none can.
  std::optional<RecomputeWay> longest() const;

  bool reaches(core::Iteration iteration) const;
  /// All that can be computed, ascending.
  std::vector<std::int64_t> reachable() const;
  /// Its state was set from outside: it does not follow from the one before.
  bool beginsAnew(core::Iteration iteration) const { return m_anew.contains(iteration.value); }
  double secondsAnIteration() const { return m_seconds; }

 private:
  bool readCheckpoint(Run& run, core::Iteration iteration);  // false: it is damaged, and known to be
  std::string whyNone() const;
  /// From which checkpoint each that can be computed is.
  std::vector<std::pair<std::int64_t, std::int64_t>> withCheckpoints() const;

  std::string m_foreign;  // the domain of an operator that is not ours; "" where all are
  std::string m_lacks;    // "rank 1 has no batches": what every iteration lacks
  std::vector<std::int64_t> m_reachable, m_checkpoints;  // ascending; of all ranks in common
  std::map<core::Iteration, std::string> m_damaged;      // of these, as far as they were read
  core::IterationSet m_anew;
  double m_seconds = 0;
};

}  // namespace msdbg::replay
