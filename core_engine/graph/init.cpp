#include "core_engine/graph/init.h"

#include <cmath>
#include <string>

#include "core_engine/base/text.h"

namespace msdbg::core {
namespace {

/// Kaiming's variance is 2 / fan-in: any normal distribution is kept as the fan-in that has its deviation.
Initializer normalWith(double deviation) {
  return {Initializer::Kind::kKaimingNormal, 2 / (deviation * deviation)};
}

Initializer constantOf(double value) {
  return {value == 0 ? Initializer::Kind::kZeros : Initializer::Kind::kConstant, value};
}

Error wrong(const std::string& what) { return {ErrorCode::kUsage, "initial values: " + what}; }

struct Fans {
  double in, out;
  explicit Fans(const Shape& shape)
      : in(static_cast<double>(shape.elements() / shape[0])),
        out(static_cast<double>(shape[0]) * in / static_cast<double>(shape[1])) {}
  double sum() const { return in + out; }
};

}  // namespace

bool Init::usesFans() const {
  return m_kind == Kind::kXavierUniform || m_kind == Kind::kXavierNormal || m_kind == Kind::kKaimingNormal;
}

Status Init::check(const Shape& shape) const {
  if (!std::isfinite(m_value) || !std::isfinite(m_high)) return wrong("a number is not finite");
  if (m_kind == Kind::kUniform && !(m_value < m_high))
    return wrong("uniform from " + formatDouble(m_value) + " to " + formatDouble(m_high) + " is no range");
  const bool scales = m_kind == Kind::kNormal || m_kind == Kind::kTruncatedNormal ||
                      m_kind == Kind::kXavierUniform || m_kind == Kind::kXavierNormal;
  if (scales && !(m_value > 0))
    return wrong("a deviation or gain of " + formatDouble(m_value) + ", but it must be positive");
  if (usesFans() && shape.rank() < 2)
    return wrong("Xavier's and Kaiming's need a fan-in, which a shape of " + shape.text() +
                 " has not; use normal, uniform or constant");
  return Ok{};
}

Result<Initializer> Init::forShape(const Shape& shape) const {
  MSDBG_TRY(check(shape));
  switch (m_kind) {
    case Kind::kConstant:
      return constantOf(m_value);
    case Kind::kNormal:
      return normalWith(m_value);
    case Kind::kTruncatedNormal:
      return Initializer{Initializer::Kind::kTruncatedNormal, m_value};
    case Kind::kUniform:
      return Initializer{Initializer::Kind::kUniform, m_value, m_high};
    case Kind::kXavierNormal:
      return normalWith(m_value * std::sqrt(2 / Fans(shape).sum()));
    case Kind::kXavierUniform: {
      const double end = m_value * std::sqrt(6 / Fans(shape).sum());
      return Initializer{Initializer::Kind::kUniform, -end, end};
    }
    case Kind::kKaimingNormal:
      break;
  }
  return Initializer{Initializer::Kind::kKaimingNormal, Fans(shape).in};
}

}  // namespace msdbg::core
