// Windows sliding over NCHW planes: the geometry of Conv and MaxPool and of their gradients (ONNX Conv-11,
// MaxPool-12, AveragePool-19: attributes kernel_shape [h, w], strides [h, w], dilations [h, w], pads [top,
// left, bottom, right], auto_pad). Output size = floor((size + pads - extent) / stride) + 1, extent =
// (kernel - 1) * dilation + 1; pools with ceil_mode round up. Plain data; thread-safe.
#pragma once

#include <algorithm>

#include "core_engine/ops/infer.h"

namespace msdbg::core {

struct Window {
  std::int64_t kernelH = 1, kernelW = 1, strideH = 1, strideW = 1;
  std::int64_t padTop = 0, padLeft = 0, padBottom = 0, padRight = 0;
  std::int64_t inH = 0, inW = 0, outH = 0, outW = 0;
  std::int64_t dilationH = 1, dilationW = 1;

  std::int64_t extentH() const { return (kernelH - 1) * dilationH + 1; }
  std::int64_t extentW() const { return (kernelW - 1) * dilationW + 1; }
  std::int64_t inPlane() const { return inH * inW; }
  std::int64_t outPlane() const { return outH * outW; }
  std::int64_t kernelPlane() const { return kernelH * kernelW; }
};

/// Rows or columns first, first + step, … below last of a plane that one window covers, padding left out.
/// Empty (first >= last) only where dilation lets all of a window fall into padding.
struct Span1d {
  std::int64_t first, last, step = 1;
};
inline Span1d covered(std::int64_t start, std::int64_t extent, std::int64_t dilation, std::int64_t size) {
  const std::int64_t skipped = start < 0 ? (-start + dilation - 1) / dilation : 0;
  return {start + skipped * dilation, std::min(start + extent, size), dilation};
}
inline Span1d coveredRows(const Window& w, std::int64_t outRow) {
  return covered(outRow * w.strideH - w.padTop, w.extentH(), w.dilationH, w.inH);
}
inline Span1d coveredColumns(const Window& w, std::int64_t outColumn) {
  return covered(outColumn * w.strideW - w.padLeft, w.extentW(), w.dilationW, w.inW);
}

/// Output columns [first, last) whose element at kernel column `s` is not padding.
inline Span1d outputColumnsInside(const Window& w, std::int64_t s) {
  const auto ceiling = [&](std::int64_t value) {
    return value <= 0 ? 0 : (value + w.strideW - 1) / w.strideW;
  };
  const std::int64_t at = s * w.dilationW;
  const std::int64_t first = std::min(ceiling(w.padLeft - at), w.outW);
  return {first, std::max(first, std::min(ceiling(w.inW + w.padLeft - at), w.outW))};
}

/// The window over planes of `inH` x `inW`, from a node's attributes; errors name `op` and the attribute.
/// kernelH, kernelW: those of a weight, which kernel_shape (if there) must repeat; -1: kernel_shape alone
/// says.
Result<Window> makeWindow(std::string_view op, const Attributes& attributes, std::int64_t inH,
                          std::int64_t inW, std::int64_t kernelH = -1, std::int64_t kernelW = -1);

/// The documentation of its attributes; `kernel`: the default of kernel_shape.
std::vector<AttributeDoc> windowAttributes(std::string_view kernel);

}  // namespace msdbg::core
