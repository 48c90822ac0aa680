// The elements that C++ has no type of its own for: 16-bit and 8-bit floating-point numbers and complex ones.
// They are stored, read and made, not computed with: who computes converts. Values; pure functions;
// thread-safe.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace msdbg::core {

struct Float16 {  // IEEE 754 binary16: 5 bits of exponent, 10 of fraction
  std::uint16_t bits = 0;
};
struct BFloat16 {  // the upper half of a float32
  std::uint16_t bits = 0;
};

// 8 bits (Micikevicius and others 2022, "FP8 formats for deep learning", and Noune and others 2022), named by
// the bits of exponent and fraction. FN: finite, without Inf. UZ: without -0, whose pattern is the only NaN.
struct Float8E4M3FN {
  std::uint8_t bits = 0;
};
struct Float8E4M3FNUZ {
  std::uint8_t bits = 0;
};
struct Float8E5M2 {  // as IEEE 754 would have it: with Inf
  std::uint8_t bits = 0;
};
struct Float8E5M2FNUZ {
  std::uint8_t bits = 0;
};

struct Complex64 {
  float real = 0, imag = 0;
};
struct Complex128 {
  double real = 0, imag = 0;
};

template <typename T>
concept SmallFloat = std::same_as<T, Float16> || std::same_as<T, BFloat16> || std::same_as<T, Float8E4M3FN> ||
    std::same_as<T, Float8E4M3FNUZ> || std::same_as<T, Float8E5M2> || std::same_as<T, Float8E5M2FNUZ>;
template <typename T>
concept ComplexNumber = std::same_as<T, Complex64> || std::same_as<T, Complex128>;

/// Exact: every small float is a float32.
float toFloat(Float16 x);
float toFloat(BFloat16 x);
float toFloat(Float8E4M3FN x);
float toFloat(Float8E4M3FNUZ x);
float toFloat(Float8E5M2 x);
float toFloat(Float8E5M2FNUZ x);

/// The same of `count` elements that follow each other.
template <SmallFloat T>
void toFloats(const T* x, std::int64_t count, float* out);

/// The nearest number, of two the one with an even last bit. What is too large becomes Inf, or NaN in a type
/// without Inf, as NumPy, ml_dtypes and PyTorch do it.
template <SmallFloat T>
T roundTo(double x);

/// roundTo() of `count` elements that follow each other.
void roundAll(const float* x, std::int64_t count, Float16* out);
void roundAll(const float* x, std::int64_t count, BFloat16* out);

/// |z|; NaN where one of the parts is.
double modulus(Complex128 z);

/// An element as a number to look at: exact, but for integers beyond 2^53, which are rounded. Of a complex
/// one its modulus.
template <typename T>
double toDouble(T x) {
  if constexpr (SmallFloat<T>)
    return static_cast<double>(toFloat(x));
  else if constexpr (ComplexNumber<T>)
    return modulus({x.real, x.imag});
  else
    return static_cast<double>(x);
}

}  // namespace msdbg::core
