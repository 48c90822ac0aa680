#include "dump/python/record/gradient_norm.h"

#include <cmath>
#include <limits>

namespace msdbg::dump {

void GradientNorm::add(core::TensorId parameter, const core::TensorStatistics& gradient) {
  double square = gradient.l2 * gradient.l2;
  if (gradient.inf() > 0) square = std::numeric_limits<double>::infinity();
  if (gradient.nan > 0) square = std::numeric_limits<double>::quiet_NaN();
  m_squares[parameter] = square;
}

std::optional<double> GradientNorm::value() const {
  if (m_squares.empty()) return std::nullopt;
  double sum = 0;
  for (const auto& [parameter, square] : m_squares) sum += square;
  return std::sqrt(sum);
}

}  // namespace msdbg::dump
