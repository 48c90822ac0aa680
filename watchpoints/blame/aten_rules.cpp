// PyTorch's operators that are none of ours: functions with a domain, powers and quotients whose second
// operand is a number, statistics of too few, losses of labels that are all left out, attention over what is
// masked, optimizers.
#include <algorithm>
#include <cmath>

#include "core_engine/base/text.h"
#include "core_engine/graph/graph_text.h"
#include "watchpoints/blame/rules_internal.h"

namespace msdbg::watch {

using core::formatShort;
using core::TensorStatistics;

namespace {

std::optional<double> numberOf(Look& look, std::string_view name) {
  const auto found = look.node().attributes.find(name);
  if (found == look.node().attributes.end()) return std::nullopt;
  if (const auto* real = std::get_if<double>(&found->second)) return *real;
  const auto* whole = std::get_if<std::int64_t>(&found->second);
  return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
}

/// Where a function of one argument gives NaN or Inf; statistics tell whether the argument comes there.
struct Domain {
  std::string_view type;
  bool (*isNan)(double);       // nullptr: nowhere
  bool (*isInfinite)(double);  // nullptr: nowhere
  std::string_view nan, infinite;
};

constexpr Domain kDomains[] = {
    {"log1p", [](double x) { return x < -1; }, [](double x) { return x == -1; },
     "log1p of less than -1 gives NaN", "log1p(-1) gives -Inf"},
    {"rsqrt", [](double x) { return x < 0; }, [](double x) { return x == 0; },
     "the root of a negative number gives NaN", "1/sqrt(0) gives Inf"},
    {"reciprocal", nullptr, [](double x) { return x == 0; }, "", "1/0 gives Inf"},
    {"acos", [](double x) { return std::abs(x) > 1; }, nullptr, "acos outside -1 to 1 gives NaN", ""},
    {"asin", [](double x) { return std::abs(x) > 1; }, nullptr, "asin outside -1 to 1 gives NaN", ""},
    {"acosh", [](double x) { return x < 1; }, nullptr, "acosh below 1 gives NaN", ""},
    {"atanh", [](double x) { return std::abs(x) > 1; }, [](double x) { return std::abs(x) == 1; },
     "atanh outside -1 to 1 gives NaN", "atanh(1) gives Inf"},
    {"logit", [](double x) { return x < 0 || x > 1; }, [](double x) { return x == 0 || x == 1; },
     "logit outside 0 to 1 gives NaN", "logit of 0 or 1 is infinite"},
};

/// An extreme of the argument that is `bad`, as far as the statistics tell.
std::optional<double> badExtreme(const TensorStatistics& x, bool (*bad)(double)) {
  if (!bad) return std::nullopt;
  if (bad(x.min)) return x.min;
  if (bad(x.max)) return x.max;
  return x.zero > 0 && bad(0) ? std::optional(0.0) : std::nullopt;
}

std::optional<Blame> outOfDomain(Look& look, std::size_t input, bool (*bad)(double), std::string_view why) {
  const std::optional<double> extreme = badExtreme(*look.input(input), bad);
  const Look::Found found = extreme ? look.find(input, bad) : Look::Found{.possible = false};
  if (!found.possible) return std::nullopt;
  const bool zero = *extreme == 0;
  std::string what = zero ? "is 0" : "reaches ";
  if (!zero) what += formatShort(*extreme);
  what.append(look.at(input, found.element)).append(": ").append(why);
  return look.blame(input, what, zero ? Wrong::kZero : Wrong::kExtreme, found.element);
}

}  // namespace

std::optional<Blame> argumentOutsideDomain(Look& look) {
  core::Node theirs = look.node();  // "aten.log1p_.default"
  theirs.opType.erase(0, theirs.domain.size() + 1);
  const auto* domain = std::ranges::find(kDomains, core::plainType(theirs), &Domain::type);
  const TensorStatistics *x = look.input(0), *out = look.output();
  if (domain == std::end(kDomains) || !x || !out) return std::nullopt;
  if (out->nan > 0)
    if (std::optional<Blame> blame = outOfDomain(look, 0, domain->isNan, domain->nan)) return blame;
  return out->inf() > 0 ? outOfDomain(look, 0, domain->isInfinite, domain->infinite) : std::nullopt;
}

/// x / number, where the number is 0.
std::optional<Blame> dividedByNumber(Look& look) {
  const std::optional<double> divisor = numberOf(look, "other");
  if (look.inputs() != 1 || !divisor || *divisor != 0) return std::nullopt;
  const TensorStatistics* x = look.input(0);
  const bool nan = x && x->zero > 0;
  return look.blame(
      0, nan ? "is divided by the number 0: 0/0 gives NaN" : "is divided by the number 0: x/0 gives Inf",
      Wrong::kExtreme);
}

/// x to the power of a number.
std::optional<Blame> powerOfNumber(Look& look) {
  const std::optional<double> power = numberOf(look, "exponent");
  const TensorStatistics *x = look.input(0), *out = look.output();
  if (look.inputs() != 1 || !power || !x || !out) return std::nullopt;
  const std::string raised = " to the power of " + formatShort(*power),
                    nan = "a negative number" + raised + " gives NaN", infinite = "0" + raised + " gives Inf";
  const bool whole = *power == std::floor(*power);
  if (out->nan > 0 && !whole)
    if (auto blame = outOfDomain(
            look, 0, [](double v) { return v < 0; }, nan))
      return blame;
  if (out->inf() > 0 && *power < 0)
    if (auto blame = outOfDomain(
            look, 0, [](double v) { return v == 0; }, infinite))
      return blame;
  const double largest = largestMagnitude(*x);
  if (out->inf() == 0 || x->nonFinite() > 0 || std::pow(largest, *power) <= look.limit()) return std::nullopt;
  Blame blame =
      look.blame(0, "reaches " + formatShort(largest) + ": that" + raised + " overflows " + look.limitName(),
                 Wrong::kExtreme);
  blame.advice = kSmallerBase;
  return blame;
}

/// addcdiv: self + value * tensor1 / tensor2.
std::optional<Blame> zeroInQuotient(Look& look) {
  const TensorStatistics *below = look.input(2), *out = look.output();
  if (!below || !out || below->zero == 0) return std::nullopt;
  const auto element = look.first(2, [](double v) { return v == 0; });
  return look.blame(2, "is 0" + look.places(2, below->zero, element) + ": the division by it is not finite",
                    Wrong::kZero, element);
}

/// The deviation of one number with Bessel's correction is 0/0.
std::optional<Blame> varianceOfOne(Look& look) {
  const TensorStatistics *x = look.input(0), *out = look.output();
  if (!x || !out || out->nan == 0 || x->nonFinite() > 0 || out->count == 0) return std::nullopt;
  const std::int64_t of = x->count / out->count;
  if (static_cast<double>(of) > numberOf(look, "correction").value_or(1)) return std::nullopt;
  return look.blame(0,
                    "gives " + std::to_string(of) + (of == 1 ? " element" : " elements") +
                        " for each variance: with Bessel's correction that is 0/0, NaN",
                    Wrong::kExtreme);
}

/// nll_loss_forward: log probabilities, labels; the second output is how much the labels weigh.
std::optional<Blame> labelsLeftOut(Look& look) {
  const TensorStatistics *logProb = look.input(0), *out = look.output(), *weight = look.outputAt(1);
  if (!out) return std::nullopt;
  if (out->nan > 0 && weight && weight->zero == weight->count && look.inputs() > 1)
    return look.blame(1, "holds nothing but ignore_index: the mean over no label is 0/0, NaN",
                      Wrong::kExtreme);
  if (!logProb || out->inf() == 0 || logProb->negInf == 0) return std::nullopt;
  return look.blame(0, "is -Inf" + look.places(0, logProb->negInf, {}) + ": so is what it gives a label",
                    Wrong::kNonFinite);
}

/// What its recorder found when an operator read what no operator had written.
std::optional<Blame> writtenOutside(Look& look) {
  const TensorStatistics *before = look.input(0), *now = look.output();
  if (!now) return std::nullopt;
  for (std::size_t i = 0; i < look.inputs(); ++i)  // of parts, one may have brought it
    if (const TensorStatistics* part = look.input(i); part && part->nonFinite() > 0) return std::nullopt;
  if (!before && look.node().opType != "torch.written_outside") return std::nullopt;
  if (!before)
    return look.blame(0,
                      "was made without values, and no operator of torch wrote into it before it was read: "
                      "something else did, or nobody",
                      Wrong::kExtreme);
  return look.blame(
      0,
      "was finite when it was made, and is not when it is read: something that is no operator of "
      "torch wrote into it in between",
      Wrong::kExtreme);
}

/// Attention in one operator: query, key, value, maybe a mask.
std::optional<Blame> attentionFails(Look& look) {
  const TensorStatistics *query = look.input(0), *key = look.input(1), *out = look.output();
  if (!query || !key || !out || query->nonFinite() + key->nonFinite() > 0) return std::nullopt;
  for (std::size_t i = 3; i < look.inputs(); ++i)
    if (const TensorStatistics* mask = look.input(i); mask && mask->negInf > 0 && out->nan > 0)
      return look.blame(
          i, "is -Inf" + look.places(i, mask->negInf, {}) + ": a row that is masked whole gives NaN",
          Wrong::kNonFinite);
  const double most = largestMagnitude(*query) * largestMagnitude(*key);
  if (most <= look.limit() / 1024) return std::nullopt;
  return look.blame(0,
                    "reaches " + formatShort(largestMagnitude(*query)) + " and " + look.inputName(1) + " " +
                        formatShort(largestMagnitude(*key)) + ": their product overflows " + look.limitName(),
                    Wrong::kExtreme);
}

/// grad_output, input, weight; one output for each of input, weight, bias.
std::optional<Blame> convolutionGradientOverflows(Look& look) {
  const TensorStatistics* gradient = look.input(0);
  const TensorStatistics* other = look.input(look.outputInfo().slot == 0 ? 2 : 1);
  if (!gradient || !other || gradient->nonFinite() + other->nonFinite() > 0) return std::nullopt;
  const double most =
      largestMagnitude(*gradient) * largestMagnitude(*other) * static_cast<double>(gradient->count);
  if (most <= look.limit()) return std::nullopt;
  return look.blame(
      0,
      "reaches " + formatShort(largestMagnitude(*gradient)) + ": the gradient overflows " + look.limitName(),
      Wrong::kExtreme);
}

namespace {

/// What else than a step wrote to a state of the optimizer: behind rates, of another role. "": nothing.
std::string writerOfState(const Look& look) {
  for (std::size_t i = look.inputs(); i-- > 2;) {
    const core::TensorInfo& info = look.info(i);
    if (!info.isSource() && info.role != core::TensorRole::kUpdated &&
        info.role != core::TensorRole::kOptimizerState)
      return info.name;
  }
  return "";
}

/// No step makes a mean of squares negative.
std::optional<Blame> negativeSquares(Look& look) {
  static constexpr auto kSquares = std::to_array<std::string_view>(
      {"/exp_avg_sq", "/max_exp_avg_sq", "/square_avg", "/acc_delta", "/sum"});
  for (std::size_t i = 2; i < look.inputs(); ++i) {
    const core::TensorInfo& info = look.info(i);
    const bool squares = info.role == core::TensorRole::kOptimizerState &&
                         std::ranges::any_of(kSquares, [&](auto end) { return info.name.ends_with(end); });
    const TensorStatistics* row = squares ? look.input(i) : nullptr;
    if (!row || row->negative == 0) continue;
    const std::string writer = writerOfState(look);
    Blame blame = look.blame(i,
                             "is negative" + look.places(i, row->negative, {}) + ", down to " +
                                 formatShort(row->min) + ": its root gives NaN; no step makes it so" +
                                 (writer.empty() ? "" : ", " + writer + " wrote to it"),
                             Wrong::kExtreme);
    blame.advice = "look at what writes to the optimizer's state between its steps, or loads it";
    return blame;
  }
  return std::nullopt;
}

}  // namespace

/// torch.optim's updates: the parameter, its gradient, states; rates are scalars of the iteration.
namespace {

/// Below half of the least number of the dtype above 0.
bool roundsToZero(double x, core::DType dtype) {
  const core::FloatLimits limits = core::floatLimits(dtype);
  return x < limits.smallest / 2;
}

}  // namespace

std::optional<Blame> torchUpdateFails(Look& look) {
  constexpr double kHugeRate = 100;
  const TensorStatistics *p = look.input(0), *g = look.input(1);
  if (!p || !g || p->nonFinite() + g->nonFinite() > 0) return std::nullopt;
  if (std::optional<Blame> squares = negativeSquares(look)) return squares;
  const std::optional<double> rate = look.source().scalar(look.rank(), look.iteration(), "learning_rate");
  if (rate && std::abs(*rate) > kHugeRate) {
    Blame blame = look.blame(1,
                             "is multiplied by a learning rate of " + formatShort(*rate) +
                                 ": the step overflows " + look.limitName(),
                             Wrong::kExtreme);
    blame.advice = "lower the learning rate";
    return blame;
  }
  const double largest = largestMagnitude(*g);
  if (largest * largest > look.limit())
    return look.blame(1, "reaches " + formatShort(largest) + ": its square overflows " + look.limitName(),
                      Wrong::kExtreme);
  const double eps = numberOf(look, "eps").value_or(1e-8);
  if (eps > 0 && numberOf(look, "eps") && roundsToZero(eps, look.info(0).dtype)) {
    Blame blame = look.blame(1,
                             "is divided by the root of its square plus eps, and eps = " + formatShort(eps) +
                                 " is 0 in " + look.limitName() + ", as small squares are: x/0 or 0/0",
                             Wrong::kZero);
    blame.advice = "keep the parameters in float32 (autocast), or give the optimizer an eps of 1e-4";
    return blame;
  }
  const bool zero = g->zero > 0 && eps == 0;
  if (!zero) return std::nullopt;
  Blame blame =
      look.blame(1, "is 0" + look.places(1, g->zero, {}) + " and eps is 0: 0/0 gives NaN", Wrong::kZero);
  blame.advice = "give the optimizer an eps, such as 1e-8";
  return blame;
}

std::optional<Blame> nothingForTorch(Look& look) {
  const TensorStatistics* g = look.input(1);
  if (g && g->count > 0 && g->zero == g->count)
    return look.blame(1, "is 0 everywhere: there is no step to take", Wrong::kAllZero);
  const std::optional<double> rate = look.source().scalar(look.rank(), look.iteration(), "learning_rate");
  if (!g || !rate || *rate != 0) return std::nullopt;
  Blame blame = look.blame(1, "is multiplied by a learning rate of 0: no step is taken", Wrong::kExtreme);
  blame.advice = "look at the learning-rate schedule";
  return blame;
}

}  // namespace msdbg::watch
