// How a parameter gets its first values: Init is what a user chooses, Initializer what the graph keeps, with
// the sizes of the weight put in. Values; pure functions.
#pragma once

#include <cstdint>

#include "core_engine/base/result.h"
#include "core_engine/tensor/tensor.h"

namespace msdbg::core {

/// How a source gets its first value. Values are drawn by Philox keyed by (seed, tensor name, index).
struct Initializer {
  enum class Kind : std::uint8_t {
    kNone = 0,
    kZeros = 1,
    kConstant = 2,
    kKaimingNormal = 3,
    kUniform = 4,
    kTruncatedNormal = 5,
  } kind = Kind::kNone;
  double value = 0;  // kConstant: the value; kKaimingNormal: fan-in, the variance being 2 / fan-in; kUniform:
                     // the lower end; kTruncatedNormal: the standard deviation before it is cut
  double high = 0;   // kUniform: the upper end, not reached
  bool operator==(const Initializer&) const = default;
};

/// Fan-in is what an output is summed from: the elements of a weight [out, in, …] for one `out`; fan-out is
/// `out` times the elements behind `in`.
class Init {
 public:
  static Init zeros() { return constant(0); }
  static Init ones() { return constant(1); }
  static Init constant(double value) { return {Kind::kConstant, value}; }
  static Init normal(double deviation = 1) { return {Kind::kNormal, deviation}; }
  /// Drawn again beyond two deviations; `deviation` is that before the cut, as TensorFlow's and PyTorch's.
  static Init truncatedNormal(double deviation = 1) { return {Kind::kTruncatedNormal, deviation}; }
  /// In [low, high).
  static Init uniform(double low, double high) { return {Kind::kUniform, low, high}; }
  /// Glorot and Bengio 2010: uniform in gain * sqrt(6 / (fan-in + fan-out)) around 0, or normal with
  /// deviation gain * sqrt(2 / (fan-in + fan-out)).
  static Init xavierUniform(double gain = 1) { return {Kind::kXavierUniform, gain}; }
  static Init xavierNormal(double gain = 1) { return {Kind::kXavierNormal, gain}; }
  /// He et al. 2015: normal with deviation sqrt(2 / fan-in).
  static Init kaimingNormal() { return {Kind::kKaimingNormal}; }

  /// kUsage: a deviation, gain or range that is none; fans of a shape that has none (less than 2 dimensions).
  Result<Initializer> forShape(const Shape& shape) const;

 private:
  enum class Kind : std::uint8_t {
    kConstant,
    kNormal,
    kTruncatedNormal,
    kUniform,
    kXavierUniform,
    kXavierNormal,
    kKaimingNormal
  };
  Init(Kind kind, double value = 0, double high = 0) : m_kind(kind), m_value(value), m_high(high) {}
  bool usesFans() const;
  Status check(const Shape& shape) const;

  Kind m_kind;
  double m_value, m_high;  // the value, deviation, gain or lower end; the upper end
};

}  // namespace msdbg::core
