// UpdatedValues: the statistics of what the last iteration's updates made, by parameter or state: what the
// next iteration is likely to start from (ObservationWish::expected). Training thread.
#pragma once

#include <map>

#include "core_engine/graph/graph.h"
#include "core_engine/tensor/statistics.h"

namespace msdbg::dump {

class UpdatedValues {
 public:
  void begin(core::Iteration iteration) { m_now = iteration.value; }
  void clear() { m_values.clear(); }
  /// `updated`: of which it is the next value; invalid: of none.
  void add(core::TensorId updated, const core::TensorStatistics& values) {
    if (updated.valid()) m_values[updated.value] = {m_now, values};
  }
  /// Of what the iteration right before made; older values say nothing (a rule may leave iterations out).
  /// nullptr: nothing is known.
  const core::TensorStatistics* find(core::TensorId source) const {
    const auto found = m_values.find(source.value);
    return found == m_values.end() || found->second.iteration + 1 != m_now ? nullptr : &found->second.values;
  }

 private:
  struct Made {
    std::int64_t iteration = 0;
    core::TensorStatistics values;
  };
  std::int64_t m_now = -2;
  std::map<std::int64_t, Made> m_values;
};

}  // namespace msdbg::dump
