// Walk: the ranks of a run on their way through its iterations, each watched by a judge, for whoever wants
// something of what they compute. Used from one thread, the run's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "replay/recompute/judge.h"
#include "replay/recompute/recomputation.h"

namespace msdbg::replay {

class Walk {
 public:
  using MakeJudge = std::function<std::unique_ptr<Judge>(std::mutex& runLock, core::Rank rank, int threads)>;
  /// Errors as Recomputation::create().
  static core::Result<std::unique_ptr<Walk>> create(Run& run, core::CancelToken cancel,
                                                    const MakeJudge& make);

  /// Where it would begin for an iteration: where the ranks are, or at a checkpoint.
  core::Result<core::Iteration> startFor(core::Iteration iteration) const;
  using Ready = std::function<void(core::Rank rank, Judge& judge, core::Iteration iteration)>;
  /// All iterations up to and with this one. `ready`: before each, when its judges know what was recorded;
  /// `done`: after each. What cannot be reached is not tried again.
  core::Status to(core::Iteration iteration, const Ready& ready,
                  const std::function<void(core::Iteration)>& done);

  /// The first that differs since the checkpoint that they began at. Its tensor is invalid where only the
  /// digest of an iteration tells.
  const std::optional<Mismatch>& since() const { return m_since; }
  /// The first of each stretch between two checkpoints that was walked.
  const std::vector<Mismatch>& differences() const { return m_differences; }
  core::Iteration begun() const { return m_begun; }  // the checkpoint that the ranks began at
  /// Where the last to() began: where the ranks were, or at a checkpoint.
  core::Iteration from() const { return m_from; }
  Recomputation& engine() { return *m_engine; }
  const Recomputation& engine() const { return *m_engine; }
  Judge& judge(core::Rank rank) { return *m_judges.at(rank.index()); }

 private:
  explicit Walk(Run& run) : m_run(run) {}
  bool goesOn(core::Iteration checkpoint, core::Iteration iteration) const;
  core::Status setOut(core::Iteration iteration);
  core::Status step(core::Iteration iteration, const Ready& ready);
  core::Status noteDifference(core::Iteration iteration);
  core::Status noteDigest(core::Iteration iteration);
  void spreadDifferences();

  Run& m_run;
  std::unique_ptr<Recomputation> m_engine;
  std::vector<std::unique_ptr<Judge>> m_judges;
  std::vector<core::Observer*> m_observers;
  bool m_running = false;       // the ranks are where m_engine->next() says
  core::Iteration m_begun{-1};  // the checkpoint that they began at
  core::Iteration m_from{-1};   // where the last to() began
  std::optional<Mismatch> m_since;
  std::vector<Mismatch> m_differences;
  std::map<std::int64_t, core::Error> m_failed;  // iterations that cannot be reached
  std::optional<core::Error> m_hopeless;         // none can
};

}  // namespace msdbg::replay
