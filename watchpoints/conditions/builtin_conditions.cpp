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
ConditionDef batchContentCondition();
ConditionDef targetRangeCondition();

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
      runFailedCondition,
  };
  return kConditions;
}

}  // namespace msdbg::watch
