// CheckpointSchedule: in which recorded iterations a rank keeps a checkpoint. Used by the training thread;
// request() by any.
#pragma once

#include <atomic>
#include <functional>

#include "dump/policy/checkpoints.h"

namespace msdbg::dump {

class CheckpointSchedule {
 public:
  /// Of a graph from its next iteration on: that one has a checkpoint, since its state is new.
  void adopt(const RecordOptions& options, const core::Graph& graph, int ranks) {
    m_interval = checkpointInterval(options, graph, ranks);
    m_auto = options.checkpoints() == RecordOptions::kAuto;
    m_due = 0;
  }
  /// 0: there are none.
  std::int64_t interval() const { return m_interval; }
  bool isAuto() const { return m_auto; }

  /// How long the recorder takes for a checkpoint, in iterations of training; 0: not known yet.
  using Cost = std::function<double()>;
  /// A recorded iteration begins: whether with a checkpoint. `auto` spaces them C, 2 C, 4 C ... from the
  /// first on, so that they cost one hundredth of the time: clocks of ranks differ, and what the slowest of
  /// them keeps all of them have in common.
  bool begin(core::Iteration iteration, const Cost& cost = {}) {
    const bool asked = m_requested.exchange(false);
    if (m_interval == 0) return false;
    bool due = iteration.value >= m_due;
    if (due && m_due > 0 && m_auto) due = isWorth(iteration.value, cost ? cost() : 0);
    if (iteration.value >= m_due) next(iteration.value);  // what one asks for moves none of the others'
    return due || asked;
  }
  /// The run holds none any more, or soon will (--max-size): the next recorded iteration is to begin with
  /// one.
  void request() { m_requested = true; }

 private:
  static constexpr double kShareOfTime = 0.01;

  // Of the multiples of C since the first: every one, every second, every fourth, ...
  bool isWorth(std::int64_t iteration, double cost) const {
    std::int64_t number = (iteration - m_first) / m_interval;
    for (double apart = static_cast<double>(m_interval); cost > kShareOfTime * apart; apart *= 2, number /= 2)
      if (number % 2 != 0) return false;
    return true;
  }
  void next(std::int64_t iteration) {
    if (m_due == 0) m_first = iteration;
    m_due = m_auto ? m_first + ((iteration - m_first) / m_interval + 1) * m_interval : iteration + m_interval;
  }

  std::int64_t m_interval = 0, m_due = 0;  // 0: with the next
  std::int64_t m_first = 0;
  bool m_auto = false;
  std::atomic<bool> m_requested{false};
};

}  // namespace msdbg::dump
