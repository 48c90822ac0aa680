#include "core_engine/cpu/kernel_factory.h"

namespace msdbg::core::cpu {
namespace {

constexpr KernelRow inParts(std::string_view opType, TileFactory tiles,
                            KnownLayouts layouts = KnownLayouts::kRowMajor) {
  return {opType, nullptr, DTypes::kFloat32, layouts, tiles};
}

}  // namespace

// The only list of fast kernels: operator, factory, whether the kernel takes any dtype, the layouts it
// knows; or the factory of a kernel that works in parts.
std::span<const KernelRow> builtinKernels() {
  static constexpr KernelRow kRows[] = {
      inParts("AccumulateGradient", accumulateGradientTiles),
      inParts("AdamUpdate", adamUpdateTiles),
      inParts("Add", addTiles, KnownLayouts::kAlike),
      {"BatchNormalization", batchNormKernel, DTypes::kFloat32, KnownLayouts::kAlike, batchNormTiles},
      {"BatchNormalizationGrad", batchNormGradKernel, DTypes::kFloat32, KnownLayouts::kAlike},
      {"Cast", castKernel, DTypes::kAny},
      {"Conv", convKernel, DTypes::kFloat32, KnownLayouts::kConvolution},
      {"ConvGradInput", convGradInputKernel, DTypes::kFloat32, KnownLayouts::kConvolution},
      {"ConvGradWeight", convGradWeightKernel, DTypes::kFloat32, KnownLayouts::kConvolution},
      inParts("Div", divTiles, KnownLayouts::kAlike),
      inParts("Dropout", dropoutTiles),
      inParts("DropoutGrad", dropoutGradTiles),
      inParts("Erf", erfTiles, KnownLayouts::kAlike),
      inParts("Exp", expTiles, KnownLayouts::kAlike),
      {"Flatten", copyKernel, DTypes::kAny},
      inParts("Gelu", geluTiles, KnownLayouts::kAlike),
      inParts("GeluGrad", geluGradTiles, KnownLayouts::kAlike),
      {"Gemm", gemmKernel},
      {"GlobalAveragePool", globalAveragePoolKernel},
      {"Identity", copyKernel, DTypes::kAny},
      {"StopGradient", copyKernel, DTypes::kAny},
      inParts("LayerNormalization", layerNormTiles),
      {"LayerNormalizationGrad", layerNormGradKernel},
      inParts("Log", logTiles, KnownLayouts::kAlike),
      inParts("LogSoftmax", logSoftmaxTiles),
      inParts("LogSoftmaxGrad", logSoftmaxGradTiles),
      {"MatMul", matMulKernel},
      {"MaxPool", maxPoolKernel},
      {"MaxPoolGrad", maxPoolGradKernel},
      inParts("Mul", mulTiles, KnownLayouts::kAlike),
      {"ReduceMean", reduceMeanKernel},
      {"ReduceMeanGrad", reduceMeanGradKernel},
      {"ReduceSum", reduceSumKernel},
      {"ReduceSumGrad", reduceSumGradKernel},
      {"ReduceSumSquare", reduceSumSquareKernel},
      inParts("Relu", reluTiles, KnownLayouts::kAlike),
      inParts("ReluGrad", reluGradTiles, KnownLayouts::kAlike),
      {"Reshape", copyKernel, DTypes::kAny},
      inParts("SgdUpdate", sgdUpdateTiles),
      inParts("Sigmoid", sigmoidTiles, KnownLayouts::kAlike),
      inParts("SigmoidGrad", sigmoidGradTiles, KnownLayouts::kAlike),
      inParts("Softmax", softmaxTiles),
      {"SoftmaxCrossEntropyLoss", crossEntropyKernel},
      {"SoftmaxCrossEntropyLossGrad", crossEntropyGradKernel},
      inParts("SoftmaxGrad", softmaxGradTiles),
      inParts("Sqrt", sqrtTiles, KnownLayouts::kAlike),
      {"Squeeze", copyKernel, DTypes::kAny},
      inParts("Sub", subTiles, KnownLayouts::kAlike),
      inParts("Tanh", tanhTiles, KnownLayouts::kAlike),
      inParts("TanhGrad", tanhGradTiles, KnownLayouts::kAlike),
      {"Transpose", transposeKernel, DTypes::kAny},
      {"Unsqueeze", copyKernel, DTypes::kAny},
  };
  return kRows;
}

}  // namespace msdbg::core::cpu
