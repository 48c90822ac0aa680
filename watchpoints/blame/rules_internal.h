// The rules behind blameOperator(): each explains one way in which an output goes wrong. The table that says
// which operator has which is in rules.cpp. Pure functions of what they look at.
#pragma once

#include <span>

#include "watchpoints/blame/look.h"
#include "watchpoints/blame/usual_range.h"

namespace msdbg::watch {

using RuleFn = std::optional<Blame> (*)(Look& look);

struct Rule {
  /// Ours; or domain and type ("aten.rsqrt"), or a whole domain ("torch.optim.*"), of operators that have no
  /// meaning in our terms.
  std::string_view opType;
  Wrong wrong;
  RuleFn blame;
  std::string_view advice = {};  // where the rule itself gives none
  /// Only of the backward nodes of this forward operator; "" for every node of the type.
  std::string_view backwardOf = {};
};
std::span<const Rule> blameRules();  // rules.cpp: the only list; the first that explains it answers

/// Where a power overflows by its base.
inline constexpr std::string_view kSmallerBase = "scale the base, or compute the power in float32";

// Arguments outside the domain of a function, and overflow of one. domain_rules.cpp
std::optional<Blame> zeroDivisor(Look& look);
std::optional<Blame> smallDivisor(Look& look);
std::optional<Blame> logOfNonPositive(Look& look);
std::optional<Blame> rootOfNegative(Look& look);
std::optional<Blame> expOverflows(Look& look);
std::optional<Blame> expReaches(Look& look);
std::optional<Blame> softmaxOfInfinity(Look& look);
std::optional<Blame> powerOutsideDomain(Look& look);
std::optional<Blame> lossOfInfinity(Look& look);
std::optional<Blame> hugeLogits(Look& look);
std::optional<Blame> indexOutOfRange(Look& look);  // Gather, GatherGrad
std::optional<Blame> labelOutOfRange(Look& look);

// Products and sums that overflow, or that have Inf among what they combine. product_rules.cpp
std::optional<Blame> infinityTimesZero(Look& look);
std::optional<Blame> productOverflows(Look& look);
std::optional<Blame> infinityMinusInfinity(Look& look);
std::optional<Blame> sumOverflows(Look& look);
std::optional<Blame> reductionOverflows(Look& look);
std::optional<Blame> squaresOverflow(Look& look);
std::optional<Blame> meanOfNothing(Look& look);
std::optional<Blame> castOverflows(Look& look);
std::optional<Blame> sumOverRanksOverflows(Look& look);

// Where zeros come from. zero_rules.cpp
std::optional<Blame> zeroFactor(Look& look);    // Mul, Gemm, Conv …: inputs 0 and 1
std::optional<Blame> zeroArgument(Look& look);  // 0 of 0: input 0
std::optional<Blame> equalTerms(Look& look);
std::optional<Blame> expUnderflows(Look& look);
std::optional<Blame> softmaxUnderflows(Look& look);
std::optional<Blame> nowherePositive(Look& look);  // Relu
std::optional<Blame> deadRelu(Look& look);         // ReluGrad
std::optional<Blame> saturated(Look& look);        // SigmoidGrad, TanhGrad, SoftmaxGrad
std::optional<Blame> outsideClip(Look& look);
std::optional<Blame> everythingDropped(Look& look);
std::optional<Blame> truncatedToZero(Look& look);
std::optional<Blame> certainLoss(Look& look);

// A variance that vanishes. normalisation_rules.cpp
std::optional<Blame> batchWithoutVariance(Look& look);
std::optional<Blame> rowWithoutVariance(Look& look);
std::optional<Blame> vanishingVarianceGradient(Look& look);

// Optimizers. update_rules.cpp
std::optional<Blame> sgdOverflows(Look& look);
std::optional<Blame> adamOverflows(Look& look);
std::optional<Blame> nothingToUpdate(Look& look);

// PyTorch's operators that are none of ours; rules.cpp names them by domain. aten_rules.cpp
std::optional<Blame> argumentOutsideDomain(Look& look);
std::optional<Blame> dividedByNumber(Look& look);
std::optional<Blame> powerOfNumber(Look& look);
std::optional<Blame> zeroInQuotient(Look& look);
std::optional<Blame> writtenOutside(Look& look);
std::optional<Blame> varianceOfOne(Look& look);
std::optional<Blame> labelsLeftOut(Look& look);
std::optional<Blame> attentionFails(Look& look);
std::optional<Blame> convolutionGradientOverflows(Look& look);
std::optional<Blame> torchUpdateFails(Look& look);
std::optional<Blame> nothingForTorch(Look& look);

}  // namespace msdbg::watch
