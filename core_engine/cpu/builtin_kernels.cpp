#include "core_engine/cpu/kernel_factory.h"

namespace msdbg::core::cpu {

// The only list of fast kernels: operator, factory, and whether the kernel takes any dtype.
std::span<const KernelRow> builtinKernels() {
  static constexpr KernelRow kRows[] = {
      {"Add", addKernel},
      {"Cast", castKernel, DTypes::kAny},
      {"Conv", convKernel},
      {"ConvGradInput", convGradInputKernel},
      {"ConvGradWeight", convGradWeightKernel},
      {"Div", divKernel},
      {"Dropout", dropoutKernel},
      {"DropoutGrad", dropoutGradKernel},
      {"Flatten", copyKernel, DTypes::kAny},
      {"Gemm", gemmKernel},
      {"Identity", copyKernel, DTypes::kAny},
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
      {"Sub", subKernel},
      {"Tanh", tanhKernel},
      {"TanhGrad", tanhGradKernel},
      {"Transpose", transposeKernel, DTypes::kAny},
  };
  return kRows;
}

}  // namespace msdbg::core::cpu
