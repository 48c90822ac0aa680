// Where zeros come from: an input that is zero itself, numbers too small for the dtype, activations that let
// nothing through.
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

bool allZero(const TensorStatistics* x) { return x && x->count > 0 && x->zero == x->count; }

/// An input that is zero as the output is: everywhere, or somewhere.
std::optional<Blame> zeroInput(Look& look, std::size_t input) {
  const TensorStatistics* x = look.input(input);
  if (allZero(x)) return look.blame(input, "is 0" + look.places(input, x->zero, {}), Wrong::kAllZero);
  if (look.wrong() == Wrong::kAllZero || !x || x->zero == 0) return std::nullopt;
  const Look::Found zero = look.find(input, isZero);
  if (!zero.possible) return std::nullopt;
  return look.blame(input, "is 0" + look.places(input, x->zero, zero.element), Wrong::kZero, zero.element);
}

/// The smallest number above 0 of the output's dtype, a subnormal one.
double smallest(Look& look) { return core::floatLimits(look.outputInfo().dtype).smallest; }

std::optional<Blame> productUnderflows(Look& look, const TensorStatistics& a, const TensorStatistics& b) {
  const double left = largestMagnitude(a), right = largestMagnitude(b);
  if (left == 0 || right == 0 || left * right >= smallest(look)) return std::nullopt;
  const std::size_t smaller = left <= right ? 0 : 1;
  return look.blame(smaller,
                    "is at most " + formatShort(std::fmin(left, right)) + ": the product with " +
                        look.inputName(1 - smaller) + " is below the smallest " + look.limitName(),
                    Wrong::kExtreme);
}

/// Each is zero where the other is not.
std::optional<Blame> complementaryZeros(Look& look, const TensorStatistics& a, const TensorStatistics& b) {
  if (look.wrong() != Wrong::kAllZero || look.node().opType != "Mul" || a.count != b.count ||
      a.zero + b.zero < a.count)
    return std::nullopt;
  const std::size_t emptier = a.zero >= b.zero ? 0 : 1;
  return look.blame(emptier, "is 0 wherever " + look.inputName(1 - emptier) + " is not", Wrong::kZero);
}

}  // namespace

std::optional<Blame> zeroFactor(Look& look) {
  const TensorStatistics *a = look.input(0), *b = look.input(1);
  for (const std::size_t input : {std::size_t{0}, std::size_t{1}})
    if (allZero(look.input(input))) return zeroInput(look, input);
  if (!a || !b) return std::nullopt;
  if (std::optional<Blame> blame = productUnderflows(look, *a, *b)) return blame;
  if (std::optional<Blame> blame = complementaryZeros(look, *a, *b)) return blame;
  if (look.node().opType != "Mul") return std::nullopt;  // one zero among many terms explains no sum
  std::optional<Blame> blame = zeroInput(look, 0);
  return blame ? blame : zeroInput(look, 1);
}

std::optional<Blame> zeroArgument(Look& look) { return zeroInput(look, 0); }

namespace {

/// "[:, 3]": the elements of `to` that share element j of `from`.
std::string sharedBy(const core::Shape& from, const core::Shape& to, std::int64_t j) {
  const std::vector<std::int64_t> index = core::indexOf(from, j);
  std::vector<std::string> parts(to.rank(), ":");
  for (std::size_t d = 0; d < from.rank(); ++d) {
    const std::size_t at = d + to.rank() - from.rank();
    if (from[d] == to[at]) parts[at] = std::to_string(index[d]);
  }
  return "[" + core::join(parts, ", ") + "]";
}

/// The first element of input 1 for which every difference is 0.
std::optional<std::int64_t> wholeGroup(Look& look) {
  const Tensor *mean = look.value(1), *out = look.outputValue();
  if (!mean || !out || !broadcasts(mean->shape(), out->shape())) return std::nullopt;
  std::vector<bool> same(static_cast<std::size_t>(mean->elements()), true);
  for (std::int64_t o = 0; o < out->elements(); ++o)
    if (out->at(o) != 0)
      same[static_cast<std::size_t>(broadcastFrom(mean->shape(), out->shape(), o))] = false;
  for (std::size_t j = 0; j < same.size(); ++j)
    if (same[j]) return static_cast<std::int64_t>(j);
  return std::nullopt;
}

/// Whether input 1 is a mean, or the largest, of input 0.
bool isReductionOf(Look& look) {
  const core::NodeId producer = look.info(1).producer;
  if (!producer.valid()) return false;
  const core::Node& node = look.graph().node(producer);
  return node.opType.starts_with("Reduce") && node.inputs.front() == look.node().inputs.front();
}

}  // namespace

