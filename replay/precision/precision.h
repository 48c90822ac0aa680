// Precision: what float64 says of an iteration that was recorded in float32. Values; thread-safe as such.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core_engine/base/ids.h"
#include "replay/proof.h"

namespace msdbg::replay {

/// What rounding did to the elements of a tensor, told from the node's recorded inputs.
enum class RoundingKind {
  kOverflow,      // an infinity or NaN where float64 has a number
  kUnderflow,     // 0 where float64 has a number that is too small for the dtype
  kDenormals,     // numbers below the smallest normal one: fewer digits, and slow
  kCancellation,  // the sum is less than a thousandth of the sum of its |terms|
  kAbsorption,    // a + b == a though b is not 0: of an update, the step was too small for the weight
};
std::string_view roundingKindName(RoundingKind kind);  // "overflow"

/// The error that a node made by itself: its output against float64 from the same recorded inputs.
struct LocalError {
  double units = 0;  // the largest of all elements, in eps * sum of |terms|; inf: only one of both is finite
  std::int64_t element = 0;              // where, row-major
  double recorded = 0, exact = 0;        // there
  double terms = 0;                      // the sum of |terms| there
  std::vector<RoundingKind> kinds = {};  // in the order of the enum
};

/// The error that has come together since the sources: the output against float64 throughout.
struct AccumulatedError {
  double relative = 0;  // L2 norm of the difference over that of float64; inf: only one of both is finite
  double largest = 0;   // of all elements, absolute
  std::optional<double> amplification =
      {};  // relative over the largest of the node's inputs; none: they had none
};

struct PrecisionRow {
  core::Rank rank;
  core::TensorId tensor;   // of the run
  std::int64_t order = 0;  // of its node, on its rank
  bool computed = false;   // its value, or one that its node read, was computed again, not stored
  std::optional<LocalError> local = {};
  std::optional<AccumulatedError> accumulated = {};
  bool suspicious() const;  // local above kSuspiciousUnits
};

struct Precision {
  std::vector<PrecisionRow> rows;  // by rank, then order; tensors of a floating dtype only
  struct Unjudged {
    std::string why;
    std::int64_t tensors = 0;
    core::TensorId first;  // of them
  };
  std::vector<Unjudged> unjudged;  // by why, as they were met
  /// Where values that were computed again are not what was recorded: Hindsight::differences().
  std::vector<Mismatch> differences;
  bool suspicious() const;
};

/// A healthy node stays below: 11.2 is the most that was measured of the five models (msdbg dump MODEL
/// --steps 12
/// --policy record; msdbg replay --iteration K --dtype float64 --json; replay/precision/MEASURED.md). What is
/// wrong by 1/1000 has hundreds.
inline constexpr double kSuspiciousUnits = 32;

/// The largest first: places in `rows`, without those that have none, ties in their order.
std::vector<std::size_t> rankedByLocal(const std::vector<PrecisionRow>& rows);
std::vector<std::size_t> rankedByAccumulated(const std::vector<PrecisionRow>& rows);

}  // namespace msdbg::replay
