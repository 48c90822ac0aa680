// Recheck: nodes computed again from their recorded inputs, without any history: the state and the batch of
// an iteration come from its stored values (or a checkpoint), and where a node gives other bytes than were
// recorded, what follows is computed from those. So each node is judged by itself, on all ranks. Used from
// one thread, the run's.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "replay/recompute/judge.h"
#include "replay/recompute/recomputation.h"

namespace msdbg::replay {

class Recheck : public Rechecks {
 public:
  /// kUnsupported: a run of this kind cannot be computed again.
  static core::Result<std::unique_ptr<Recheck>> create(Run& run, core::CancelToken cancel);
  ~Recheck() override;

  /// Of one rank; all are computed, once for an iteration. kUnavailable: the value of a parameter, state or
  /// input is not stored; or bits are decided otherwise here (otherHere()), so that a difference says
  /// nothing. kCancelled.
  core::Result<watch::Source::Recheck> recheck(core::Rank rank, core::Iteration iteration) override;

 private:
  using Found = std::vector<watch::Source::Recheck>;  // by rank
  explicit Recheck(Run& run) : m_run(run) {}

  core::Result<Found> compute(core::Iteration iteration);
  core::Status pass(core::Iteration iteration);
  core::Result<core::Tensor> valueOf(core::Rank rank, core::Iteration iteration,
                                     const core::TensorInfo& tensor);  // of the rank's graph
  core::Result<core::TrainingState> stateOf(core::Rank rank, core::Iteration iteration);
  core::Result<core::Batch> batchOf(core::Rank rank, core::Iteration iteration);
  /// Takes what went wrong by itself. Whether something is new that the next pass can replace.
  core::Result<bool> takeMismatches(core::Iteration iteration);
  bool wentWrongThere(std::size_t rank, const Judge::Seen& seen) const;
  void count();

  Run& m_run;
  std::unique_ptr<Recomputation> m_engine;
  std::vector<std::unique_ptr<Judge>> m_judges;  // by rank, as all below
  std::vector<core::Observer*> m_observers;
  std::vector<core::TrainingState> m_states;
  std::vector<core::Batch> m_batches;
  std::vector<std::vector<std::pair<core::TensorId, core::Tensor>>> m_replaced;  // by ids of the rank's graph
  Found m_found;
  core::Iteration m_iteration;                // of what was computed last
  std::optional<core::Result<Found>> m_last;  // and what came of it
};

}  // namespace msdbg::replay
