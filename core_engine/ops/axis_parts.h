// Concat and Split: one whole tensor and its parts along an axis, copied block by block. Any dtype.
#pragma once

#include <algorithm>
#include <cstring>

#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {

/// Elements before the axis, and bytes of one step along it.
struct AxisBytes {
  std::int64_t outer = 1, step = 1;
};
inline AxisBytes axisBytes(const Tensor& tensor, std::size_t axis) {
  AxisBytes a{1, static_cast<std::int64_t>(dtypeSize(tensor.dtype()))};
  for (std::size_t d = 0; d < tensor.shape().rank(); ++d)
    if (d != axis) (d < axis ? a.outer : a.step) *= tensor.shape()[d];
  return a;
}

/// f(place in the whole, place in the part, bytes) for each block of part number `part`, which begins at
/// `offset` along the axis; large blocks in pieces, so that threads share the single one of the first axis.
template <typename F>
void forPartBlocks(const Tensor& whole, const Tensor& part, std::size_t axis, std::int64_t offset,
                   int threads, const F& f) {
  const AxisBytes a = axisBytes(whole, axis);
  const std::int64_t bytes = part.shape()[axis] * a.step, row = whole.shape()[axis] * a.step;
  if (bytes == 0) return;
  constexpr std::int64_t kPiece = 64 << 10, kWorthATeam = 256 << 10;
  const std::int64_t pieces = (bytes + kPiece - 1) / kPiece;
  const bool shared = a.outer * bytes >= kWorthATeam;
  parallelFor(a.outer * pieces, shared ? threads : 1, 2, [&](std::int64_t i) {
    const std::int64_t block = i / pieces, begin = i % pieces * kPiece;
    f(block * row + offset * a.step + begin, block * bytes + begin,
      static_cast<std::size_t>(std::min(kPiece, bytes - begin)));
  });
}

}  // namespace msdbg::core