std::optional<Blame> equalTerms(Look& look) {
  const TensorStatistics *a = look.input(0), *b = look.input(1), *out = look.output();
  if (!a || !b || !out || out->zero == 0) return std::nullopt;
  if (a->hash == b->hash && a->count == b->count)
    return look.blame(0, "equals " + look.inputName(1), Wrong::kExtreme);
  if (!isReductionOf(look)) return std::nullopt;
  std::string where = out->zero == out->count ? "" : " at " + std::to_string(out->zero) + " places";
  if (const auto group = wholeGroup(look))
    where = " in " + sharedBy(look.info(1).shape, look.outputInfo().shape, *group);
  return look.blame(0, "does not vary" + where + ": it equals its mean there", Wrong::kExtreme);
}

std::optional<Blame> expUnderflows(Look& look) {
  const TensorStatistics *x = look.input(0), *out = look.output();
  if (!x || !out || out->zero == 0) return std::nullopt;
  if (x->negInf > 0) {
    const auto element = look.first(0, [](double v) { return v == -INFINITY; });
    return look.blame(0, "is -Inf" + look.places(0, x->negInf, element) + ": exp of it is 0",
                      Wrong::kNonFinite, element);
  }
  if (!(x->min < look.expUnderflow())) return std::nullopt;
  const auto element = look.first(0, [&](double v) { return v == x->min; });
  return look.blame(0,
                    "falls to " + formatShort(x->min) + look.at(0, element) + ": exp is 0 in " +
                        look.limitName() + " below " + formatShort(look.expUnderflow()),
                    Wrong::kExtreme, element);
}

std::optional<Blame> softmaxUnderflows(Look& look) {
  const TensorStatistics *x = look.input(0), *out = look.output();
  if (!x || !out || out->zero == 0) return std::nullopt;
  if (x->negInf > 0) return expUnderflows(look);
  if (x->max - x->min < -look.expUnderflow()) return std::nullopt;
  return look.blame(0,
                    "reaches from " + formatShort(x->min) + " to " + formatShort(x->max) + ": what lies " +
                        formatShort(-look.expUnderflow()) +
                        " or more below the largest of its row gets probability 0",
                    Wrong::kExtreme);
}

std::optional<Blame> nowherePositive(Look& look) {
  const TensorStatistics* x = look.input(0);
  if (!x || x->count == 0 || x->nonFinite() > 0) return std::nullopt;
  if (x->positive == 0)
    return look.blame(0,
                      "is nowhere above 0 (at most " + formatShort(x->max) + "): " + look.node().opType +
                          " lets nothing through",
                      Wrong::kExtreme);
  if (look.wrong() == Wrong::kAllZero) return std::nullopt;
  const Look::Found low = look.find(0, [](double v) { return v <= 0; });
  if (!low.possible) return std::nullopt;
  return look.blame(0, "is not above 0" + look.places(0, x->zero + x->negative, low.element), Wrong::kExtreme,
                    low.element);
}

