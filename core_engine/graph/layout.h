// In which order the elements of a tensor lie in memory. Everybody who asks for a value gets it row-major;
// other layouts are between kernels. Values; thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "core_engine/graph/graph.h"

namespace msdbg::core {

enum class Layout : std::uint8_t {
  kRowMajor,
  kChannels16,  // [N, C, H, W] as [N, C / 16, H, W, 16]: what oneDNN's AVX-512 convolutions work in
};

inline constexpr std::int64_t kChannelBlock = 16;

/// Whether a tensor can lie so: float32, four dimensions, whole blocks of channels.
inline bool canBeChannels16(const TensorInfo& tensor) {
  return tensor.dtype == DType::Float32 && tensor.shape.rank() == 4 && tensor.shape.elements() > 0 &&
         tensor.shape[1] % kChannelBlock == 0;
}

/// Which tensors of a node its kernel takes and gives in kChannels16.
struct LayoutPorts {
  std::vector<TensorId> each = {};   // each of them, whatever the others: it would convert them otherwise
  std::vector<TensorId> alike = {};  // all of them or none
};

/// The layouts of a graph's tensors; none: all are row-major.
using Layouts = std::vector<Layout>;
inline Layout layoutOf(const Layouts& layouts, TensorId tensor) {
  return layouts.empty() ? Layout::kRowMajor : layouts[tensor.index()];
}

}  // namespace msdbg::core
