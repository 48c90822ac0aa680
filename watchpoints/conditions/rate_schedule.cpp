#include "watchpoints/conditions/rate_schedule.h"

#include <cmath>
#include <cstdlib>

#include "core_engine/base/text.h"
#include "core_engine/ops/op.h"

namespace msdbg::watch {

core::TensorId scheduleLine(const core::Graph& graph, core::TensorId rate) {
  constexpr std::string_view kBegin = "optimizer";  // "optimizer/learning_rate", "optimizer1/learning_rate"
  if (!rate.valid() || !graph.tensor(rate).name.starts_with(kBegin)) return {};
  const std::int64_t number = std::atoll(graph.tensor(rate).name.c_str() + kBegin.size());
  for (const core::Node& node : graph.nodes())
    if (node.opType == "torch.schedule" && core::intAttribute(node.attributes, "optimizer", -1) == number)
      return node.outputs.front();
  return {};
}

bool RateSchedule::climbsAgain(double rate) {
  constexpr double kSame = 1e-9, kLow = 0.1, kBack = 0.5, kJump = 0.4;  // shares of the first rate
  constexpr int kFew = 4;                                               // steps, each way
  if (m_other) return false;
  if (!m_begun) {
    m_begun = true;
    m_first = m_least = m_last = rate;
    m_other = !(rate > 0);
    return false;
  }
  const double step = rate - m_last;
  m_last = rate;
  if (std::abs(step) <= kSame * m_first) return false;
  const bool falls = step < 0;
  m_other = !std::isfinite(rate) || std::abs(step) > kJump * m_first || (falls && m_climbs > 0) ||
            (!falls && (m_falls < kFew || m_least > kLow * m_first));
  if (m_other) return false;
  if (falls) {
    ++m_falls;
    m_least = rate;
    return false;
  }
  ++m_climbs;
  m_other = m_climbs >= kFew && rate >= kBack * m_first;
  return m_other;
}

std::string RateSchedule::sentence() const {
  return "the learning rate fell from " + core::formatShort(m_first) + " to " + core::formatShort(m_least) +
         " and climbs again, to " + core::formatShort(m_last) +
         " by now: a cosine that is stepped past its end goes up as it came down";
}

}  // namespace msdbg::watch
