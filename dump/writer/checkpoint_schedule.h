// CheckpointSchedule: in which recorded iterations a rank keeps a checkpoint. Used by the training thread;
// request() by any.
#pragma once

#include <atomic>

#include "dump/policy/checkpoints.h"

namespace msdbg::dump {

class CheckpointSchedule {
 public:
  /// Of a graph from its next iteration on: that one has a checkpoint, since its state is new.
  void adopt(const RecordOptions& options, const core::Graph& graph) {
    m_interval = checkpointInterval(options, graph);
    m_due = 0;
  }
  /// 0: there are none.
  std::int64_t interval() const { return m_interval; }

  /// A recorded iteration begins: whether with a checkpoint.
  bool begin(core::Iteration iteration) {
    const bool asked = m_requested.exchange(false);
    const bool due = iteration.value >= m_due;
    if (m_interval == 0 || !(due || asked)) return false;
    if (due) m_due = iteration.value + m_interval;  // what one rank asks for moves none of the others'
    return true;
  }
  /// The run holds none any more, or soon will (--max-size): the next recorded iteration is to begin with
  /// one.
  void request() { m_requested = true; }

 private:
  std::int64_t m_interval = 0, m_due = 0;
  std::atomic<bool> m_requested{false};
};

}  // namespace msdbg::dump
