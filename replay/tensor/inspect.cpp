#include "replay/inspect.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace msdbg::replay {

using core::CancelToken;
using core::Tensor;

namespace {

constexpr std::int64_t kBlock = 1 << 16;  // elements between two looks at the cancel token

/// f(begin, end) over blocks of the elements until it is cancelled.
template <typename F>
void inBlocks(std::int64_t elements, const CancelToken& cancel, F&& f) {
  for (std::int64_t begin = 0; begin < elements && !cancel.cancelled(); begin += kBlock)
    f(static_cast<std::size_t>(begin), static_cast<std::size_t>(std::min(begin + kBlock, elements)));
}

void countNonFinite(double value, std::int64_t& nan, std::int64_t& posInf, std::int64_t& negInf) {
  if (std::isnan(value))
    ++nan;
  else
    ++(value > 0 ? posInf : negInf);
}

template <typename T>
bool sameValue(T a, T b) {
  if constexpr (core::ComplexNumber<T>)
    return sameValue(a.real, b.real) && sameValue(a.imag, b.imag);
  else if constexpr (core::SmallFloat<T>)
    return sameValue(toFloat(a), toFloat(b));
  else if constexpr (std::is_floating_point_v<T>)
    return a == b || (std::isnan(a) && std::isnan(b));
  else
    return a == b;
}

template <typename T>
double distance(T a, T b) {
  if constexpr (core::ComplexNumber<T>)
    return core::modulus({static_cast<double>(a.real) - static_cast<double>(b.real),
                          static_cast<double>(a.imag) - static_cast<double>(b.imag)});
  else
    return std::abs(core::toDouble(a) - core::toDouble(b));
}

// Both in one type: exact for integers, which a double would round.
template <typename F>
void visitPair(const Tensor& a, const Tensor& b, F&& f) {
  assert(a.shape() == b.shape());
  if (a.dtype() != b.dtype()) {
    const bool complex = core::isComplex(a.dtype()) || core::isComplex(b.dtype());
    const core::DType both = complex ? core::DType::Complex128 : core::DType::Float64;
    const Tensor left = a.cast(both), right = b.cast(both);
    if (complex) return f(left.data<core::Complex128>(), right.data<core::Complex128>());
    return f(left.data<double>(), right.data<double>());
  }
  core::visitDType(a.dtype(), [&](auto type) {
    using T = decltype(type);
    f(a.data<T>(), b.data<T>());
  });
}

}  // namespace

NonFinite findNonFinite(const Tensor& tensor, std::size_t most, const CancelToken& cancel) {
  NonFinite found;
  if (!core::mayBeNonFinite(tensor.dtype())) return found;
  core::visitDType(tensor.dtype(), [&](auto type) {
    const auto values = tensor.data<decltype(type)>();
    inBlocks(tensor.elements(), cancel, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const double value = core::toDouble(values[i]);
        if (std::isfinite(value)) continue;
        countNonFinite(value, found.nan, found.posInf, found.negInf);
        if (found.first.size() < most) found.first.push_back({static_cast<std::int64_t>(i), value});
      }
    });
  });
  return found;
}

ValueRange ValueRange::with(const ValueRange& other) const {
  if (empty()) return other;
  if (other.empty()) return *this;
  return {std::min(low, other.low), std::max(high, other.high)};
}

ValueRange finiteRange(const Tensor& tensor, const CancelToken& cancel) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  core::visitDType(tensor.dtype(), [&](auto type) {
    const auto values = tensor.data<decltype(type)>();
    inBlocks(tensor.elements(), cancel, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const double value = core::toDouble(values[i]);
        if (!std::isfinite(value)) continue;
        low = std::min(low, value);
        high = std::max(high, value);
      }
    });
  });
  return low > high ? ValueRange{} : ValueRange{low, high};
}

Histogram histogramOf(const Tensor& tensor, ValueRange range, std::size_t bins, const CancelToken& cancel) {
  Histogram histogram;
  histogram.range = range;
  if (!range.empty()) histogram.bins.assign(bins, 0);
  // Halves: the width of the range itself may be beyond the largest double.
  const double half = range.high / 2 - range.low / 2;
  core::visitDType(tensor.dtype(), [&](auto type) {
    const auto values = tensor.data<decltype(type)>();
    inBlocks(tensor.elements(), cancel, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const double value = core::toDouble(values[i]);
        if (!std::isfinite(value)) {
          countNonFinite(value, histogram.nan, histogram.posInf, histogram.negInf);
          continue;
        }
        histogram.zero += value == 0;
        const double at = half > 0 ? (value / 2 - range.low / 2) / half * static_cast<double>(bins) : 0;
        ++histogram.bins[std::min(static_cast<std::size_t>(std::max(at, 0.0)), bins - 1)];
      }
    });
  });
  return histogram;
}

Difference compareTensors(const Tensor& a, const Tensor& b, const CancelToken& cancel) {
  Difference difference;
  visitPair(a, b, [&](auto left, auto right) {
    inBlocks(a.elements(), cancel, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        if (sameValue(left[i], right[i])) continue;
        if (difference.different++ == 0) difference.first = static_cast<std::int64_t>(i);
        const double apart = distance(left[i], right[i]);
        if (!std::isfinite(apart) || (difference.maxAt && apart <= difference.maxAbs)) continue;
        difference.maxAbs = apart;
        difference.maxAt = static_cast<std::int64_t>(i);
      }
    });
  });
  return difference;
}

}  // namespace msdbg::replay
