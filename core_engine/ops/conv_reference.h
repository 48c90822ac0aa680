// What the three reference convolutions share: columns of input windows (im2col) for a group of images, so
// that a convolution is a matrix product. Groups bound the memory; they do not change a bit
// (gemm_reference.h).
//   columns[(c * kernelH + r) * kernelW + s][image * outPlane + position] = x[image][c][row + r][column + s],
//   0 in padding
#pragma once

#include <vector>

#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/gemm_reference.h"
#include "core_engine/ops/window.h"

namespace msdbg::core {

/// Sizes of one convolution x [N, G C, H, W] * weight [G O, C, h, w] -> y [N, G O, outH, outW], where G is
/// ONNX's attribute `group`: filters of group g see the channels of group g alone. Pointers below are those
/// of a group's first channel or filter.
struct ConvSizes {
  std::int64_t images, channels, filters;  // of one group
  std::int64_t convGroups;
  Window window;
  std::int64_t imageIn() const { return convGroups * channels * window.inPlane(); }
  std::int64_t imageOut() const { return convGroups * filters * window.outPlane(); }
  std::int64_t depth() const { return channels * window.kernelPlane(); }
  /// Images a group: a few hundred columns, whatever the thread count.
  std::int64_t groupImages() const { return std::max<std::int64_t>(1, 256 / window.outPlane()); }
  std::int64_t groups() const { return (images + groupImages() - 1) / groupImages(); }
};

/// Sizes from x, weight shapes and the attributes (already checked by infer).
ConvSizes convSizes(const Shape& x, const Shape& weight, const Attributes& attributes);
/// Attribute `group`, which must divide the channels of x and the filters, with channels / group in a filter.
Result<std::int64_t> checkConvGroup(std::string_view op, const Shape& x, const Shape& weight,
                                    const Attributes& attributes);
/// A window's attributes, and group.
std::vector<AttributeDoc> convAttributes(std::string_view kernel);

struct ImageGroup {
  std::int64_t first, count;  // images
};
inline ImageGroup imageGroup(const ConvSizes& sizes, std::int64_t group) {
  const std::int64_t first = group * sizes.groupImages();
  return {first, std::min(sizes.groupImages(), sizes.images - first)};
}

/// One row of columns for one image: `plane` is x[image][c], (r, s) the place in the kernel.
template <typename T>
void fillColumnRow(const Window& w, std::int64_t r, std::int64_t s, const T* plane, T* out) {
  const Span1d inside = outputColumnsInside(w, s);
  for (std::int64_t oy = 0; oy < w.outH; ++oy, out += w.outW) {
    const std::int64_t y = oy * w.strideH - w.padTop + r * w.dilationH;
    std::fill_n(out, w.outW, T(0));
    if (y < 0 || y >= w.inH) continue;
    const T* row = plane + y * w.inW - w.padLeft + s * w.dilationW;
    for (std::int64_t ox = inside.first; ox < inside.last; ++ox) out[ox] = row[ox * w.strideW];
  }
}

/// Rows [firstRow, firstRow + rows) of the columns of a group; rows x (count * outPlane).
template <typename T>
void imagesToColumns(const ConvSizes& sizes, const T* x, const ImageGroup& group, std::int64_t firstRow,
                     std::int64_t rows, T* columns) {
  const Window& w = sizes.window;
  for (std::int64_t k = firstRow; k < firstRow + rows; ++k) {
    const std::int64_t c = k / w.kernelPlane(), place = k % w.kernelPlane();
    for (std::int64_t image = group.first; image < group.first + group.count;
         ++image, columns += w.outPlane())
      fillColumnRow(w, place / w.kernelW, place % w.kernelW, x + image * sizes.imageIn() + c * w.inPlane(),
                    columns);
  }
}

/// The group's dy [image][filter][position] -> [filter][image][position].
template <typename T>
void gatherFilters(const ConvSizes& sizes, const T* dy, const ImageGroup& group, T* out) {
  const std::int64_t plane = sizes.window.outPlane();
  for (std::int64_t filter = 0; filter < sizes.filters; ++filter)
    for (std::int64_t image = group.first; image < group.first + group.count; ++image, out += plane)
      std::copy_n(dy + image * sizes.imageOut() + filter * plane, plane, out);
}

}  // namespace msdbg::core
