// Difference: how two tensors of one type differ, element by element. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core_engine/tensor/tensor.h"

namespace msdbg::replay {

struct Difference {
  std::int64_t elements = 0, differing = 0;  // differing: in any bit
  std::vector<std::int64_t> first = {};      // index of the first that differs
  double a = 0, b = 0;                       // its values
  /// Between them, in representable numbers of the dtype; -0.0 and 0.0 are one apart. nullopt: no floating
  /// dtype, or one of them is NaN.
  std::optional<std::uint64_t> ulp = {};
  double largest = 0;  // |a - b| over the elements that are finite in both
};

/// The two have one dtype and shape. nullopt: every bit is equal.
std::optional<Difference> differenceOf(const core::Tensor& a, const core::Tensor& b);

/// Of two elements of such a tensor, as their bits have them.
std::optional<std::uint64_t> ulpBetween(core::DType dtype, std::uint64_t a, std::uint64_t b);

}  // namespace msdbg::replay
