#include "watchpoints/condition.h"

namespace msdbg::watch {

ConditionDef runFailedCondition();
ConditionDef tensorOverflowCondition();
ConditionDef nonfinitePropagationCondition();
ConditionDef tensorAllZeroCondition();
ConditionDef gradientVanishingCondition();
ConditionDef weightInitializationCondition();
ConditionDef weightNotChangedCondition();
ConditionDef weightChangeTooLargeCondition();
ConditionDef weightChangeTooSmallCondition();
ConditionDef activationRangeCondition();
ConditionDef deadReluCondition();
ConditionDef lossNotDecreasingCondition();
ConditionDef rankDivergenceCondition();
ConditionDef collectiveMismatchCondition();
ConditionDef noGradientCondition();
ConditionDef noActivationCondition();
ConditionDef normalizationOfOneCondition();
ConditionDef activationExplodingCondition();
ConditionDef lossInputCondition();
ConditionDef lossDivergingCondition();
ConditionDef hyperparameterRangeCondition();
ConditionDef sameBatchCondition();
ConditionDef statisticSpikeCondition();
ConditionDef batchContentCondition();
ConditionDef targetRangeCondition();
ConditionDef targetLeakCondition();
ConditionDef maskReversedCondition();
ConditionDef multipliedMaskCondition();
ConditionDef rightAnswerCondition();
ConditionDef softmaxAxisCondition();
ConditionDef clippingTooTightCondition();
ConditionDef saturatedStartCondition();
ConditionDef rankLossGapCondition();
ConditionDef boundedLogitsCondition();
ConditionDef reshapeMixesAxesCondition();
ConditionDef shiftedBroadcastCondition();
ConditionDef frozenAtRandomCondition();
ConditionDef unsharedWeightsCondition();
ConditionDef evaluationModeCondition();
ConditionDef growingGraphCondition();
ConditionDef gradientsDroppedCondition();
ConditionDef optimizerResetCondition();
ConditionDef resultUnusedCondition();
ConditionDef cancellationCondition();
ConditionDef tableLookupCondition();
ConditionDef kernelMismatchCondition();
ConditionDef weightOverwrittenCondition();

std::span<const ConditionFactory> builtinConditions() {
  static constexpr ConditionFactory kConditions[] = {
      nonfinitePropagationCondition,
      tensorOverflowCondition,
      tensorAllZeroCondition,
      gradientVanishingCondition,
      weightInitializationCondition,
      weightNotChangedCondition,
      weightChangeTooLargeCondition,
      weightChangeTooSmallCondition,
      activationRangeCondition,
      deadReluCondition,
      lossNotDecreasingCondition,
      rankDivergenceCondition,
      collectiveMismatchCondition,
      noGradientCondition,
      noActivationCondition,
      normalizationOfOneCondition,
      activationExplodingCondition,
      lossInputCondition,
      lossDivergingCondition,
      hyperparameterRangeCondition,
      sameBatchCondition,
      batchContentCondition,
      targetRangeCondition,
      targetLeakCondition,
      maskReversedCondition,
      multipliedMaskCondition,
      rightAnswerCondition,
      softmaxAxisCondition,
      clippingTooTightCondition,
      saturatedStartCondition,
      rankLossGapCondition,
      boundedLogitsCondition,
      reshapeMixesAxesCondition,
      shiftedBroadcastCondition,
      frozenAtRandomCondition,
      unsharedWeightsCondition,
      evaluationModeCondition,
      growingGraphCondition,
      gradientsDroppedCondition,
      optimizerResetCondition,
      resultUnusedCondition,
      cancellationCondition,
      tableLookupCondition,
      kernelMismatchCondition,
      weightOverwrittenCondition,
      statisticSpikeCondition,
      runFailedCondition,
  };
  return kConditions;
}

}  // namespace msdbg::watch
