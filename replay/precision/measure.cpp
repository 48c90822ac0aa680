#include "replay/precision/measure.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace msdbg::replay {

using core::Tensor;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kCancelled = 1.0 / 1024;  // of the sum of |terms| is left: three of seven digits are gone
constexpr double kNotable = 1.0 / 1000;    // share of elements that underflow, or are denormal

// Of a recorded tensor against float64, element by element.
struct Counts {
  std::int64_t overflowed = 0, underflowed = 0, denormal = 0;
  double squares = 0, termSquares = 0;

  void add(double recorded, double exact, double terms, const core::FloatLimits& limits) {
    if (!std::isfinite(recorded) && std::isfinite(exact)) ++overflowed;
    if (recorded == 0 && exact != 0 && std::abs(exact) < limits.smallestNormal) ++underflowed;
    if (recorded != 0 && std::abs(recorded) < limits.smallestNormal) ++denormal;
    if (!std::isfinite(exact) || !std::isfinite(terms)) return;
    squares += exact * exact;
    termSquares += terms * terms;
  }

  std::vector<RoundingKind> kinds(std::int64_t elements) const {
    const double notable = kNotable * static_cast<double>(elements);
    const auto many = [&](std::int64_t count) { return count > 0 && static_cast<double>(count) >= notable; };
    std::vector<RoundingKind> kinds;
    if (overflowed > 0) kinds.push_back(RoundingKind::kOverflow);
    if (many(underflowed)) kinds.push_back(RoundingKind::kUnderflow);
    if (many(denormal)) kinds.push_back(RoundingKind::kDenormals);
    if (termSquares > 0 && std::sqrt(squares) < kCancelled * std::sqrt(termSquares))
      kinds.push_back(RoundingKind::kCancellation);
    return kinds;
  }
};

double unitsOf(double recorded, double exact, double terms, const core::FloatLimits& limits) {
  if (std::isfinite(recorded) != std::isfinite(exact)) return kInfinity;
  if (!std::isfinite(exact) || !std::isfinite(terms)) return 0;  // nothing tells how large its terms are
  return std::abs(recorded - exact) / (limits.epsilon * terms + limits.smallest);
}

}  // namespace

LocalError localError(const Tensor& recorded, const Tensor& exact, const Tensor& terms) {
  const core::FloatLimits limits = core::floatLimits(recorded.dtype());
  const Tensor was = recorded.cast(core::DType::Float64);
  const auto r = was.data<double>(), e = exact.data<double>(), t = terms.data<double>();
  LocalError error;
  Counts counts;
  double worst = -1;
  for (std::size_t i = 0; i < r.size(); ++i) {
    counts.add(r[i], e[i], t[i], limits);
    const double units = unitsOf(r[i], e[i], t[i], limits);
    if (units <= worst) continue;
    worst = units;
    error = {units, static_cast<std::int64_t>(i), r[i], e[i], t[i]};
  }
  error.kinds = counts.kinds(recorded.elements());
  return error;
}

bool isAbsorbed(const Tensor& before, const Tensor& recorded, const Tensor& exact) {
  const Tensor from = before.cast(core::DType::Float64), was = recorded.cast(core::DType::Float64);
  const auto b = from.data<double>(), r = was.data<double>(), e = exact.data<double>();
  std::int64_t absorbed = 0, changed = 0;
  for (std::size_t i = 0; i < r.size(); ++i) {
    if (e[i] == b[i] || !std::isfinite(e[i])) continue;
    ++changed;
    if (r[i] == b[i]) ++absorbed;
  }
  return absorbed > 0 && 2 * absorbed >= changed;
}

AccumulatedError accumulatedError(const Tensor& recorded, const Tensor& throughout) {
  const Tensor was = recorded.cast(core::DType::Float64);
  const auto r = was.data<double>(), e = throughout.data<double>();
  AccumulatedError error;
  double squares = 0, all = 0;
  for (std::size_t i = 0; i < r.size(); ++i) {
    if (std::isfinite(r[i]) != std::isfinite(e[i])) return {kInfinity, kInfinity, {}};
    if (!std::isfinite(e[i])) continue;
    const double difference = std::abs(r[i] - e[i]);
    error.largest = std::max(error.largest, difference);
    squares += difference * difference;
    all += e[i] * e[i];
  }
  if (squares > 0) error.relative = all > 0 ? std::sqrt(squares / all) : kInfinity;
  return error;
}

}  // namespace msdbg::replay
