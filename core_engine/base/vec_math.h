// exp, log, tanh and the logistic function for float32 as plain code that GCC vectorises: no table, no
// branch, no library call, and (compiled without contraction to fused multiply-adds) the same bits with SSE2,
// AVX2, AVX-512 and on a GPU, but for the payload of NaN. About 2 ulp over the whole range; NaN, infinities,
// signed zeros and denormals as in C. Pure functions, inlined into their callers' instruction set.
//
// Polynomials and splittings of constants: Stephen L. Moshier's Cephes Math Library 2.2, single precision
// (expf.c, logf.c, tanhf.c, ndtrf.c), https://www.netlib.org/cephes.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core_engine/base/inline.h"

namespace msdbg::core {

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

/// erfc(a) for a >= 1, given exp(-a^2). An infinite a gives 0.
MSDBG_INLINE float erfcTail(float a, float expMinusSquare) {
  const float q = 1.0f / a, y = q * q;
  float p = 2.326819970068386e-2f;  // a < 2
  p = p * y - 1.387039388740657e-1f;
  p = p * y + 3.687424674597105e-1f;
  p = p * y - 5.824733027278666e-1f;
  p = p * y + 6.210004621745983e-1f;
  p = p * y - 4.944515323274145e-1f;
  p = p * y + 3.404879937665872e-1f;
  p = p * y - 2.741127028184656e-1f;
  p = p * y + 5.638259427386472e-1f;
  float r = -1.047766399936249e+1f;
  r = r * y + 1.297719955372516e+1f;
  r = r * y - 7.495518717768503e+0f;
  r = r * y + 2.921019019210786e+0f;
  r = r * y - 1.015265279202700e+0f;
  r = r * y + 4.218463358204948e-1f;
  r = r * y - 2.820767439740514e-1f;
  r = r * y + 5.641895067754075e-1f;
  return expMinusSquare * q * (a < 2.0f ? p : r);
}

/// erf(x) for |x| <= 1.
MSDBG_INLINE float erfNearZero(float x) {
  const float z = x * x;
  float p = 7.853861353153693e-5f;
  p = p * z - 8.010193625184903e-4f;
  p = p * z + 5.188327685732524e-3f;
  p = p * z - 2.685381193529856e-2f;
  p = p * z + 1.128358514861418e-1f;
  p = p * z - 3.761262582423300e-1f;
  p = p * z + 1.128379165726710e+0f;
  return p * x;
}

/// The error function; absolute error below 2e-7.
MSDBG_INLINE float vecErf(float x) {
  const float a = std::fabs(x);
  const float far = std::copysign(1.0f - erfcTail(a, vecExp(-a * a)), x);
  return a <= 1.0f ? erfNearZero(x) : far;
}

/// The share of the standard normal distribution below x, and its density there: what Gelu and its slope are
/// made of. The tail below 0 keeps its relative accuracy but for the rounding of x^2.
struct NormalShare {
  float below, density;
};
MSDBG_INLINE NormalShare vecNormal(float x) {
  const float u = x * 0.70710678118654752440f, a = std::fabs(u), e = vecExp(-a * a);
  const float tail = 0.5f * erfcTail(a, e);
  const float far = x < 0.0f ? tail : 1.0f - tail;
  const float below = a <= 1.0f ? 0.5f + 0.5f * erfNearZero(u) : far;
  // One NaN throughout: of two with different signs the order of operands, which is the compiler's, would
  // choose.
  return {x == x ? below : x, x == x ? 0.39894228040143267794f * e : x};
}
MSDBG_INLINE float vecGelu(float x) { return x * vecNormal(x).below; }
MSDBG_INLINE float vecGeluSlope(float x) {
  const NormalShare n = vecNormal(x);
  return n.below + x * n.density;
}

}  // namespace msdbg::core
