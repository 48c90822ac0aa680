// What the three reference convolutions share: columns of input windows (im2col) for a group of images, so that a
// convolution is a matrix product. Groups bound the memory; they do not change a bit (gemm_reference.h).
//   columns[(c * kernelH + r) * kernelW + s][image * outPlane + position] = x[image][c][row + r][column + s], 0 in padding
#pragma once

#include <vector>

#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/gemm_reference.h"
#include "core_engine/ops/window.h"

namespace msdbg::core {

/// Sizes of one convolution x [N, C, H, W] * weight [O, C, h, w] -> y [N, O, outH, outW].
struct ConvSizes {
  std::int64_t images, channels, filters;
  Window window;
  std::int64_t depth() const { return channels * window.kernelPlane(); }
  /// Images a group: about a thousand columns.
  std::int64_t groupImages() const { return std::min(images, std::max<std::int64_t>(1, 1024 / window.outPlane())); }
};

/// Sizes from x, weight shapes and the attributes (already checked by infer).
ConvSizes convSizes(const Shape& x, const Shape& weight, const Attributes& attributes);

/// f(first, count) for groups of images in order.
template <typename F>
void forImageGroups(const ConvSizes& sizes, const F& f) {
  const std::int64_t step = std::max<std::int64_t>(sizes.groupImages(), 1);
  for (std::int64_t first = 0; first < sizes.images; first += step) f(first, std::min(step, sizes.images - first));
}

/// One row of columns for one image: `plane` is x[image][c].
template <typename T>
void fillColumnRow(const Window& w, std::int64_t r, std::int64_t s, const T* plane, T* out) {
  for (std::int64_t oy = 0; oy < w.outH; ++oy) {
    const std::int64_t y = oy * w.strideH - w.padTop + r;
    for (std::int64_t ox = 0; ox < w.outW; ++ox) {
      const std::int64_t x = ox * w.strideW - w.padLeft + s;
      const bool inside = y >= 0 && y < w.inH && x >= 0 && x < w.inW;
      *out++ = inside ? plane[y * w.inW + x] : T(0);
    }
  }
}

/// columns of images [first, first + count); depth() x (count * outPlane).
template <typename T>
void imagesToColumns(const ConvSizes& sizes, const T* x, std::int64_t first, std::int64_t count, int threads, T* columns) {
  const Window& w = sizes.window;
  parallelFor(sizes.depth(), threads, [&](std::int64_t k) {
    const std::int64_t c = k / w.kernelPlane(), r = k % w.kernelPlane() / w.kernelW, s = k % w.kernelW;
    for (std::int64_t image = 0; image < count; ++image)
      fillColumnRow(w, r, s, x + ((first + image) * sizes.channels + c) * w.inPlane(),
                    columns + (k * count + image) * w.outPlane());
  }, 8);
}

/// [image][channel][position] -> [channel][image][position] for images [first, first + count).
template <typename T>
void gatherChannels(const T* y, std::int64_t channels, std::int64_t plane, std::int64_t first, std::int64_t count, T* out) {
  for (std::int64_t channel = 0; channel < channels; ++channel)
    for (std::int64_t image = 0; image < count; ++image)
      std::copy_n(y + ((first + image) * channels + channel) * plane, plane, out + (channel * count + image) * plane);
}

}  // namespace msdbg::core
