#include "core_engine/cpu/kernel_factory.h"

namespace msdbg::core::cpu {

// The only list of fast kernels: operator, factory, and whether the kernel takes any dtype.
std::span<const KernelRow> builtinKernels() {
  static constexpr KernelRow kRows[] = {
      {"AdamUpdate", adamUpdateKernel},
      {"Add", addKernel},
      {"BatchNormalization", batchNormKernel},
      {"BatchNormalizationGrad", batchNormGradKernel},
      {"Cast", castKernel, DTypes::kAny},
      {"Conv", convKernel},
      {"ConvGradInput", convGradInputKernel},
      {"ConvGradWeight", convGradWeightKernel},
      {"Div", divKernel},
      {"Dropout", dropoutKernel},
      {"DropoutGrad", dropoutGradKernel},
      {"Erf", erfKernel},
      {"Exp", expKernel},
      {"Flatten", copyKernel, DTypes::kAny},
      {"Gelu", geluKernel},
      {"GeluGrad", geluGradKernel},
      {"Gemm", gemmKernel},
      {"GlobalAveragePool", globalAveragePoolKernel},
      {"Identity", copyKernel, DTypes::kAny},
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
      {"Reshape", copyKernel, DTypes::kAny},
      {"SgdUpdate", sgdUpdateKernel},
      {"Sigmoid", sigmoidKernel},
      {"SigmoidGrad", sigmoidGradKernel},
      {"Softmax", softmaxKernel},
      {"SoftmaxCrossEntropyLoss", crossEntropyKernel},
      {"SoftmaxCrossEntropyLossGrad", crossEntropyGradKernel},
      {"SoftmaxGrad", softmaxGradKernel},
      {"Sqrt", sqrtKernel},
      {"Squeeze", copyKernel, DTypes::kAny},
      {"Sub", subKernel},
      {"Tanh", tanhKernel},
      {"TanhGrad", tanhGradKernel},
      {"Transpose", transposeKernel, DTypes::kAny},
      {"Unsqueeze", copyKernel, DTypes::kAny},
  };
  return kRows;
}

}  // namespace msdbg::core::cpu
