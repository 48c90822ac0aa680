// How far two elements of one dtype are apart, in numbers that the dtype can represent. Pure functions;
// thread-safe.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

#include "core_engine/tensor/dtype.h"

namespace msdbg::replay {

template <typename T>
bool isNanElement(T x) {
  if constexpr (core::SmallFloat<T>)
    return std::isnan(toFloat(x));
  else if constexpr (core::ComplexNumber<T>)
    return std::isnan(x.real) || std::isnan(x.imag);
  else if constexpr (std::is_floating_point_v<T>)
    return std::isnan(x);
  else
    return false;
}

/// The place of a floating element among all of its dtype, in order. Formats order by magnitude as integers
/// do, and the sign bit is the highest; -0.0 comes right before 0.0, where there is one.
template <typename T>
std::int64_t numberPlace(T x) {
  constexpr bool kHasNegativeZero =
      !std::is_same_v<T, core::Float8E4M3FNUZ> && !std::is_same_v<T, core::Float8E5M2FNUZ>;
  std::uint64_t bits = 0;  // little-endian, as everywhere
  std::memcpy(&bits, &x, sizeof(T));
  constexpr std::uint64_t kSign = std::uint64_t{1} << (8 * sizeof(T) - 1);
  const auto magnitude = static_cast<std::int64_t>(bits & (kSign - 1));
  return bits & kSign ? -magnitude - (kHasNegativeZero ? 1 : 0) : magnitude;
}

/// Of integers their distance, of complex numbers that of the parts which are further apart. nullopt: one of
/// them is NaN.
template <typename T>
std::optional<std::uint64_t> ulpBetween(T a, T b) {
  if (isNanElement(a) || isNanElement(b)) return std::nullopt;
  if constexpr (core::ComplexNumber<T>) {
    return std::max(*ulpBetween(a.real, b.real), *ulpBetween(a.imag, b.imag));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<std::uint64_t>(std::max(a, b)) - static_cast<std::uint64_t>(std::min(a, b));
  } else {
    const std::int64_t left = numberPlace(a), right = numberPlace(b);
    return static_cast<std::uint64_t>(std::max(left, right)) -
           static_cast<std::uint64_t>(std::min(left, right));
  }
}

}  // namespace msdbg::replay
