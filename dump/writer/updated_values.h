// UpdatedValues: the statistics of what the last iteration's updates made, by parameter or state: what the
// next iteration is likely to start from (ObservationWish::expected). Training thread.
#pragma once

#include <map>

#include "core_engine/graph/graph.h"
#include "core_engine/tensor/statistics.h"

namespace msdbg::dump {

class UpdatedValues {
 public:
  /// What was not made by the iteration right before says nothing.
  void begin(core::Iteration iteration) {
    if (iteration.value != m_last + 1) m_values.clear();
    m_last = iteration.value;
  }
  void clear() { m_values.clear(); }
  /// `updated`: of which it is the next value; invalid: of none.
  void add(core::TensorId updated, const core::TensorStatistics& values) {
    if (updated.valid()) m_values[updated.value] = values;
  }
  /// nullptr: nothing is known.
  const core::TensorStatistics* find(core::TensorId source) const {
    const auto found = m_values.find(source.value);
    return found == m_values.end() ? nullptr : &found->second;
  }

 private:
  std::int64_t m_last = -2;
  std::map<std::int64_t, core::TensorStatistics> m_values;
};

}  // namespace msdbg::dump