std::optional<Blame> deadRelu(Look& look) {
  if (std::optional<Blame> blame = zeroInput(look, 0)) return blame;
  const TensorStatistics *dy = look.input(0), *y = look.input(1);
  if (allZero(y))
    return look.blame(1, "is 0 everywhere: the Relu is dead, and no gradient passes", Wrong::kAllZero);
  if (!dy || !y || dy->zero + y->zero < dy->count) return std::nullopt;
  return look.blame(dy->zero >= y->zero ? 0 : 1, "is 0 wherever the other input is not: no gradient passes",
                    Wrong::kZero);
}

namespace {

bool nearly(double a, double b) { return std::abs(a - b) <= 1e-7 * std::fmax(std::abs(a), std::abs(b)); }

/// Every element is an end of the function's range: 0 or 1, where y * y == y; -1 or 1, where y * y == 1.
bool atTheEnds(const TensorStatistics& y, bool fromMinusOne) {
  const double squares = y.l2 * y.l2;
  return y.nonFinite() == 0 && y.count > 0 &&
         nearly(squares, fromMinusOne ? static_cast<double>(y.count) : y.l1);
}

}  // namespace

std::optional<Blame> saturated(Look& look) {
  if (std::optional<Blame> blame = zeroInput(look, 0)) return blame;
  const TensorStatistics* y = look.input(1);
  const bool fromMinusOne = look.node().opType == "TanhGrad";
  if (!y || !atTheEnds(*y, fromMinusOne)) return std::nullopt;
  Blame blame = look.blame(1,
                           (fromMinusOne ? "is -1 or 1" : "is 0 or 1") +
                               std::string(" everywhere: the function is saturated, and no gradient passes"),
                           Wrong::kExtreme);
  if (look.node().opType == "SoftmaxGrad" && y->min == 1)
    blame.advice = "softmax of a single number is always 1: use a Sigmoid for one output";
  return blame;
}

std::optional<Blame> outsideClip(Look& look) {
  if (std::optional<Blame> blame = zeroInput(look, 0)) return blame;
  const TensorStatistics* x = look.input(1);
  const double low = core::floatAttribute(look.node().attributes, "min", -INFINITY),
               high = core::floatAttribute(look.node().attributes, "max", INFINITY);
  if (!x || x->count == 0 || (x->min <= high && x->max >= low)) return std::nullopt;
  return look.blame(1,
                    "lies from " + formatShort(x->min) + " to " + formatShort(x->max) +
                        ", nowhere inside the clip's " + formatShort(low) + " to " + formatShort(high) +
                        ": no gradient passes",
                    Wrong::kExtreme);
}

std::optional<Blame> everythingDropped(Look& look) {
  if (std::optional<Blame> blame = zeroInput(look, 0)) return blame;
  if (!allZero(look.input(1))) return std::nullopt;
  return look.blame(1, "is false everywhere: everything is dropped", Wrong::kAllZero);
}

std::optional<Blame> truncatedToZero(Look& look) {
  if (std::optional<Blame> blame = zeroInput(look, 0)) return blame;
  const TensorStatistics* x = look.input(0);
  const double least = core::isFloating(look.outputInfo().dtype) ? smallest(look) : 1;
  if (!x || x->nonFinite() > 0 || largestMagnitude(*x) >= least) return std::nullopt;
  return look.blame(0,
                    "lies between -" + formatShort(least) + " and " + formatShort(least) + " (from " +
                        formatShort(x->min) + " to " + formatShort(x->max) + "): Cast to " +
                        look.limitName() + " makes it 0",
                    Wrong::kExtreme);
}

std::optional<Blame> certainLoss(Look& look) {
  if (allZero(look.input(2))) return zeroInput(look, 2);
  const TensorStatistics* logProb = look.input(0);
  const TensorStatistics* labels = look.input(1);
  if (!logProb || !labels || logProb->max != 0 || logProb->zero < labels->count) return std::nullopt;
  return look.blame(0, "is 0 at every label: the model is certain, and the loss has no slope left",
                    Wrong::kExtreme);
}

}  // namespace msdbg::watch
