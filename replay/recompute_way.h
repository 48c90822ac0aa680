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
  /// The newest checkpoint from which an unbroken row of batches leads there on all ranks, but for those in
  /// `damaged` (and why). kUnavailable, in words: there is none.
  core::Result<core::Iteration> checkpointFor(core::Iteration iteration,
                                              const std::map<std::int64_t, std::string>& damaged = {}) const;
  core::Result<RecomputeWay> to(core::Iteration iteration) const;
  /// Of all that can be computed the one that takes longest. nullopt: none can.
  std::optional<RecomputeWay> longest() const;

  bool reaches(core::Iteration iteration) const;
  /// Its state was set from outside: it does not follow from the one before.
  bool beginsAnew(core::Iteration iteration) const { return m_anew.contains(iteration.value); }
  double secondsAnIteration() const { return m_seconds; }

 private:
  std::string whyNone() const;

  std::string m_foreign;  // the domain of an operator that is not ours; "" where all are
  std::string m_lacks;    // "rank 1 has no batches": what every iteration lacks
  std::vector<std::int64_t> m_reachable, m_checkpoints;  // ascending; of all ranks in common
  core::IterationSet m_anew;
  double m_seconds = 0;
};

}  // namespace msdbg::replay
