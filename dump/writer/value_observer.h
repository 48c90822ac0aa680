// ValueObserver: statistics and hashes of the values that come by, with as few looks at them as it takes: an
// update's kernel has taken them, or the bytes are those of a tensor that was seen. Training thread.
#pragma once

#include <functional>
#include <memory>

#include "core_engine/runtime/observer.h"
#include "dump/stage_times.h"
#include "dump/writer/pending_iterations.h"
#include "dump/writer/updated_values.h"

namespace msdbg::dump {

class ValueObserver {
 public:
  ValueObserver(const PendingIterations& pending, StageClock& clock, int threads)
      : m_pending(pending), m_clock(clock), m_threads(threads) {}

  void adopt(std::shared_ptr<const GraphPlan> plan);
  void iterationStarted(core::Iteration iteration) { m_updates.begin(iteration); }

  /// What was seen of a tensor with the same bytes (count -1: only the hash); nullptr: nothing. Not `certain`
  /// where a value is written: what is written is hashed as it is written.
  struct Known {
    const core::TensorStatistics* values = nullptr;
    bool certain = false;
  };
  Known knownOf(const core::TensorReady& ready, bool isWritten) const;
  /// `alongside`: see ObservationWish.
  core::TensorObservation observe(const core::TensorReady& ready, const Known& known,
                                  std::function<void()> alongside = {});
  core::TensorStatistics flags(const core::TensorReady& ready, const Known& known);
  core::Hash128 hash(const core::TensorReady& ready, const Known& known);

 private:
  core::TensorObservation take(const core::ObservedUpdate& update, core::DType dtype);

  const PendingIterations& m_pending;
  StageClock& m_clock;
  const int m_threads;
  std::shared_ptr<const GraphPlan> m_plan;
  UpdatedValues m_updates;
};

}  // namespace msdbg::dump
