// Layers: operators plus the parameters they need, created in the open scope ("weight", "bias"). Weights are
// Kaiming normal (He et al. 2015: std = sqrt(2 / fan-in)), biases zero. Layout NCHW. They throw BuildError.
#pragma once

#include "core_engine/ops/functions.h"

namespace msdbg::core {

struct ConvOptions {
  std::int64_t out = 0;                          // output channels, required
  std::int64_t kernel = 3, stride = 1, pad = 0;  // square
  bool bias = true;
};
/// x [N, C, H, W] -> [N, out, (H + 2 pad - kernel) / stride + 1, …]; weight [out, C, kernel, kernel], bias
/// [out].
Value conv(Value x, const ConvOptions& options, Where where = Where::current());

struct LinearOptions {
  std::int64_t out = 0;
  bool bias = true;
};
/// x [N, K] -> [N, out] by Gemm with transB = 1; weight [out, K], bias [out].
Value linear(Value x, const LinearOptions& options, Where where = Where::current());

}  // namespace msdbg::core
