// exp, log, tanh and the logistic function for float32 as plain code that GCC vectorises: no table, no
// branch, no library call, and (compiled with -ffp-contract=off) the same bits with SSE2, AVX2 and AVX-512.
// About 2 ulp over the whole range; NaN, infinities, signed zeros and denormals as in C. Pure functions,
// inlined into their callers' instruction set.
//
// Polynomials and splittings of constants: Stephen L. Moshier's Cephes Math Library 2.2, single precision
// (expf.c, logf.c, tanhf.c), https://www.netlib.org/cephes.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#define MSDBG_INLINE inline __attribute__((always_inline))

namespace msdbg::core::cpu {

MSDBG_INLINE std::uint32_t floatBits(float x) { return std::bit_cast<std::uint32_t>(x); }
MSDBG_INLINE float floatFromBits(std::uint32_t bits) { return std::bit_cast<float>(bits); }
/// 2^n for n in [-126, 127].
MSDBG_INLINE float powerOfTwo(std::uint32_t n) { return floatFromBits((n + 127u) << 23); }

constexpr float kLn2High = 0.693359375f;    // 10 bits: n * kLn2High is exact for every exponent n
constexpr float kLn2Low = -2.12194440e-4f;  // ln 2 - kLn2High

/// e^r - 1 for |r| <= ln(2) / 2.
MSDBG_INLINE float expPolynomial(float r) {
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return p * (r * r) + r;
}

/// e^x. Beyond 89 infinity, below -104 zero, denormal results in between are rounded once.
MSDBG_INLINE float vecExp(float x) {
  constexpr float kRound =
      12582912.0f;            // 1.5 * 2^23: adding it rounds to an integer, which its low bits then hold
  x = x > 89.0f ? 89.0f : x;  // a NaN passes both comparisons
  x = x < -104.0f ? -104.0f : x;
  const float rounded = x * 1.44269504088896341f + kRound;
  const float n = rounded - kRound;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  const float p = expPolynomial(r) + 1.0f;
  // 2^n in two factors, because n reaches from -150 to 128; halves of a signed n, computed on biased unsigned
  // numbers.
  const std::uint32_t whole = floatBits(rounded) - floatBits(kRound);
  const std::uint32_t half = ((whole + 1024u) >> 1) - 512u;
  return p * powerOfTwo(half) * powerOfTwo(whole - half);
}

/// e^x - 1, accurate near 0 too.
MSDBG_INLINE float vecExpMinusOne(float x) {
  return std::fabs(x) <= 0.34f ? expPolynomial(x) : vecExp(x) - 1.0f;
}

/// Natural logarithm; -inf at 0, NaN below.
MSDBG_INLINE float vecLog(float x) {
  constexpr float kSmallestNormal = 1.17549435e-38f, kInf = std::numeric_limits<float>::infinity();
  const bool denormal = x < kSmallestNormal;
  const float scaled = denormal ? x * 8388608.0f : x;  // 2^23
  const std::uint32_t bits = floatBits(scaled);
  float e =
      static_cast<float>(static_cast<std::int32_t>((bits >> 23) & 255u) - 126) - (denormal ? 23.0f : 0.0f);
  float m = floatFromBits((bits & 0x007fffffu) | 0x3f000000u);  // [0.5, 1)
  const bool low = m < 0.707106781186547524f;
  e = low ? e - 1.0f : e;
  m = low ? (m + m) - 1.0f : m - 1.0f;
  const float z = m * m;
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  p = p * m * z;
  p = p + e * kLn2Low;
  p = p - 0.5f * z;
  float y = (m + p) + e * kLn2High;
  y = x == kInf ? kInf : y;
  y = x == 0.0f ? -kInf : y;
  return x >= 0.0f ? y : std::numeric_limits<float>::quiet_NaN();
}

/// Hyperbolic tangent: a polynomial near zero, 1 - 2 / (e^2|x| + 1) elsewhere.
MSDBG_INLINE float vecTanh(float x) {
  const float a = std::fabs(x), z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float nearZero = p * z * a + a;
  const float elsewhere = 1.0f - 2.0f / (vecExp(a + a) + 1.0f);
  return std::copysign(a < 0.625f ? nearZero : elsewhere, x);
}

/// 1 / (1 + e^-x), from e^-|x| so that small results keep their relative accuracy.
MSDBG_INLINE float vecSigmoid(float x) {
  const float e = vecExp(-std::fabs(x));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

}  // namespace msdbg::core::cpu
