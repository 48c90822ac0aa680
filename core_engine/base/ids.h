// Strong ids. An id is never a bare int: mixing a NodeId with a TensorId does not compile.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace msdbg::core {

template <typename Tag>
struct Id {
  std::int64_t value = -1;

  constexpr Id() = default;
  constexpr explicit Id(std::int64_t v) : value(v) {}
  constexpr bool valid() const { return value >= 0; }
  constexpr std::size_t index() const { return static_cast<std::size_t>(value); }
  constexpr auto operator<=>(const Id&) const = default;
};

using NodeId = Id<struct NodeTag>;          // index in Graph::nodes(); equals the node's order
using TensorId = Id<struct TensorTag>;      // index in Graph::tensors()
using KernelId = Id<struct KernelTag>;      // index in Graph::kernels()
using FrameId = Id<struct FrameTag>;        // index in Graph::frames()
using Iteration = Id<struct IterationTag>;  // 0-based
using Rank = Id<struct RankTag>;            // 0-based

}  // namespace msdbg::core

template <typename Tag>
struct std::hash<msdbg::core::Id<Tag>> {
  std::size_t operator()(msdbg::core::Id<Tag> id) const noexcept {
    return std::hash<std::int64_t>{}(id.value);
  }
};
