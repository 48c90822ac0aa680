// Layers: operators plus the parameters they need, created in the open scope ("weight", "bias"; "scale" and
// "bias" of normalisations). Weights are Kaiming normal (He et al. 2015: std = sqrt(2 / fan-in)) unless .init
// says otherwise (graph/init.h), scales one, biases zero. Layout NCHW. They throw BuildError.
#pragma once

#include <optional>

#include "core_engine/ops/functions.h"

namespace msdbg::core {

struct ConvOptions {
  std::int64_t out = 0;                          // output channels, required
  std::int64_t kernel = 3, stride = 1, pad = 0;  // square
  bool bias = true;
  std::int64_t group = 1, dilation = 1;
  Init init = Init::kaimingNormal();
  Init biasInit = Init::zeros();
};
/// x [N, C, H, W] -> [N, out, (H + 2 pad - kernel) / stride + 1, …]; weight [out, C, kernel, kernel], bias
/// [out].
Value conv(Value x, const ConvOptions& options, Where where = Where::current());

struct LinearOptions {
  std::int64_t out = 0;
  bool bias = true;
  double deviation = 0;           // standard deviation of normally distributed weights; 0: by init
  std::optional<Init> init = {};  // of the weights; not given: Kaiming normal
  Init biasInit = Init::zeros();
};
/// x [N, K] -> [N, out] by Gemm with transB = 1; weight [out, K], bias [out].
Value linear(Value x, const LinearOptions& options, Where where = Where::current());

struct BatchNormOptions {
  double epsilon = 1e-5;
  double momentum = 0.9;  // ONNX's: the share of the running values that stays (PyTorch's is 1 minus this)
};
/// x [N, C, …] normalised per channel, by the batch in training and by the running values in evaluation.
/// running_mean and running_var [C] are states that every iteration writes; ranks keep their own.
Value batchNorm(Value x, const BatchNormOptions& options = {}, Where where = Where::current());

/// x normalised over its last dimension; scale and bias of its size.
Value layerNorm(Value x, double epsilon = 1e-5, Where where = Where::current());

struct GroupNormOptions {
  std::int64_t groups = 0;  // required; a divisor of the channels (1: as layer norm, C: as instance norm)
  double epsilon = 1e-5;
};
/// x [N, C, …] normalised per image and group of neighbouring channels; scale and bias [C]. It is the same
/// in training and in evaluation.
Value groupNorm(Value x, const GroupNormOptions& options, Where where = Where::current());

struct EmbeddingOptions {
  std::int64_t count = 0, width = 0;  // rows and their length, required
  double deviation = 1;               // of the normally distributed rows
  std::optional<Init> init = {};      // of the rows, instead
};
/// Rows of a weight [count, width] picked by ids (Int64 or Int32, any shape): [ids…, width].
Value embedding(Value ids, const EmbeddingOptions& options, Where where = Where::current());

}  // namespace msdbg::core
