// Windows sliding over NCHW planes: the geometry of Conv and MaxPool and of their gradients (ONNX Conv-11,
// MaxPool-12: attributes kernel_shape [h, w], strides [h, w], pads [top, left, bottom, right]; dilations and
// groups of 1 only). Output size = floor((size + pads - kernel) / stride) + 1. Plain data; thread-safe.
#pragma once

#include <algorithm>

#include "core_engine/ops/infer.h"

namespace msdbg::core {

struct Window {
  std::int64_t kernelH = 1, kernelW = 1, strideH = 1, strideW = 1;
  std::int64_t padTop = 0, padLeft = 0, padBottom = 0, padRight = 0;
  std::int64_t inH = 0, inW = 0, outH = 0, outW = 0;

  std::int64_t inPlane() const { return inH * inW; }
  std::int64_t outPlane() const { return outH * outW; }
  std::int64_t kernelPlane() const { return kernelH * kernelW; }
};

/// Rows or columns [first, last) of a plane that one window covers, padding left out.
struct Span1d {
  std::int64_t first, last;
};
inline Span1d coveredRows(const Window& w, std::int64_t outRow) {
  const std::int64_t start = outRow * w.strideH - w.padTop;
  return {std::max<std::int64_t>(start, 0), std::min(start + w.kernelH, w.inH)};
}
inline Span1d coveredColumns(const Window& w, std::int64_t outColumn) {
  const std::int64_t start = outColumn * w.strideW - w.padLeft;
  return {std::max<std::int64_t>(start, 0), std::min(start + w.kernelW, w.inW)};
}

/// Output columns [first, last) whose element at kernel column `s` is not padding.
inline Span1d outputColumnsInside(const Window& w, std::int64_t s) {
  const auto ceiling = [&](std::int64_t value) {
    return value <= 0 ? 0 : (value + w.strideW - 1) / w.strideW;
  };
  const std::int64_t first = std::min(ceiling(w.padLeft - s), w.outW);
  return {first, std::max(first, std::min(ceiling(w.inW + w.padLeft - s), w.outW))};
}

/// The window over planes of `inH` x `inW`, from a node's attributes; errors name `op` and the attribute.
/// kernelH, kernelW: those of a weight, which kernel_shape (if there) must repeat; -1: kernel_shape alone
/// says.
Result<Window> makeWindow(std::string_view op, const Attributes& attributes, std::int64_t inH,
                          std::int64_t inW, std::int64_t kernelH = -1, std::int64_t kernelW = -1);

}  // namespace msdbg::core
