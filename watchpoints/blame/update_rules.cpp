// Optimizer updates: SgdUpdate (parameter, gradient, learning_rate, momentum), AdamUpdate (parameter,
// gradient, learning_rate, exp_avg, exp_avg_sq, step).
#include <cmath>

#include "core_engine/base/text.h"
#include "core_engine/ops/op.h"
#include "watchpoints/blame/rules_internal.h"

namespace msdbg::watch {

using core::formatShort;
using core::TensorStatistics;

namespace {

constexpr std::size_t kGradient = 1, kRate = 2;
constexpr double kLargestRate = 100;  // of no optimizer a rate that anybody chose

std::optional<Blame> hugeStep(Look& look, const TensorStatistics& gradient, const TensorStatistics& rate) {
  if (std::abs(rate.max) > kLargestRate) {
    Blame blame = look.blame(
        kRate, "is " + formatShort(rate.max) + ": the step overflows " + look.limitName(), Wrong::kExtreme);
    blame.advice = "lower the learning rate";
    return blame;
  }
  return look.blame(
      kGradient,
      "reaches " + formatShort(largestMagnitude(gradient)) + ": the step overflows " + look.limitName(),
      Wrong::kExtreme);
}

}  // namespace

std::optional<Blame> sgdOverflows(Look& look) {
  const TensorStatistics *p = look.input(0), *g = look.input(kGradient), *rate = look.input(kRate);
  if (!p || !g || !rate || p->nonFinite() + g->nonFinite() + rate->nonFinite() > 0) return std::nullopt;
  const TensorStatistics* state = look.input(3);
  const core::Attributes& a = look.node().attributes;
  const double momentum = core::floatAttribute(a, "momentum", 0),
               decay = core::floatAttribute(a, "weight_decay", 0);
  const double velocity =
      largestMagnitude(*g) + decay * largestMagnitude(*p) + (state ? momentum * largestMagnitude(*state) : 0);
  if (velocity <= look.limit() && largestMagnitude(*p) + std::abs(rate->max) * 2 * velocity <= look.limit())
    return std::nullopt;
  return hugeStep(look, *g, *rate);
}

namespace {

/// Divided by sqrt(v) + epsilon, both 0.
std::optional<Blame> withoutEpsilon(Look& look, const TensorStatistics& gradient) {
  const TensorStatistics* square = look.outputAt(2);
  const double epsilon = core::floatAttribute(look.node().attributes, "epsilon", 1e-8);
  if (epsilon != 0 || gradient.zero == 0 || (square && square->zero == 0)) return std::nullopt;
  const auto element = look.first(kGradient, [](double g) { return g == 0; });
  Blame blame = look.blame(
      kGradient, "is 0" + look.places(kGradient, gradient.zero, element) + " and epsilon is 0: 0/0 gives NaN",
      Wrong::kZero, element);
  blame.advice = "give Adam an epsilon, such as 1e-8";
  return blame;
}

}  // namespace

std::optional<Blame> adamOverflows(Look& look) {
  const TensorStatistics *p = look.input(0), *g = look.input(kGradient), *rate = look.input(kRate);
  if (!p || !g || !rate || p->nonFinite() + g->nonFinite() + rate->nonFinite() > 0) return std::nullopt;
  if (std::optional<Blame> blame = withoutEpsilon(look, *g)) return blame;
  if (const TensorStatistics* square = look.input(4); square && square->negative > 0)
    return look.blame(4, "is negative, down to " + formatShort(square->min) + ": its root is NaN",
                      Wrong::kExtreme);
  const double largest = largestMagnitude(*g);
  const bool squareOverflows = largest * largest > look.limit();
  if (!squareOverflows && std::abs(rate->max) <= kLargestRate) return std::nullopt;
  return hugeStep(look, *g, *rate);
}

std::optional<Blame> nothingToUpdate(Look& look) {
  const TensorStatistics *g = look.input(kGradient), *rate = look.input(kRate);
  if (g && g->count > 0 && g->zero == g->count)
    return look.blame(kGradient, "is 0 everywhere: there is no step to take", Wrong::kAllZero);
  if (rate && rate->count > 0 && rate->zero == rate->count) {
    Blame blame = look.blame(kRate, "is 0: no step is taken", Wrong::kAllZero);
    blame.advice = "look at the learning-rate schedule";
    return blame;
  }
  return std::nullopt;
}

}  // namespace msdbg::watch
