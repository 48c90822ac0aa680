#include "core_engine/device/kernel_factory.h"

namespace msdbg::core::device {

// The only list of a device's kernels: operator, factory, whether it moves bytes of any dtype, whether its
// outputs may lie where what they replace does.
std::span<const DeviceKernelRow> builtinDeviceKernels() {
  static constexpr DeviceKernelRow kRows[] = {
      {"AccumulateGradient", accumulateGradientKernel, false, true},
      {"AdamUpdate", adamUpdateKernel, false, true},
      {"Add", addKernel},
      {"BatchNormalization", batchNormKernel},
      {"BatchNormalizationGrad", batchNormGradKernel},
      {"Cast", castKernel, true},
      {"Concat", concatKernel, true},
      {"Conv", convKernel},
      {"ConvGradInput", convGradInputKernel},
      {"ConvGradWeight", convGradWeightKernel},
      {"Div", divKernel},
      {"Dropout", dropoutKernel},
      {"DropoutGrad", dropoutGradKernel},
      {"Erf", erfKernel},
      {"Exp", expKernel},
      {"Flatten", copyKernel, true},
      {"Gather", gatherKernel, true},
      {"GatherGrad", gatherGradKernel},
      {"Gelu", geluKernel},
      {"GeluGrad", geluGradKernel},
      {"Gemm", gemmKernel},
      {"GlobalAveragePool", globalAveragePoolKernel},
      {"Identity", copyKernel, true},
      {"LayerNormalization", layerNormKernel},
      {"LayerNormalizationGrad", layerNormGradKernel},
      {"Log", logKernel},
      {"LogSoftmax", logSoftmaxKernel},
      {"LogSoftmaxGrad", logSoftmaxGradKernel},
      {"MatMul", matMulKernel},
      {"MaxPool", maxPoolKernel},
      {"MaxPoolGrad", maxPoolGradKernel},
      {"Mul", mulKernel},
      {"ReduceMean", reduceMeanKernel},
      {"ReduceMeanGrad", reduceMeanGradKernel},
      {"ReduceSum", reduceSumKernel},
      {"ReduceSumGrad", reduceSumGradKernel},
      {"ReduceSumSquare", reduceSumSquareKernel},
      {"Relu", reluKernel},
      {"ReluGrad", reluGradKernel},
      {"Reshape", copyKernel, true},
      {"SgdUpdate", sgdUpdateKernel, false, true},
      {"Sigmoid", sigmoidKernel},
      {"SigmoidGrad", sigmoidGradKernel},
      {"Softmax", softmaxKernel},
      {"SoftmaxCrossEntropyLoss", crossEntropyKernel},
      {"SoftmaxCrossEntropyLossGrad", crossEntropyGradKernel},
      {"SoftmaxGrad", softmaxGradKernel},
      {"Split", splitKernel, true},
      {"Sqrt", sqrtKernel},
      {"Squeeze", copyKernel, true},
      {"StepUpdate", stepUpdateKernel, false, true},
      {"Sub", subKernel},
      {"Tanh", tanhKernel},
      {"TanhGrad", tanhGradKernel},
      {"Transpose", transposeKernel, true},
      {"Unsqueeze", copyKernel, true},
  };
  return kRows;
}

}  // namespace msdbg::core::device
