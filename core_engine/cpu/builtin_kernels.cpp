#include "core_engine/cpu/kernel_factory.h"

namespace msdbg::core::cpu {

// The only list of fast kernels: operator, factory, whether the kernel takes any dtype, and the
// layouts it knows.
std::span<const KernelRow> builtinKernels() {
  static constexpr KernelRow kRows[] = {
      {"AdamUpdate", adamUpdateKernel},
      {"Add", addKernel, DTypes::kFloat32, KnownLayouts::kAlike},
      {"BatchNormalization", batchNormKernel, DTypes::kFloat32, KnownLayouts::kAlike},
      {"BatchNormalizationGrad", batchNormGradKernel, DTypes::kFloat32, KnownLayouts::kAlike},
      {"Cast", castKernel, DTypes::kAny},
      {"Conv", convKernel, DTypes::kFloat32, KnownLayouts::kConvolution},
      {"ConvGradInput", convGradInputKernel, DTypes::kFloat32, KnownLayouts::kConvolution},
      {"ConvGradWeight", convGradWeightKernel, DTypes::kFloat32, KnownLayouts::kConvolution},
      {"Div", divKernel, DTypes::kFloat32, KnownLayouts::kAlike},
      {"Dropout", dropoutKernel},
      {"DropoutGrad", dropoutGradKernel},
      {"Erf", erfKernel, DTypes::kFloat32, KnownLayouts::kAlike},
      {"Exp", expKernel, DTypes::kFloat32, KnownLayouts::kAlike},
      {"Flatten", copyKernel, DTypes::kAny},
      {"Gelu", geluKernel, DTypes::kFloat32, KnownLayouts::kAlike},
      {"GeluGrad", geluGradKernel, DTypes::kFloat32, KnownLayouts::kAlike},
      {"Gemm", gemmKernel},
      {"GlobalAveragePool", globalAveragePoolKernel},
      {"Identity", copyKernel, DTypes::kAny},
      {"LayerNormalization", layerNormKernel},
      {"LayerNormalizationGrad", layerNormGradKernel},
      {"Log", logKernel, DTypes::kFloat32, KnownLayouts::kAlike},
      {"LogSoftmax", logSoftmaxKernel},
      {"LogSoftmaxGrad", logSoftmaxGradKernel},
      {"MatMul", matMulKernel},
      {"MaxPool", maxPoolKernel},
      {"MaxPoolGrad", maxPoolGradKernel},
      {"Mul", mulKernel, DTypes::kFloat32, KnownLayouts::kAlike},
      {"ReduceMean", reduceMeanKernel},
      {"ReduceMeanGrad", reduceMeanGradKernel},
      {"ReduceSum", reduceSumKernel},
      {"ReduceSumGrad", reduceSumGradKernel},
      {"ReduceSumSquare", reduceSumSquareKernel},
      {"Relu", reluKernel, DTypes::kFloat32, KnownLayouts::kAlike},
      {"ReluGrad", reluGradKernel, DTypes::kFloat32, KnownLayouts::kAlike},
      {"Reshape", copyKernel, DTypes::kAny},
      {"SgdUpdate", sgdUpdateKernel},
      {"Sigmoid", sigmoidKernel, DTypes::kFloat32, KnownLayouts::kAlike},
      {"SigmoidGrad", sigmoidGradKernel, DTypes::kFloat32, KnownLayouts::kAlike},
      {"Softmax", softmaxKernel},
      {"SoftmaxCrossEntropyLoss", crossEntropyKernel},
      {"SoftmaxCrossEntropyLossGrad", crossEntropyGradKernel},
      {"SoftmaxGrad", softmaxGradKernel},
      {"Sqrt", sqrtKernel, DTypes::kFloat32, KnownLayouts::kAlike},
      {"Squeeze", copyKernel, DTypes::kAny},
      {"Sub", subKernel, DTypes::kFloat32, KnownLayouts::kAlike},
      {"Tanh", tanhKernel, DTypes::kFloat32, KnownLayouts::kAlike},
      {"TanhGrad", tanhGradKernel, DTypes::kFloat32, KnownLayouts::kAlike},
      {"Transpose", transposeKernel, DTypes::kAny},
      {"Unsqueeze", copyKernel, DTypes::kAny},
  };
  return kRows;
}

}  // namespace msdbg::core::cpu
