#include "replay/precision/recorded_values.h"

namespace msdbg::replay {

using core::Error;
using core::ErrorCode;
using core::Rank;
using core::Result;
using core::Tensor;
using core::TensorId;

RecordedValues::RecordedValues(Run& run, core::Iteration iteration, core::CancelToken cancel,
                               std::uint64_t keepBytes,
                               std::function<void(std::int64_t, std::int64_t)> progress)
    : m_run(run),
      m_iteration(iteration),
      m_options{.cancel = std::move(cancel), .progress = std::move(progress), .keepBytes = keepBytes} {}

Result<Tensor> RecordedValues::compute(Rank rank, TensorId tensor) {
  if (!m_hindsight) {
    MSDBG_ASSIGN(m_hindsight, Hindsight::create(m_run, m_options));
  }
  m_computed.insert({rank, tensor});
  return m_hindsight->value(rank, m_iteration, tensor);
}

std::vector<Mismatch> RecordedValues::differences() const {
  return m_hindsight ? m_hindsight->differences() : std::vector<Mismatch>();
}

Result<Tensor> RecordedValues::value(Rank rank, TensorId tensor, const core::TensorInfo& info) {
  Result<Tensor> value = m_run.origin(rank, m_iteration, tensor) ? m_run.value(rank, m_iteration, tensor)
                                                                 : compute(rank, tensor);
  if (value.ok() && (value->dtype() != info.dtype || value->shape() != info.shape))
    return Error(ErrorCode::kDamaged, info.fullName() + ": its value is of another type than the graph says");
  return value;
}

}  // namespace msdbg::replay
