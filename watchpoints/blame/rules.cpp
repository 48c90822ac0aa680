#include "watchpoints/blame/rules_internal.h"

namespace msdbg::watch {

std::span<const Rule> blameRules() {
  using enum Wrong;
  static constexpr std::string_view kEpsilon = "add an epsilon to the divisor";
  static constexpr std::string_view kRoot = "add an epsilon under the root: its gradient at 0 is not finite";
  static constexpr std::string_view kLogarithm =
      "keep the logarithm's argument away from 0, as by clip(x, 1e-7, …)";
  static constexpr std::string_view kScale =
      "scale the inputs, normalise between layers, or lower the learning rate";
  static constexpr std::string_view kDead =
      "where it was alive before, lower the learning rate; where not, look at its bias and initialisation";
  static constexpr std::string_view kExponent =
      "subtract the largest of each row first, or clip the argument";
  static constexpr std::string_view kBase = "add an epsilon to the base";
  static constexpr std::string_view kMask = "select with where() instead of multiplying by Inf";
  static constexpr std::string_view kNormal =
      "use an epsilon of at least 1e-5, or leave out what does not vary";
  static constexpr std::string_view kSaturated = "scale its argument down, or normalise before it";
  static constexpr std::string_view kGradient = "clip gradients, or lower the learning rate";
  static constexpr std::string_view kInside = "clamp the argument to where the function is defined";
  static constexpr std::string_view kDegrees = "leave out what has one element, or take correction=0";
  static constexpr std::string_view kUnmasked = "leave at least one place of each row unmasked";
  static constexpr std::string_view kOutside =
      "look at what holds its memory: a kernel of Triton or of an extension, numpy(), data_ptr()";
  static constexpr Rule kRules[] = {
      // Failures and wrong indices, whatever came of them.
      {"SoftmaxCrossEntropyLoss", kNonFinite, labelOutOfRange, "number the classes from 0"},
      {"SoftmaxCrossEntropyLoss", kExtreme, labelOutOfRange, "number the classes from 0"},
      {"Gather", kNonFinite, indexOutOfRange, "compare the ids with the size of the table"},
      {"Gather", kExtreme, indexOutOfRange, "compare the ids with the size of the table"},
      // Outside the domain.
      {"Div", kNonFinite, zeroDivisor, kRoot, "Sqrt"},
      {"Div", kNonFinite, zeroDivisor, kLogarithm, "Log"},
      {"Div", kNonFinite, zeroDivisor, kEpsilon},
      {"Div", kNonFinite, smallDivisor, kRoot, "Sqrt"},
      {"Div", kNonFinite, smallDivisor, kLogarithm, "Log"},
      {"Div", kNonFinite, smallDivisor, kEpsilon},
      {"Log", kNonFinite, logOfNonPositive, kLogarithm},
      {"Sqrt", kNonFinite, rootOfNegative, "clamp the argument at 0"},
      {"Exp", kNonFinite, expOverflows, kExponent},
      {"Softmax", kNonFinite, softmaxOfInfinity, kScale},
      {"LogSoftmax", kNonFinite, softmaxOfInfinity, kScale},
      {"SoftmaxCrossEntropyLoss", kNonFinite, lossOfInfinity, "do not mask the logit of the label"},
      {"Pow", kNonFinite, powerOutsideDomain,
       "add an epsilon to the base: the gradient of Pow at 0 is not finite", "Pow"},
      {"Pow", kNonFinite, powerOutsideDomain, kBase},
      {"aten.log1p", kNonFinite, argumentOutsideDomain, kLogarithm},
      {"aten.logit", kNonFinite, argumentOutsideDomain,
       "keep the argument away from 0 and 1: logit(x, eps=1e-6)"},
      {"aten.rsqrt", kNonFinite, argumentOutsideDomain, "add an epsilon under the root"},
      {"aten.reciprocal", kNonFinite, argumentOutsideDomain, kEpsilon},
      {"aten.acos", kNonFinite, argumentOutsideDomain, kInside},
      {"aten.asin", kNonFinite, argumentOutsideDomain, kInside},
      {"aten.acosh", kNonFinite, argumentOutsideDomain, kInside},
      {"aten.atanh", kNonFinite, argumentOutsideDomain, kInside},
      {"aten.div", kNonFinite, dividedByNumber, "look at how the divisor is counted"},
      {"aten.pow", kNonFinite, powerOfNumber, kBase},
      {"aten.mean", kNonFinite, meanOfNothing,
       "leave it out where nothing is chosen, or divide by max(count, 1)"},
      {"aten.addcdiv", kNonFinite, zeroInQuotient, kEpsilon},
      {"aten.var", kNonFinite, varianceOfOne, kDegrees},
      {"aten.std", kNonFinite, varianceOfOne, kDegrees},
      {"aten.var_mean", kNonFinite, varianceOfOne, kDegrees},
      {"aten.std_mean", kNonFinite, varianceOfOne, kDegrees},
      {"aten.nll_loss_forward", kNonFinite, labelsLeftOut,
       "leave out a batch without labels, or divide the sum by max(count, 1)"},
      {"aten.nll_loss2d_forward", kNonFinite, labelsLeftOut,
       "leave out a batch without labels, or divide the sum by max(count, 1)"},
      {"aten._scaled_dot_product_flash_attention_for_cpu", kNonFinite, attentionFails, kUnmasked},
      {"aten._scaled_dot_product_flash_attention", kNonFinite, attentionFails, kUnmasked},
      {"aten._scaled_dot_product_efficient_attention", kNonFinite, attentionFails, kUnmasked},
      {"aten._scaled_dot_product_cudnn_attention", kNonFinite, attentionFails, kUnmasked},
      {"aten.convolution_backward", kNonFinite, convolutionGradientOverflows, kGradient},
      {"aten.mse_loss", kNonFinite, squaresOverflow, kScale},
      {"torch.written_outside", kNonFinite, writtenOutside, kOutside},
      {"torch.parts", kNonFinite, writtenOutside, kOutside},  // which only holds what was written
      {"torch.optim.*", kNonFinite, torchUpdateFails, kGradient},
      {"torch.optim.*", kAllZero, nothingForTorch},
      // Overflow, and Inf among what is combined.
      {"Mul", kNonFinite, infinityTimesZero, kMask},
      {"Mul", kNonFinite, productOverflows, kScale},
      {"MatMul", kNonFinite, infinityTimesZero, kMask},
      {"MatMul", kNonFinite, productOverflows, kScale},
      {"Gemm", kNonFinite, infinityTimesZero, kMask},
      {"Gemm", kNonFinite, productOverflows, kScale},
      {"Conv", kNonFinite, infinityTimesZero, kMask},
      {"Conv", kNonFinite, productOverflows, kScale},
      {"ConvGradInput", kNonFinite, productOverflows, kGradient},
      {"ConvGradWeight", kNonFinite, productOverflows, kGradient},
      {"SoftmaxGrad", kNonFinite, productOverflows, kGradient},
      {"Add", kNonFinite, infinityMinusInfinity, kScale},
      {"Add", kNonFinite, sumOverflows, kScale},
      {"Sub", kNonFinite, infinityMinusInfinity, kScale},
      {"Sub", kNonFinite, sumOverflows, kScale},
      {"ReduceMean", kNonFinite, meanOfNothing, "look at the shapes: this dimension is empty"},
      {"ReduceMean", kNonFinite, reductionOverflows, kScale},
      {"ReduceSum", kNonFinite, reductionOverflows, kScale},
      {"ReduceSumSquare", kNonFinite, squaresOverflow, kGradient},
      {"GlobalAveragePool", kNonFinite, reductionOverflows, kScale},
      {"AveragePool", kNonFinite, reductionOverflows, kScale},
      {"Cast", kNonFinite, castOverflows, kScale},
      {"Allreduce", kNonFinite, sumOverRanksOverflows, kGradient},
      // Normalisations.
      {"BatchNormalization", kNonFinite, batchWithoutVariance, kNormal},
      {"LayerNormalization", kNonFinite, rowWithoutVariance, kNormal},
      {"BatchNormalization", kExtreme, batchWithoutVariance, kNormal},
      {"LayerNormalization", kExtreme, rowWithoutVariance, kNormal},
      {"BatchNormalizationGrad", kExtreme, vanishingVarianceGradient, kNormal},
      {"LayerNormalizationGrad", kExtreme, vanishingVarianceGradient, kNormal},
      // Optimizers.
      {"SgdUpdate", kNonFinite, sgdOverflows, kGradient},
      {"AdamUpdate", kNonFinite, adamOverflows, kGradient},
      {"SgdUpdate", kAllZero, nothingToUpdate},
      {"AdamUpdate", kAllZero, nothingToUpdate},
      // Finite, but extreme.
      {"Div", kExtreme, smallDivisor, kEpsilon},
      {"Exp", kExtreme, expReaches, kExponent},
      {"SoftmaxCrossEntropyLoss", kExtreme, hugeLogits, kScale},
      // Zeros everywhere.
      {"Relu", kAllZero, nowherePositive, kDead},
      {"ReluGrad", kAllZero, deadRelu, kDead},
      {"SigmoidGrad", kAllZero, saturated, kSaturated},
      {"TanhGrad", kAllZero, saturated, kSaturated},
      {"SoftmaxGrad", kAllZero, saturated, kSaturated},
      {"ClipGrad", kAllZero, outsideClip, "widen the clip, or scale what goes into it"},
      {"DropoutGrad", kAllZero, everythingDropped, "lower the dropout's ratio"},
      {"Cast", kAllZero, truncatedToZero, "scale before the Cast, or leave it out"},
      {"SoftmaxCrossEntropyLossGrad", kAllZero, certainLoss},
      {"Mul", kAllZero, zeroFactor},
      {"MatMul", kAllZero, zeroFactor},
      {"Gemm", kAllZero, zeroFactor},
      {"Conv", kAllZero, zeroFactor},
      {"ConvGradInput", kAllZero, zeroFactor},
      {"ConvGradWeight", kAllZero, zeroFactor},
      {"Div", kAllZero, zeroArgument},
      {"Sub", kAllZero, equalTerms},
      {"Exp", kAllZero, expUnderflows, kExponent},
      // Zeros where none may be.
      {"Relu", kZero, nowherePositive},
      {"Mul", kZero, zeroFactor},
      {"Div", kZero, zeroArgument},
      {"Sub", kZero, equalTerms},
      {"Sqrt", kZero, zeroArgument},
      {"ReduceMean", kZero, zeroArgument},
      {"ReduceSum", kZero, zeroArgument},
      {"ReduceSumSquare", kZero, zeroArgument},
      {"Exp", kZero, expUnderflows, kExponent},
      {"Softmax", kZero, softmaxUnderflows, kScale},
  };
  return kRules;
}

}  // namespace msdbg::watch
