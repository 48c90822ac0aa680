// Schedules of learning rates: where a program steps them, and those that go on past their end. Used from one
// thread.
#pragma once

#include <string>

#include "watchpoints/condition.h"

namespace msdbg::watch {

/// The node of a recording of PyTorch that has the line where step() of the scheduler is called that sets
/// this rate: its output. Invalid: none does, or that is not recorded.
core::TensorId scheduleLine(const core::Graph& graph, core::TensorId rate);

/// A rate that begins at its highest, falls to next to nothing and then climbs as slowly as it fell: a cosine
/// (CosineAnnealingLR) that was stepped more often than it was made for. Rates
/// that jump (warm restarts), and those that begin low (cycles, warm-up), are none.
class RateSchedule {
 public:
  /// A new iteration of a rate. Once true: it has climbed halfway back.
  bool climbsAgain(double rate);
  /// "the learning rate fell from 0.1 to 0 and climbs again, to 0.05 by now: …"
  std::string sentence() const;

 private:
  double m_first = 0, m_least = 0, m_last = 0;
  int m_falls = 0, m_climbs = 0;
  bool m_begun = false, m_other = false;  // other: of another shape, or told already
};

}  // namespace msdbg::watch
