// Products and sums that overflow, or that have Inf among what they combine.
#include <algorithm>
#include <cmath>

#include "core_engine/base/text.h"
#include "watchpoints/blame/rules_internal.h"

namespace msdbg::watch {

using core::formatShort;
using core::TensorStatistics;

namespace {

bool isInfinite(double x) { return std::isinf(x); }

std::string infinities(Look& look, std::size_t input, std::optional<std::int64_t> element) {
  const TensorStatistics& x = *look.input(input);
  const std::string name = x.posInf == 0 ? "-Inf" : x.negInf == 0 ? "Inf" : "Inf or -Inf";
  return "is " + name + look.places(input, x.inf(), element);
}

/// How many products are added up for one element, at most.
double longestSum(Look& look) {
  if (look.node().opType == "Mul") return 1;
  return static_cast<double>(std::min(look.input(0)->count, look.input(1)->count));
}

std::optional<Blame> reaches(Look& look, std::size_t input, const std::string& why) {
  const double largest = largestMagnitude(*look.input(input));
  const auto element = look.first(input, [&](double v) { return std::abs(v) == largest; });
  return look.blame(input, "reaches " + formatShort(largest) + look.at(input, element) + ": " + why,
                    Wrong::kExtreme, element);
}

}  // namespace

std::optional<Blame> infinityTimesZero(Look& look) {
  const TensorStatistics *a = look.input(0), *b = look.input(1), *out = look.output();
  if (!a || !b || !out || out->nan == 0 || a->nan + b->nan > 0) return std::nullopt;
  const bool first = a->inf() > 0 && b->zero > 0;
  if (!first && !(b->inf() > 0 && a->zero > 0)) return std::nullopt;
  const std::size_t infinite = first ? 0 : 1, zero = first ? 1 : 0;
  const auto element = look.first(infinite, isInfinite);
  return look.blame(
      infinite,
      infinities(look, infinite, element) + " and " + look.inputName(zero) + " holds 0: 0 * Inf gives NaN",
      Wrong::kNonFinite, element);
}

std::optional<Blame> productOverflows(Look& look) {
  const TensorStatistics *a = look.input(0), *b = look.input(1);
  if (!a || !b || a->nonFinite() + b->nonFinite() > 0) return std::nullopt;
  const double left = largestMagnitude(*a), right = largestMagnitude(*b);
  if (left * right * longestSum(look) <= look.limit()) return std::nullopt;
  const std::size_t larger = left >= right ? 0 : 1;
  return reaches(look, larger,
                 "the product with " + look.inputName(1 - larger) + ", which reaches " +
                     formatShort(larger == 0 ? right : left) + ", overflows " + look.limitName());
}

std::optional<Blame> infinityMinusInfinity(Look& look) {
  const TensorStatistics *a = look.input(0), *b = look.input(1), *out = look.output();
  if (!a || !b || !out || out->nan == 0 || a->nan + b->nan > 0) return std::nullopt;
  const bool sum = look.node().opType == "Add";
  const bool opposite = sum ? (a->posInf > 0 && b->negInf > 0) || (a->negInf > 0 && b->posInf > 0)
                            : (a->posInf > 0 && b->posInf > 0) || (a->negInf > 0 && b->negInf > 0);
  if (!opposite) return std::nullopt;
  const auto element = look.first(0, isInfinite);
  return look.blame(
      0, infinities(look, 0, element) + " and so is " + look.inputName(1) + ": Inf - Inf gives NaN",
      Wrong::kNonFinite, element);
}

std::optional<Blame> sumOverflows(Look& look) {
  const TensorStatistics *a = look.input(0), *b = look.input(1);
  if (!a || !b || a->nonFinite() + b->nonFinite() > 0) return std::nullopt;
  const double left = largestMagnitude(*a), right = largestMagnitude(*b);
  if (left + right <= look.limit()) return std::nullopt;
  return reaches(look, left >= right ? 0 : 1, "the sum overflows " + look.limitName());
}

std::optional<Blame> reductionOverflows(Look& look) {
  const TensorStatistics *x = look.input(0), *out = look.output();
  if (!x || !out) return std::nullopt;
  if (x->nan == 0 && x->posInf > 0 && x->negInf > 0 && out->nan > 0)
    return look.blame(0, "holds Inf and -Inf: Inf - Inf gives NaN", Wrong::kNonFinite);
  if (x->nonFinite() > 0) return std::nullopt;
  if (largestMagnitude(*x) * static_cast<double>(x->count) <= look.limit()) return std::nullopt;
  return reaches(look, 0,
                 "the sum of " + std::to_string(x->count) + " elements overflows " + look.limitName());
}

std::optional<Blame> squaresOverflow(Look& look) {
  const TensorStatistics* x = look.input(0);
  if (!x || x->nonFinite() > 0) return std::nullopt;
  const double largest = largestMagnitude(*x);
  if (largest * largest * static_cast<double>(x->count) <= look.limit()) return std::nullopt;
  return reaches(look, 0, "the sum of squares overflows " + look.limitName());
}

std::optional<Blame> meanOfNothing(Look& look) {
  const core::Shape& shape = look.info(0).shape;
  const TensorStatistics* x = look.input(0);
  const bool empty = shape.known() ? shape.elements() == 0 : x && x->count == 0;
  if (!empty) return std::nullopt;
  return look.blame(0,
                    "has no elements" +
                        (shape.known() ? " (shape " + shape.text() + ")" : " in this iteration") +
                        ": the mean of nothing is NaN",
                    Wrong::kExtreme);
}

std::optional<Blame> castOverflows(Look& look) {
  const TensorStatistics *x = look.input(0), *out = look.output();
  if (!x || !out || out->inf() == 0 || largestMagnitude(*x) <= look.limit()) return std::nullopt;
  return reaches(look, 0, "that is more than " + look.limitName() + " can hold");
}

std::optional<Blame> sumOverRanksOverflows(Look& look) {
  if (look.inputs() != 1) return std::nullopt;
  double sum = 0, largest = -1;
  core::Rank of;
  for (const core::Rank rank : look.source().ranks()) {
    const StatisticsRow* row = look.source().statistics(rank, look.iteration(), look.node().inputs[0]);
    if (!row || row->values.nonFinite() > 0) return std::nullopt;
    const double magnitude = largestMagnitude(row->values);
    sum += magnitude;
    if (magnitude > largest) largest = magnitude, of = rank;
  }
  if (sum <= look.limit()) return std::nullopt;
  Blame blame = look.blame(0,
                           "reaches " + formatShort(largest) + " on rank " + std::to_string(of.value) +
                               ": the sum over ranks overflows " + look.limitName(),
                           Wrong::kExtreme);
  blame.rank = of;
  return blame;
}

}  // namespace msdbg::watch
