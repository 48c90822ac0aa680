// What constants and the batch alone make of a training graph: masks, positions, targets in another form.
// Computed by the operators' reference kernels from what is recorded. Used from one thread.
#pragma once

#include <map>
#include <optional>

#include "watchpoints/condition.h"

namespace msdbg::watch {

class GivenValues {
 public:
  GivenValues(Source& source, core::Rank rank, core::Iteration iteration)
      : m_source(source), m_rank(rank), m_iteration(iteration) {}

  /// nullopt: a parameter or chance has a part in it, the batch was not recorded, or it is too large to
  /// compute for a question asked in passing.
  std::optional<core::Tensor> of(core::TensorId tensor);

 private:
  std::optional<core::Tensor> find(core::TensorId tensor, int depth);
  std::optional<core::Tensor> sourceValue(const core::TensorInfo& info);
  std::optional<core::Tensor> compute(const core::TensorInfo& info, int depth);

  Source& m_source;
  core::Rank m_rank;
  core::Iteration m_iteration;
  std::map<core::TensorId, std::optional<core::Tensor>> m_known;
};

}  // namespace msdbg::watch
