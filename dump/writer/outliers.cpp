#include "dump/writer/outliers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "dump/statistics_columns.h"

namespace msdbg::dump {
namespace {

constexpr std::size_t kLossesBefore = 10;
constexpr double kJump = 3;

}  // namespace

std::uint64_t statisticsBytesOf(const GraphPlan& plan) {
  return plan.statistics.size() * statisticsRowBytes() + plan.hashes.size() * sizeof(core::Hash128);
}

void Outliers::add(const IterationRecord& record) {
  m_rowBytes = statisticsBytesOf(*record.plan);
  const bool finite = std::ranges::none_of(
      record.statistics, [](const watch::StatisticsRow& row) { return row.values.nonFinite() > 0; });
  const bool begins = std::exchange(m_wasFinite, finite) && !finite;
  const auto loss =
      std::ranges::find(record.scalars, "loss", [](const auto& scalar) { return scalar.first; });
  const bool jump = loss != record.scalars.end() && jumps(loss->second);
  if (begins || jump) keep(record.iteration);
}

void Outliers::keep(std::int64_t iteration) {
  if (m_iterations.contains(iteration) || m_left < m_rowBytes) return;
  m_left -= m_rowBytes;
  m_iterations.push_back(iteration);
}

bool Outliers::jumps(double loss) {
  if (!std::isfinite(loss)) return false;  // its own row tells where that begins
  const double sum = std::accumulate(m_losses.begin(), m_losses.end(), 0.0);
  const bool jump = m_losses.size() == kLossesBefore && sum > 0 && loss * kLossesBefore > kJump * sum;
  m_losses.push_back(loss);
  if (m_losses.size() > kLossesBefore) m_losses.pop_front();
  return jump;
}

}  // namespace msdbg::dump
