#include "dump/hits/iteration_source.h"

#include "dump/statistics_columns.h"

namespace msdbg::dump {

void IterationSource::advance(const IterationRecord& record) {
  std::swap(m_before, m_newest);
  m_newest.iteration = core::Iteration(record.iteration);
  m_newest.statistics = record.statistics;
  m_newest.seen = record.seen;
}

const watch::StatisticsRow* IterationSource::statistics(core::Rank rank, core::Iteration iteration,
                                                        core::TensorId tensor) {
  if (rank != m_rank || !iteration.valid()) return nullptr;
  for (const Rows* rows : {&m_newest, &m_before}) {
    if (rows->iteration != iteration || !rows->seen[tensor.index()]) continue;
    const watch::StatisticsRow& row = rows->statistics[tensor.index()];
    return complete(row) ? &row : nullptr;
  }
  return nullptr;
}

core::Result<core::Tensor> IterationSource::value(core::Rank, core::Iteration, core::TensorId) {
  return core::Error(core::ErrorCode::kUnavailable, "values are not looked at while training goes on");
}

}  // namespace msdbg::dump
