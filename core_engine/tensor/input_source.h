// InputSource: what a loader made an input of the graph from (pixels, tokens, labels as the data set has
// them), with the recipe that makes the same bits again. A recording keeps the source instead of the input:
// it is smaller, and it is what there was before conversion. Values and pure functions; thread-safe.
#pragma once

#include "core_engine/base/ids.h"
#include "core_engine/base/result.h"
#include "core_engine/tensor/statistics.h"
#include "core_engine/tensor/tensor.h"

namespace msdbg::core {

/// To integers and bool the values are converted one by one. To floating types: converted to float32; images
/// [rows, channels, height, width] of another height or width are resized (bilinear, pixel centres at half
/// numbers, across before down); divided by `divisor`; one channel is copied to all channels; every step
/// rounds to float32. A float64 input is converted from that. What has the input's type and shape already and
/// is not divided is the input.
struct InputSource {
  Tensor values;
  float divisor = 1;
  /// Of the input that was made from it: tells whether a program has changed that since. Where it is not
  /// said, the input is made again to compare.
  std::optional<Hash128> inputHash = {};
};

/// kUsage: the source cannot become an input of this type and shape, or would grow more than kMostGrowth
/// times.
Status checkSource(const InputSource& source, DType dtype, const Shape& shape);
inline constexpr std::int64_t kMostGrowth = 4096;  // in elements: what a small file may make us allocate
/// The input. Errors as above.
Result<Tensor> makeInput(const InputSource& source, DType dtype, const Shape& shape);

/// Whether the input is what the source makes, bit for bit.
bool makes(const InputSource& source, const Tensor& input);

/// An input of the graph and its source, as an Observer is told.
struct GivenSource {
  TensorId input;
  InputSource source;
};

}  // namespace msdbg::core
