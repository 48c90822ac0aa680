#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <type_traits>

#include "core_engine/tensor/converted_blocks_internal.h"

namespace msdbg::core {
namespace {

constexpr std::int64_t kPart = 4096;  // elements; a multiple of the lanes, small enough for the nearest cache

/// What elements of type T are converted to.
template <typename T>
using Converted = std::conditional_t<SmallFloat<T> || (std::integral<T> && sizeof(T) <= 2), float, double>;

template <typename T>
void convert(const T* data, std::int64_t count, Converted<T>* out) {
  if constexpr (SmallFloat<T>)
    toFloats(data, count, out);
  else
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<Converted<T>>(toDouble(data[i]));
}

/// f(first element, converted elements, how many), for parts that follow each other.
template <typename T, typename F>
void inParts(const T* data, std::int64_t count, F&& f) {
  alignas(64) std::array<Converted<T>, kPart> part;
  for (std::int64_t first = 0; first < count; first += kPart) {
    const std::int64_t size = std::min(kPart, count - first);
    convert(data + first, size, part.data());
    f(first, part.data(), size);
  }
}

template <typename F>
void visitParts(DType dtype, const void* data, std::int64_t count, F&& f) {
  visitDType(dtype, [&](auto type) { inParts(static_cast<const decltype(type)*>(data), count, f); });
}

template <typename T>
constexpr DType dtypeOf(const T*) {
  return kDTypeOf<T>;
}

void combine(BlockChange& total, const BlockChange& b) {
  total.skipped += b.skipped;
  total.outside += b.outside;
  total.sumAbsChange += b.sumAbsChange;
  total.sumAbsPrevious += b.sumAbsPrevious;
  total.maxAbsChange = std::max(total.maxAbsChange, b.maxAbsChange);
}

/// The moduli of x, p and x - p do not follow from each other.
template <ComplexNumber T>
BlockChange complexChange(const T* x, const T* previous, std::int64_t count, double rtol, double atol) {
  BlockChange total;
  for (std::int64_t i = 0; i < count; ++i) {
    const Complex128 a{x[i].real, x[i].imag}, b{previous[i].real, previous[i].imag};
    const double before = modulus(b);
    if (!std::isfinite(modulus(a)) || !std::isfinite(before)) {
      ++total.skipped;
      ++total.outside;
      continue;
    }
    const double apart = modulus({a.real - b.real, a.imag - b.imag});
    total.sumAbsChange += apart;
    total.sumAbsPrevious += before;
    total.maxAbsChange = std::max(total.maxAbsChange, apart);
    total.outside += !(apart <= atol + rtol * before);
  }
  return total;
}

template <typename T>
BlockChange changeOf(const T* x, const T* previous, std::int64_t count, double rtol, double atol) {
  if constexpr (ComplexNumber<T>) return complexChange(x, previous, count, rtol, atol);
  BlockChange total;
  alignas(64) std::array<Converted<T>, kPart> before;
  inParts(x, count, [&](std::int64_t first, const auto* part, std::int64_t size) {
    convert(previous + first, size, before.data());
    combine(total, blockChange(dtypeOf(part), part, before.data(), size, rtol, atol));
  });
  return total;
}

}  // namespace

BlockMoments convertedMoments(DType dtype, const void* data, std::int64_t count) {
  BlockMoments total = noMoments();
  visitParts(dtype, data, count, [&](std::int64_t, const auto* part, std::int64_t size) {
    core::combine(total, blockMoments(dtypeOf(part), part, size));
  });
  return total;
}

BlockChange convertedChange(DType dtype, const void* x, const void* previous, std::int64_t count, double rtol,
                            double atol) {
  return visitDType(dtype, [&](auto type) {
    using T = decltype(type);
    return changeOf(static_cast<const T*>(x), static_cast<const T*>(previous), count, rtol, atol);
  });
}

BlockActivation convertedActivation(DType dtype, const void* data, std::int64_t count, double start,
                                    double end) {
  BlockActivation total;
  visitParts(dtype, data, count, [&](std::int64_t, const auto* part, std::int64_t size) {
    const BlockActivation a = blockActivation(dtypeOf(part), part, size, start, end);
    total.inRange += a.inRange;
    total.active += a.active;
  });
  return total;
}

void countConvertedActive(DType dtype, const void* data, std::int64_t count, std::int64_t* active) {
  visitParts(dtype, data, count, [&](std::int64_t first, const auto* part, std::int64_t size) {
    countActive(dtypeOf(part), part, size, active + first);
  });
}

}  // namespace msdbg::core
