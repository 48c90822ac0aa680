// GradientNorm: the L2 norm of all gradients of a rank, of the statistics of each. Not synchronised.
#pragma once

#include <map>
#include <optional>

#include "core_engine/base/ids.h"
#include "core_engine/tensor/statistics.h"

namespace msdbg::dump {

class GradientNorm {
 public:
  /// The gradient of a parameter; of several the last one counts (what an optimizer reads).
  void add(core::TensorId parameter, const core::TensorStatistics& gradient);
  /// As torch has it: NaN where an element is, else Inf where one is. Nothing: no gradient was seen.
  std::optional<double> value() const;

 private:
  std::map<core::TensorId, double> m_squares;
};

}  // namespace msdbg::dump
