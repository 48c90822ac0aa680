#include "core_engine/tensor/element_types.h"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "core_engine/base/simd.h"

namespace msdbg::core {
namespace {

/// How an 8-bit type uses its patterns.
struct Float8Format {
  int fraction;   // bits
  int bias;       // of the exponent
  int largest;    // the pattern of the largest finite number
  bool infinite;  // the pattern after it is Inf, else NaN
  bool oneNaN;    // the pattern of -0 is the only NaN
};
constexpr Float8Format kE4M3FN{3, 7, 0x7e, false, false}, kE4M3FNUZ{3, 8, 0x7f, false, true},
    kE5M2{2, 15, 0x7b, true, false}, kE5M2FNUZ{2, 16, 0x7f, false, true};

constexpr float powerOfTwo(int exponent) {
  float power = 1;
  for (int i = 0; i < exponent; ++i) power *= 2;
  for (int i = 0; i > exponent; --i) power /= 2;
  return power;
}

/// (1 + f / 2^F) 2^(e - bias); where e is 0 the numbers go on with (f / 2^F) 2^(1 - bias).
constexpr float positiveNumber(const Float8Format& format, int pattern) {
  const int scale = 1 << format.fraction, exponent = pattern >> format.fraction, rest = pattern & (scale - 1);
  const int whole = exponent == 0 ? rest : scale + rest;
  return static_cast<float>(whole) * powerOfTwo(std::max(exponent, 1) - format.bias - format.fraction);
}

constexpr float numberOf(const Float8Format& format, int pattern) {
  const int magnitude = pattern & 0x7f;
  const float sign = pattern & 0x80 ? -1.0f : 1.0f;
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  if (format.oneNaN) return pattern == 0x80 ? kNaN : sign * positiveNumber(format, magnitude);
  if (magnitude <= format.largest) return sign * positiveNumber(format, magnitude);
  if (format.infinite && magnitude == format.largest + 1)
    return sign * std::numeric_limits<float>::infinity();
  return kNaN;
}

constexpr std::array<float, 256> tableOf(const Float8Format& format) {
  std::array<float, 256> table{};
  for (int pattern = 0; pattern < 256; ++pattern)
    table[static_cast<std::size_t>(pattern)] = numberOf(format, pattern);
  return table;
}

constexpr std::array<float, 256> kE4M3FNTable = tableOf(kE4M3FN), kE4M3FNUZTable = tableOf(kE4M3FNUZ),
                                 kE5M2Table = tableOf(kE5M2), kE5M2FNUZTable = tableOf(kE5M2FNUZ);

/// The pattern of a magnitude: positive numbers ascend with their patterns. format.largest + 1: too large.
int nearestPattern(const Float8Format& format, const std::array<float, 256>& table, double magnitude) {
  const auto end = table.begin() + format.largest + 1;
  const int below = static_cast<int>(std::upper_bound(table.begin(), end, magnitude) - table.begin()) - 1;
  const auto at = [&](int pattern) { return static_cast<double>(table[static_cast<std::size_t>(pattern)]); };
  // Behind the largest number the next one of the same step counts, as if it were there.
  const double step = below < format.largest ? at(below + 1) - at(below) : at(below) - at(below - 1);
  const double beyond = magnitude - (at(below) + step / 2);
  return beyond > 0 || (beyond == 0 && below % 2 != 0) ? below + 1 : below;
}

std::uint8_t toPattern(const Float8Format& format, const std::array<float, 256>& table, double x) {
  const int sign = std::signbit(x) ? 0x80 : 0;
  const int nan = format.oneNaN ? 0x80 : sign | (format.infinite ? 0x7e : 0x7f);
  if (std::isnan(x)) return static_cast<std::uint8_t>(nan);
  const int pattern = nearestPattern(format, table, std::fabs(x));
  if (pattern > format.largest && !format.infinite) return static_cast<std::uint8_t>(nan);
  if (pattern == 0 && format.oneNaN) return 0;
  return static_cast<std::uint8_t>(sign | pattern);
}

/// A float32 that rounds to 16 bits as x itself does: where x lies between two, the one with an odd last bit.
/// A plain conversion could round twice. (Boldo and Melquiond 2008, "Emulation of FMA and correctly rounded
/// sums".)
float roundToOdd(double x) {
  const float nearest = static_cast<float>(x);
  if (std::isnan(x) || static_cast<double>(nearest) == x) return nearest;
  const float below =
      std::fabs(static_cast<double>(nearest)) > std::fabs(x) ? std::nextafter(nearest, 0.0f) : nearest;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(below) | 1u);
}

// Public functions may be replaced when a program is loaded, so they are not inlined even here: loops call
// these.
float valueOf(Float16 x) { return static_cast<float>(std::bit_cast<Eigen::half>(x.bits)); }
float valueOf(BFloat16 x) { return static_cast<float>(std::bit_cast<Eigen::bfloat16>(x.bits)); }
float valueOf(Float8E4M3FN x) { return kE4M3FNTable[x.bits]; }
float valueOf(Float8E4M3FNUZ x) { return kE4M3FNUZTable[x.bits]; }
float valueOf(Float8E5M2 x) { return kE5M2Table[x.bits]; }
float valueOf(Float8E5M2FNUZ x) { return kE5M2FNUZTable[x.bits]; }

// Without branches and calls, so that the loops are those of the machine's widest registers. target_clones
// takes plain functions only.
MSDBG_SIMD_CLONES void valuesOf(const BFloat16* x, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = std::bit_cast<float>(std::uint32_t(x[i].bits) << 16);
}

constexpr std::uint32_t mask(bool wanted) { return 0u - std::uint32_t(wanted); }

/// Exponent and fraction move to where float32 has them; then the exponents' biases differ by 112, Inf and
/// NaN have the largest exponent of either, and what has none is a multiple of 2^-24: 2^-14 (1 + f) - 2^-14.
MSDBG_SIMD_CLONES void valuesOf(const Float16* x, std::int64_t count, float* out) {
  constexpr std::uint32_t kExponent = 0x7c00u << 13, kBias = 112u << 23;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t moved = (x[i].bits & 0x7fffu) << 13, exponent = moved & kExponent;
    const std::uint32_t number = moved + kBias + (kBias & mask(exponent == kExponent));
    const float small =
        std::bit_cast<float>(moved + kBias + (1u << 23)) - std::bit_cast<float>(kBias + (1u << 23));
    const std::uint32_t magnitude =
        (std::bit_cast<std::uint32_t>(small) & mask(exponent == 0)) | (number & mask(exponent != 0));
    out[i] = std::bit_cast<float>(magnitude | (x[i].bits & 0x8000u) << 16);
  }
}

