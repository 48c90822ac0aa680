// Arguments outside the domain of a function, and functions that overflow.
#include <algorithm>
#include <array>
#include <cmath>

#include "core_engine/base/text.h"
#include "core_engine/ops/op.h"
#include "core_engine/tensor/index_text.h"
#include "watchpoints/blame/rules_internal.h"

namespace msdbg::watch {

using core::formatShort;
using core::Tensor;
using core::TensorStatistics;

namespace {

bool isZero(double x) { return x == 0; }
bool isNegative(double x) { return x < 0; }

/// Whether x/0 and 0/0 explain what the output holds: NaN needs a zero above, too.
bool explainedByZero(const TensorStatistics& numerator, const TensorStatistics& output) {
  return (output.nan > 0 && numerator.zero > 0) || (output.inf() > 0 && numerator.zero < numerator.count);
}

/// Of the output element that a divisor of 0 belongs to; without values NaN, where it can be one.
bool givesNan(Look& look, const Look::Found& zero) {
  if (zero.outputElement) return std::isnan(look.outputValue()->at(*zero.outputElement));
  const TensorStatistics *numerator = look.input(0), *output = look.output();
  return output && output->nan > 0 && (!numerator || numerator->zero > 0);
}

}  // namespace

std::optional<Blame> zeroDivisor(Look& look) {
  const TensorStatistics *above = look.input(0), *below = look.input(1), *out = look.output();
  if (!below || !out || below->zero == 0 || (above && !explainedByZero(*above, *out))) return std::nullopt;
  const Look::Found zero = look.find(1, isZero);
  if (!zero.possible) return std::nullopt;
  return look.blame(1,
                    "is 0" + look.places(1, below->zero, zero.element) + ": " +
                        (givesNan(look, zero) ? "0/0 gives NaN" : "x/0 gives Inf"),
                    Wrong::kZero, zero.element);
}

namespace {

/// The least |x|, as far as statistics or values tell it.
std::optional<double> leastMagnitude(Look& look, std::size_t input) {
  const TensorStatistics* row = look.input(input);
  if (!row || row->count == 0) return std::nullopt;
  if (row->zero > 0) return 0;
  if (row->negative == 0) return row->min;
  if (row->positive == 0) return -row->max;
  const Tensor* x = look.value(input);
  if (!x) return std::nullopt;
  double least = std::abs(x->at(0));
  for (std::int64_t i = 1; i < x->elements(); ++i) least = std::fmin(least, std::abs(x->at(i)));
  return least;
}

}  // namespace

std::optional<Blame> smallDivisor(Look& look) {
  const TensorStatistics *above = look.input(0), *out = look.output();
  const std::optional<double> least = leastMagnitude(look, 1);
  if (!above || !out || !least || *least == 0) return std::nullopt;
  const double quotient = largestMagnitude(*above) / *least;
  const bool nonFinite = look.wrong() == Wrong::kNonFinite;
  if (nonFinite ? quotient <= look.limit() || out->inf() == 0 : *least * kUsualFactor > 1)
    return std::nullopt;
  if (!nonFinite && largestMagnitude(*out) < kUsualFactor * largestMagnitude(*above)) return std::nullopt;
  const auto element = look.first(1, [&](double x) { return std::abs(x) == *least; });
  return look.blame(
      1,
      "is as small as " + formatShort(*least) + look.at(1, element) + ": the quotient " +
          (nonFinite ? "overflows " + look.limitName() : "reaches " + formatShort(largestMagnitude(*out))),
      Wrong::kExtreme, element);
}

namespace {

/// Whether a tensor is a sum of products that each hold an exponential: a mixture, a softmax by hand.
bool sumsExponentials(const core::Graph& graph, core::TensorId tensor) {
  static constexpr auto kBetween = std::to_array<std::string_view>(
      {"Mul", "Div", "Reshape", "Squeeze", "Unsqueeze", "Identity", "Add", "aten.mul", "aten.div"});
  const auto producer = [&](core::TensorId id) {
    const core::NodeId node = graph.tensor(id).producer;
    return node.valid() ? &graph.node(node) : nullptr;
  };
  const core::Node* sum = producer(tensor);
  while (sum && (sum->opType == "Add" || sum->opType == "Reshape" || sum->opType == "Squeeze"))
    sum = producer(sum->inputs.front());
  if (!sum || (sum->opType != "ReduceSum" && sum->opType != "aten.sum")) return false;
  constexpr std::size_t kMost = 16;
  std::vector<core::TensorId> open(sum->inputs.begin(), sum->inputs.begin() + 1);
  for (std::size_t i = 0; i < open.size() && i < kMost; ++i) {
    const core::Node* node = producer(open[i]);
    if (node && node->opType == "Exp") return true;
    if (node && std::ranges::find(kBetween, node->opType) != kBetween.end())
      open.insert(open.end(), node->inputs.begin(), node->inputs.end());
  }
  return false;
}

std::string adviceForLog(Look& look, bool negative, double least) {
  constexpr double kRounding = 1e-5;
  if (look.producerType(0) == "Softmax")
    return "take logSoftmax of the logits, or a loss of logits, instead of log(softmax(x))";
  if (!negative && sumsExponentials(look.graph(), look.info(0).id))
    return "every exponential of the sum is 0, as exp(x) is for x below -104 in float32: take the logsumexp "
           "of "
           "the exponents, with the largest of each row taken off, and no exp before the logarithm";
  if (negative && least < -kRounding)
    return "make positive what a logarithm takes, as exp(x) or softplus(x) do, where it is computed; "
           "clipping it "
           "would only hide that it is negative";
  return {};
}

}  // namespace

std::optional<Blame> logOfNonPositive(Look& look) {
  const TensorStatistics *x = look.input(0), *out = look.output();
  if (!x || !out) return std::nullopt;
  const bool negative = out->nan > 0 && x->negative > 0;
  if (!negative && !(out->negInf > 0 && x->zero > 0)) return std::nullopt;
  const Look::Found found = look.find(0, negative ? isNegative : isZero);
  if (!found.possible) return std::nullopt;
  Blame blame = negative
                    ? look.blame(0,
                                 "is negative" + look.places(0, x->negative, found.element) + ", down to " +
                                     formatShort(x->min) + ": log of a negative number gives NaN",
                                 Wrong::kExtreme, found.element)
                    : look.blame(0, "is 0" + look.places(0, x->zero, found.element) + ": log(0) gives -Inf",
                                 Wrong::kZero, found.element);
  if (std::string advice = adviceForLog(look, negative, x->min); !advice.empty())
    blame.advice = std::move(advice);
  return blame;
}

std::optional<Blame> rootOfNegative(Look& look) {
  const TensorStatistics *x = look.input(0), *out = look.output();
  if (!x || !out || x->negative == 0 || out->nan == 0) return std::nullopt;
  const Look::Found found = look.find(0, isNegative);
  if (!found.possible) return std::nullopt;
  Blame blame = look.blame(0,
                           "is negative" + look.places(0, x->negative, found.element) + ", down to " +
                               formatShort(x->min) + ": the root of a negative number gives NaN",
                           Wrong::kExtreme, found.element);
  if (look.producerType(0) == "Sub")
    blame.advice = "a difference may fall below 0 by rounding: clamp it at 0, or take mean((x - mean)^2)";
  return blame;
}

std::optional<Blame> expOverflows(Look& look) {
  const TensorStatistics *x = look.input(0), *out = look.output();
  if (!x || !out || out->posInf == 0 || x->max <= look.expOverflow()) return std::nullopt;
  const auto element = look.first(0, [&](double v) { return v == x->max; });
  return look.blame(0,
                    "reaches " + formatShort(x->max) + look.at(0, element) + ": exp overflows " +
                        look.limitName() + " above " + formatShort(look.expOverflow()),
                    Wrong::kExtreme, element);
}

std::optional<Blame> expReaches(Look& look) {
  const TensorStatistics *x = look.input(0), *out = look.output();
  if (!x || !out || x->max < std::log(kLargeWithoutHistory) || !std::isfinite(x->max)) return std::nullopt;
  const auto element = look.first(0, [&](double v) { return v == x->max; });
  return look.blame(
      0, "reaches " + formatShort(x->max) + look.at(0, element) + ": exp of it is " + formatShort(out->max),
      Wrong::kExtreme, element);
}

namespace {

/// Elements i of a line lie `inner` apart.
struct Lines {
  std::int64_t length = 1, inner = 1, outer = 1;
  std::size_t axis = 0;
  std::int64_t begin(std::int64_t line) const { return line / inner * length * inner + line % inner; }
};

/// Along attribute `axis`, by default the last one. nullopt: the shape is unknown, or the axis is not there.
std::optional<Lines> linesOf(Look& look) {
  const core::Shape& shape = look.info(0).shape;
  const auto rank = static_cast<std::int64_t>(shape.rank());
  std::int64_t axis = core::intAttribute(look.node().attributes, "axis", -1);
  if (axis < 0) axis += rank;
  if (!shape.known() || axis < 0 || axis >= rank) return std::nullopt;
  Lines lines;
  lines.axis = static_cast<std::size_t>(axis);
  for (std::size_t d = 0; d < shape.rank(); ++d)
    (d < lines.axis ? lines.outer : d == lines.axis ? lines.length : lines.inner) *= shape[d];
  return lines;
}

/// " in all of [3, :]": a line that holds nothing but -Inf. nullopt: none does. "" : no values are stored.
std::optional<std::string> maskedLine(Look& look, const Lines& lines) {
  const Tensor* x = look.value(0);
  if (!x) return "";
  for (std::int64_t line = 0; line < lines.outer * lines.inner; ++line) {
    std::int64_t i = 0;
    while (i < lines.length && x->at(lines.begin(line) + i * lines.inner) == -INFINITY) ++i;
    if (i < lines.length) continue;
    const std::vector<std::int64_t> index = core::indexOf(x->shape(), lines.begin(line));
    std::vector<std::string> parts;
    for (std::size_t d = 0; d < index.size(); ++d)
      parts.push_back(d == lines.axis ? ":" : std::to_string(index[d]));
    return " in all of [" + core::join(parts, ", ") + "]";
  }
  return std::nullopt;
}

std::optional<Blame> maskedWhole(Look& look, const TensorStatistics& x) {
  const std::optional<Lines> lines = linesOf(look);
  if (!lines || lines->length == 0 || x.negInf < lines->length) return std::nullopt;
  const std::optional<std::string> where = maskedLine(look, *lines);
  if (!where) return std::nullopt;
  Blame blame =
      look.blame(0,
                 "is -Inf" + (where->empty() ? " at " + std::to_string(x.negInf) + " places" : *where) +
                     ": a row of nothing but -Inf gives NaN",
                 Wrong::kNonFinite);
  blame.advice = "leave at least one place of each row unmasked, or mask with a large finite number as -1e9";
  return blame;
}

}  // namespace

std::optional<Blame> softmaxOfInfinity(Look& look) {
  const TensorStatistics *x = look.input(0), *out = look.output();
  if (!x || !out || out->nan == 0 || x->nan > 0) return std::nullopt;
  if (x->posInf == 0) return maskedWhole(look, *x);
  const auto element = look.first(0, [](double v) { return v == INFINITY; });
  return look.blame(0, "is Inf" + look.places(0, x->posInf, element) + ": Inf - Inf gives NaN",
                    Wrong::kNonFinite, element);
}

namespace {

struct PowerCase {
  bool (*bad)(double);
  std::string what, why;
  Wrong next;
};

std::optional<PowerCase> powerCase(const TensorStatistics& x, const TensorStatistics& exponent,
                                   const TensorStatistics& out) {
  const bool whole = exponent.min == exponent.max && exponent.min == std::floor(exponent.min);
  const std::string power = exponent.min == exponent.max ? formatShort(exponent.min)
                                                         : "exponents from " + formatShort(exponent.min);
  if (x.negative > 0 && out.nan > 0 && !whole)
    return PowerCase{isNegative, "is negative", "a negative number to the power of " + power + " gives NaN",
                     Wrong::kExtreme};
  if (x.zero > 0 && out.inf() > 0 && exponent.min < 0)
    return PowerCase{isZero, "is 0", "0 to the power of " + power + " gives Inf", Wrong::kZero};
  return std::nullopt;
}

std::optional<Blame> powerOverflows(Look& look, const TensorStatistics& x, const TensorStatistics& exponent) {
  const double base = largestMagnitude(x), power = exponent.max;
  if (look.output()->inf() == 0 || std::pow(base, power) <= look.limit()) return std::nullopt;
  const bool byBase = power <= 16;  // x^2 overflows by x, 3^200 by the exponent
  Blame blame = look.blame(byBase ? 0 : 1,
                           "reaches " + formatShort(byBase ? base : power) + ": " + formatShort(base) +
                               " to the power of " + formatShort(power) + " overflows " + look.limitName(),
                           Wrong::kExtreme);
  blame.advice = kSmallerBase;
  return blame;
}

}  // namespace

std::optional<Blame> powerOutsideDomain(Look& look) {
  const TensorStatistics *x = look.input(0), *exponent = look.input(1), *out = look.output();
  if (!x || !exponent || !out) return std::nullopt;
  const std::optional<PowerCase> found = powerCase(*x, *exponent, *out);
  if (!found) return powerOverflows(look, *x, *exponent);
  const Look::Found place = look.find(0, found->bad);
  if (!place.possible) return std::nullopt;
  const std::int64_t count = found->next == Wrong::kZero ? x->zero : x->negative;
  return look.blame(0, found->what + look.places(0, count, place.element) + ": " + found->why, found->next,
                    place.element);
}

namespace {

/// Classes are dimension 1 of the logits; -1: unknown.
std::int64_t classesOf(Look& look) {
  const core::Shape& shape = look.info(0).shape;
  return shape.rank() >= 2 ? shape[1] : -1;
}

std::optional<Blame> outside(Look& look, std::size_t input, std::int64_t low, std::int64_t high,
                             const std::string& what) {
  const TensorStatistics* x = look.input(input);
  const auto isOutside = [&](double v) {
    return v < static_cast<double>(low) || v > static_cast<double>(high);
  };
  if (!x || high < 0 || x->count == 0 || (!isOutside(x->min) && !isOutside(x->max))) return std::nullopt;
  const auto element = look.first(input, isOutside);
  const double value = element ? look.value(input)->at(*element) : isOutside(x->max) ? x->max : x->min;
  return look.blame(input,
                    "holds " + formatShort(value) + look.at(input, element) + ": " + what + " are " +
                        std::to_string(low) + " to " + std::to_string(high),
                    Wrong::kExtreme, element);
}

/// Whether a label of -Inf is among the rows; with values for certain.
bool labelIsMasked(Look& look) {
  const Tensor *logits = look.value(0), *labels = look.value(1);
  const core::Shape& shape = look.info(0).shape;
  if (!logits || !labels || shape.rank() != 2) return true;
  for (std::int64_t row = 0; row < shape[0]; ++row) {
    const auto label = static_cast<std::int64_t>(labels->at(row));
    if (label >= 0 && label < shape[1] && logits->at(row * shape[1] + label) == -INFINITY) return true;
  }
  return false;
}

}  // namespace

std::optional<Blame> lossOfInfinity(Look& look) {
  const TensorStatistics *x = look.input(0), *out = look.output();
  if (!x || !out || x->nan > 0) return std::nullopt;
  if (x->posInf > 0 && out->nan > 0) {
    const auto element = look.first(0, [](double v) { return v == INFINITY; });
    return look.blame(0, "is Inf" + look.places(0, x->posInf, element) + ": Inf - Inf gives NaN",
                      Wrong::kNonFinite, element);
  }
  if (x->negInf == 0 || out->inf() == 0 || !labelIsMasked(look)) return std::nullopt;
  const auto element = look.first(0, [](double v) { return v == -INFINITY; });
  return look.blame(
      0, "is -Inf" + look.places(0, x->negInf, element) + ": the loss of a label whose logit is -Inf is Inf",
      Wrong::kNonFinite, element);
}

std::optional<Blame> hugeLogits(Look& look) {
  const TensorStatistics* x = look.input(0);
  if (!x || x->nonFinite() > 0 || x->max - x->min < kUsualFactor) return std::nullopt;
  return look.blame(0,
                    "reaches from " + formatShort(x->min) + " to " + formatShort(x->max) +
                        ": the loss of a wrong label is their difference",
                    Wrong::kExtreme);
}

std::optional<Blame> labelOutOfRange(Look& look) {
  return outside(look, 1, 0, classesOf(look) - 1, "classes");
}

std::optional<Blame> indexOutOfRange(Look& look) {
  const core::Shape& shape = look.info(0).shape;
  const auto rank = static_cast<std::int64_t>(shape.rank());
  std::int64_t axis = core::intAttribute(look.node().attributes, "axis", 0);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || shape[static_cast<std::size_t>(axis)] < 0) return std::nullopt;
  const std::int64_t size = shape[static_cast<std::size_t>(axis)];
  return outside(look, 1, -size, size - 1, "indices");
}

}  // namespace msdbg::watch
