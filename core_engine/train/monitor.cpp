#include "core_engine/train/monitor.h"

#include <algorithm>
#include <limits>

#include "core_engine/base/text.h"

namespace msdbg::core {

Monitor::Monitor(std::string metric, MonitorMode mode, double minDelta)
    : m_metric(std::move(metric)),
      m_up(mode == MonitorMode::kMax ||
           (mode == MonitorMode::kAuto && m_metric.find("acc") != std::string::npos)),
      m_minDelta(minDelta) {}

Status Monitor::reset() {
  if (!(m_minDelta >= 0))
    return Error(ErrorCode::kUsage,
                 "minDelta is " + formatDouble(m_minDelta) + ", but a number of at least 0 was expected");
  const double worst = std::numeric_limits<double>::infinity();
  m_best = m_up ? -worst : worst;
  return Ok{};
}

Result<bool> Monitor::improves(const Metrics& metrics) {
  const auto found = std::ranges::find(metrics, m_metric, &Metrics::value_type::first);
  if (found == metrics.end()) {
    std::vector<std::string> names;
    for (const auto& [name, value] : metrics) names.push_back(name);
    return Error(ErrorCode::kNotFound,
                 "there is no metric '" + m_metric + "' to monitor; there are " + join(names, ", ") +
                     (m_metric.starts_with("val_") ? " (val_… need held-out data)" : ""));
  }
  const double value = found->second;
  const bool better = m_up ? value > m_best + m_minDelta : value < m_best - m_minDelta;
  if (better) m_best = value;
  return better;
}

}  // namespace msdbg::core
