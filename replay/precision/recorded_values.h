// RecordedValues: what training had in one iteration, by the ids of the run: stored, or computed again and
// proven by its hash. Used from one thread, the run's.
#pragma once

#include <functional>
#include <memory>
#include <set>

#include "replay/recompute/hindsight.h"

namespace msdbg::replay {

class RecordedValues {
 public:
  /// `keepBytes`: of all values of the iteration that are not stored, so that it is computed once.
  RecordedValues(Run& run, core::Iteration iteration, core::CancelToken cancel, std::uint64_t keepBytes,
                 std::function<void(std::int64_t done, std::int64_t all)> progress);

  /// Of the type that `info` says: kDamaged otherwise. kUnavailable: not stored, and not computed again as it
  /// was; kCancelled.
  core::Result<core::Tensor> value(core::Rank rank, core::TensorId tensor, const core::TensorInfo& info);
  /// Whether value() had to compute it.
  bool isComputed(core::Rank rank, core::TensorId tensor) const {
    return m_computed.contains({rank, tensor});
  }
  /// What was computed is otherwise there: Hindsight::differences().
  std::vector<Mismatch> differences() const;

 private:
  core::Result<core::Tensor> compute(core::Rank rank, core::TensorId tensor);

  Run& m_run;
  core::Iteration m_iteration;
  HindsightOptions m_options;
  std::unique_ptr<Hindsight> m_hindsight;
  std::set<std::pair<core::Rank, core::TensorId>> m_computed;
};

}  // namespace msdbg::replay
