#include "dump/hits/first_fault.h"

#include <algorithm>

namespace msdbg::dump {

void FirstFault::finished(const IterationRecord& record) {
  if (m_at >= 0) return;
  if (!hasFault(record)) {
    m_before = record.iteration;
    return;
  }
  m_at = record.iteration;
  m_source.reset();
  m_check.reset();
}

// Nearly all iterations are finite and take one look at each row.
bool FirstFault::hasFault(const IterationRecord& record) {
  const bool any = std::ranges::any_of(
      record.statistics, [](const watch::StatisticsRow& row) { return row.values.nonFinite() > 0; });
  if (!any) return false;
  if (m_plan != record.plan) {
    m_plan = record.plan;
    m_source = std::make_unique<IterationSource>(m_plan, m_rank, m_ranks);
    m_check = std::make_unique<watch::OnlineCheck>(
        std::vector{watch::parseWatchpoint("tensor_overflow:recommended").orThrow()});
  }
  m_source->advance(record);
  return !m_check->evaluate(*m_source).empty();
}

}  // namespace msdbg::dump
