// Monitor: the best value of a metric so far, and whether a new one improves on it; what EarlyStopping and
// ReduceLROnPlateau share. One thread.
#pragma once

#include "core_engine/train/callback.h"

namespace msdbg::core {

/// Which way is better. Auto: up for metrics with "acc" in their name, down for all others.
enum class MonitorMode : std::uint8_t { kAuto, kMin, kMax };

class Monitor {
 public:
  Monitor(std::string metric, MonitorMode mode, double minDelta);

  /// kUsage: minDelta is negative or not a number.
  Status reset();
  /// Whether the round's value is better than the best by more than minDelta: then it is the best. NaN never
  /// is. kNotFound: there is no such metric (those that are, listed).
  Result<bool> improves(const Metrics& metrics);
  double best() const { return m_best; }
  const std::string& metric() const { return m_metric; }

 private:
  std::string m_metric;
  bool m_up;
  double m_minDelta;
  double m_best = 0;
};

}  // namespace msdbg::core
