// A variance that vanishes: 1 / sqrt(variance + epsilon) without an epsilon that matters.
#include <algorithm>
#include <cmath>

#include "core_engine/base/text.h"
#include "core_engine/ops/op.h"
#include "watchpoints/blame/rules_internal.h"

namespace msdbg::watch {

using core::formatShort;
using core::Tensor;
using core::TensorStatistics;

namespace {

constexpr double kSquareRootOfFloat = 1.8e19;  // sqrt(3.4e38): larger squares overflow float32

/// The first channel (dimension 1) whose elements are all the same; " in channel 3" or "" without values.
std::string constantChannel(Look& look) {
  const Tensor* x = look.value(0);
  if (!x || x->shape().rank() < 2 || x->elements() == 0) return {};
  const std::int64_t images = x->shape()[0], channels = x->shape()[1],
                     plane = x->elements() / (images * channels);
  for (std::int64_t c = 0; c < channels; ++c) {
    bool same = true;
    for (std::int64_t i = 0; same && i < images * plane; ++i)
      same = x->at((i / plane * channels + c) * plane + i % plane) == x->at(c * plane);
    if (same) return " in channel " + std::to_string(c);
  }
  return {};
}

std::string constantRow(Look& look, std::int64_t rows) {
  const Tensor* x = look.value(0);
  if (!x || rows <= 0 || x->elements() == 0) return {};
  const std::int64_t length = x->elements() / rows;
  for (std::int64_t row = 0; row < rows; ++row) {
    bool same = true;
    for (std::int64_t i = 1; same && i < length; ++i) same = x->at(row * length + i) == x->at(row * length);
    if (same) return " in row " + std::to_string(row);
  }
  return {};
}

/// `inverse`: 1 / sqrt(variance + epsilon), as the operator gives it.
std::optional<Blame> vanishes(Look& look, const TensorStatistics* inverse, const std::string& where) {
  if (!inverse) return std::nullopt;
  const double epsilon = core::floatAttribute(look.node().attributes, "epsilon", 1e-5);
  const bool infinite = inverse->posInf > 0;
  if (look.wrong() == Wrong::kNonFinite ? !infinite : inverse->max < kUsualFactor) return std::nullopt;
  return look.blame(0,
                    "does not vary" + where + ": its variance is 0 and epsilon is " + formatShort(epsilon) +
                        ", so that 1/sqrt(variance + epsilon) is " +
                        (infinite ? "Inf" : formatShort(inverse->max)),
                    Wrong::kExtreme);
}

std::optional<Blame> squareOverflows(Look& look) {
  const TensorStatistics* x = look.input(0);
  if (!x || x->nonFinite() > 0 || largestMagnitude(*x) < kSquareRootOfFloat ||
      look.outputInfo().dtype != core::DType::Float32)  // of smaller ones it is computed in float32, too
    return std::nullopt;
  return look.blame(0, "reaches " + formatShort(largestMagnitude(*x)) + ": its variance overflows float32",
                    Wrong::kExtreme);
}

}  // namespace

std::optional<Blame> batchWithoutVariance(Look& look) {
  if (const TensorStatistics* variance = look.input(4); variance && variance->negative > 0) {
    const auto element = look.first(4, [](double v) { return v < 0; });
    return look.blame(4,
                      "is negative" + look.places(4, variance->negative, element) +
                          ": the root of a negative variance gives NaN",
                      Wrong::kExtreme, element);
  }
  const TensorStatistics* inverse =
      look.outputAt(look.outputs() == 3 ? 2 : 4);  // aten gives no running ones in evaluation
  std::optional<Blame> blame = vanishes(look, inverse, constantChannel(look));
  return blame ? blame : squareOverflows(look);
}

std::optional<Blame> rowWithoutVariance(Look& look) {
  const TensorStatistics* inverse = look.outputAt(2);
  std::optional<Blame> blame = vanishes(look, inverse, constantRow(look, inverse ? inverse->count : 0));
  return blame ? blame : squareOverflows(look);
}

/// Input 4 is 1 / sqrt(variance + epsilon), of both.
std::optional<Blame> vanishingVarianceGradient(Look& look) {
  const TensorStatistics* inverse = look.input(4);
  if (!inverse || inverse->nonFinite() > 0 || inverse->max < kUsualFactor) return std::nullopt;
  const auto element = look.first(4, [&](double v) { return v == inverse->max; });
  return look.blame(4,
                    "reaches " + formatShort(inverse->max) + look.at(4, element) +
                        ": the variance vanishes there, and the gradient grows with its inverse",
                    Wrong::kExtreme, element);
}

}  // namespace msdbg::watch
