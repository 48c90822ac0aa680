// What can be seen of a tensor's values without looking at each: where they are not finite, how they are
// distributed, how two tensors differ. Pure functions; thread-safe. They stop early when `cancel` is set:
// their answer is then incomplete and not to be used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core_engine/base/cancel.h"
#include "core_engine/tensor/index_text.h"

namespace msdbg::replay {

struct NonFinite {
  struct Element {
    std::int64_t flatIndex = 0;
    double value = 0;
  };
  std::int64_t nan = 0, posInf = 0, negInf = 0;
  std::vector<Element> first;  // ascending
  std::int64_t count() const { return nan + posInf + negInf; }
};
/// Counts all, lists the first `most`. A complex element counts as its modulus does (core::toDouble), here
/// and below.
NonFinite findNonFinite(const core::Tensor& tensor, std::size_t most, const core::CancelToken& cancel);

/// The least and the greatest finite value; low > high: there is none.
struct ValueRange {
  double low = 1, high = 0;
  bool empty() const { return low > high; }
  ValueRange with(const ValueRange& other) const;
};
ValueRange finiteRange(const core::Tensor& tensor, const core::CancelToken& cancel);

/// Finite values in bins of equal width from range.low to range.high (the last one closed); others are
/// counted apart. Zeros are in their bin too.
struct Histogram {
  ValueRange range;
  std::vector<std::int64_t> bins;  // empty without a finite value
  std::int64_t nan = 0, posInf = 0, negInf = 0, zero = 0;
};
Histogram histogramOf(const core::Tensor& tensor, ValueRange range, std::size_t bins,
                      const core::CancelToken& cancel);

/// A - B, element by element; of complex ones |A - B|. Two NaN, or two equal infinities, are not different.
/// Tensors of two dtypes are compared as float64, or complex128 where one is complex.
struct Difference {
  std::int64_t different = 0;
  std::optional<std::int64_t> first;  // flat index of the first different element
  double maxAbs = 0;                  // over elements that are finite in both
  std::optional<std::int64_t> maxAt;  // flat index; none when nothing finite differs
};
/// The shapes must be equal.
Difference compareTensors(const core::Tensor& a, const core::Tensor& b, const core::CancelToken& cancel);

/// The same bit by bit: equal NaNs are equal, 0.0 and -0.0 are not.
struct BitDifference {
  core::Shape shape;
  std::int64_t different = 0, first = 0;  // first: flat index
  double a = 0, b = 0;                    // the values there
  /// Between these, in representable numbers of the dtype; -0.0 and 0.0 are one apart. nullopt: no floating
  /// dtype, or one of them is NaN.
  std::optional<std::uint64_t> ulp = {};
  double maxAbs = 0;  // as Difference has it
};
/// The two have one dtype and shape. nullopt: every bit is equal.
std::optional<BitDifference> compareBits(const core::Tensor& a, const core::Tensor& b);

using core::indexOf;
using core::indexText;

/// One element as people read it (6 significant digits), and so that it reads back as the same value of its
/// dtype: the shortest such text. Complex ones as Python writes them: "1.5-2j".
std::string elementText(const core::Tensor& tensor, std::int64_t flatIndex);
std::string exactElementText(const core::Tensor& tensor, std::int64_t flatIndex);

}  // namespace msdbg::replay