/// The upper half, and one more where the lower is above its middle, or in it and the upper is odd. A NaN is
/// the one that Eigen makes of it.
MSDBG_SIMD_CLONES void roundToUpperHalf(const float* x, std::int64_t count, BFloat16* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(x[i]);
    const std::uint32_t number = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const std::uint32_t nan = ((bits >> 16) & 0x8000u) | 0x7fc0u,
                        isNaN = mask((bits & 0x7fffffffu) > 0x7f800000u);
    out[i].bits = static_cast<std::uint16_t>((number & ~isNaN) | (nan & isNaN));
  }
}

template <typename T>
void valuesOf(const T* x, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = valueOf(x[i]);
}

}  // namespace

float toFloat(Float16 x) { return valueOf(x); }
float toFloat(BFloat16 x) { return valueOf(x); }
float toFloat(Float8E4M3FN x) { return valueOf(x); }
float toFloat(Float8E4M3FNUZ x) { return valueOf(x); }
float toFloat(Float8E5M2 x) { return valueOf(x); }
float toFloat(Float8E5M2FNUZ x) { return valueOf(x); }

template <SmallFloat T>
void toFloats(const T* x, std::int64_t count, float* out) {
  valuesOf(x, count, out);
}
template void toFloats(const Float16*, std::int64_t, float*);
template void toFloats(const BFloat16*, std::int64_t, float*);
template void toFloats(const Float8E4M3FN*, std::int64_t, float*);
template void toFloats(const Float8E4M3FNUZ*, std::int64_t, float*);
template void toFloats(const Float8E5M2*, std::int64_t, float*);
template void toFloats(const Float8E5M2FNUZ*, std::int64_t, float*);

template <>
Float16 roundTo(double x) {
  return {std::bit_cast<std::uint16_t>(Eigen::half(roundToOdd(x)))};
}
template <>
BFloat16 roundTo(double x) {
  return {std::bit_cast<std::uint16_t>(Eigen::bfloat16(roundToOdd(x)))};
}
template <>
Float8E4M3FN roundTo(double x) {
  return {toPattern(kE4M3FN, kE4M3FNTable, x)};
}
template <>
Float8E4M3FNUZ roundTo(double x) {
  return {toPattern(kE4M3FNUZ, kE4M3FNUZTable, x)};
}
template <>
Float8E5M2 roundTo(double x) {
  return {toPattern(kE5M2, kE5M2Table, x)};
}
template <>
Float8E5M2FNUZ roundTo(double x) {
  return {toPattern(kE5M2FNUZ, kE5M2FNUZTable, x)};
}

void roundAll(const float* x, std::int64_t count, Float16* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i].bits = std::bit_cast<std::uint16_t>(Eigen::half(x[i]));
}
void roundAll(const float* x, std::int64_t count, BFloat16* out) { roundToUpperHalf(x, count, out); }

double modulus(Complex128 z) {
  if (std::isnan(z.real) || std::isnan(z.imag)) return std::numeric_limits<double>::quiet_NaN();
  // Where the squares neither overflow nor vanish, as those of every float32, this takes a tenth of hypot's
  // time.
  const double larger = std::max(std::fabs(z.real), std::fabs(z.imag));
  if (larger > 1e-140 && larger < 1e150) return std::sqrt(z.real * z.real + z.imag * z.imag);
  return std::hypot(z.real, z.imag);
}

}  // namespace msdbg::core
