// Measures: how two tensors of one shape differ, in one pass over both in blocks of 64 KiB. The numbers
// depend on the elements alone. Pure functions; thread-safe; any dtype.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "core_engine/base/cancel.h"
#include "replay/diff/spread.h"

namespace msdbg::replay {

/// A is the first tensor, B the second. An element counts as core::toDouble() has it; complex ones are apart
/// by |a - b|.
struct Measures {
  core::Shape shape;
  core::DType dtypeA = core::DType::Float32, dtypeB = core::DType::Float32;
  std::int64_t elements = 0;

  /// In any bit, so also 0.0 and -0.0; of two dtypes in value.
  std::int64_t different = 0;
  std::optional<std::int64_t> first;  // flat index of the first different element
  double firstA = 0, firstB = 0;      // and what is there

  // What is so of the different elements; the rest of them are two finite numbers of one sign.
  std::int64_t nanOnlyA = 0, nanOnlyB = 0;  // NaN on one side
  std::int64_t nanBits = 0;                 // NaN on both, in other bits
  std::int64_t infinite = 0;                // no NaN, and an infinity on one side at least
  std::int64_t otherSign = 0;               // finite, above zero here and below there
  std::int64_t zeroSign = 0;                // 0.0 and -0.0
  bool otherNonFinite() const { return nanOnlyA + nanOnlyB + infinite > 0; }

  // Over the elements that are finite in both.
  double maxAbs = 0;  // |a - b|
  std::optional<std::int64_t> maxAt;
  double maxA = 0, maxB = 0;  // what is there
  double maxRel = 0;          // |a - b| / max(|a|, |b|)
  std::optional<std::int64_t> maxRelAt;
  double meanAbs = 0;    // of all of these elements, equal ones too
  double magnitude = 0;  // the largest |a| or |b|
  /// a·b / (|a| |b|), of complex ones its real part; NaN where one of the two has no length, or one beyond
  /// the largest double.
  double cosine = NAN;
  double relativeNorm = NAN;  // |a - b| / |a| in the Euclidean norm

  /// Elements by their distance in representable numbers: [0] none, [1] one, [2] 2-3, [3] 4-7, … Floating
  /// numbers of two dtypes are rounded to the smaller of them. nullopt: two dtypes without a common one.
  using Ulps = std::array<std::int64_t, 65>;
  std::optional<Ulps> ulps;
  std::uint64_t maxUlp = 0;

  Spread where;

  double share() const {
    return elements > 0 ? static_cast<double>(different) / static_cast<double>(elements) : 0;
  }
  /// maxAbs as a part of the largest number; 0 of zeros.
  double scaled() const { return magnitude > 0 ? maxAbs / magnitude : 0; }
};

/// The shapes are equal. Stops early when `cancel` is set: the answer is then not to be used.
Measures measureTensors(const core::Tensor& a, const core::Tensor& b, const core::CancelToken& cancel);

/// "1 ulp 12, 2-3 ulp 4, 1,024-2,047 ulp 1"; of many kinds of distances those in between are summed up.
std::string ulpText(const Measures& measures);

}  // namespace msdbg::replay
