// Side, SideValues: what of a comparison is looked at: a tensor, the one it is compared with, or A - B.
// Values are read only where they are looked at: a difference is never made whole. Thread-safe (const).
#pragma once

#include <array>
#include <optional>

#include "core_engine/tensor/tensor.h"

namespace msdbg::app {

enum class Side { kA, kB, kDifference };
inline constexpr std::array kSides = {Side::kA, Side::kB, Side::kDifference};
inline std::size_t indexOf(Side side) { return static_cast<std::size_t>(side); }

class SideValues {
 public:
  explicit SideValues(core::Tensor tensor) : m_a(std::move(tensor)) {}
  /// a - b: float64, of whole numbers int64, complex128 where one is complex. Equal shapes.
  SideValues(core::Tensor a, core::Tensor b) : m_a(std::move(a)), m_b(std::move(b)) {}

  const core::Shape& shape() const { return m_a.shape(); }
  core::DType dtype() const;
  double at(std::int64_t flatIndex) const;  // of complex numbers the modulus
  /// The element itself, into one of a tensor of dtype().
  void copy(std::int64_t flatIndex, core::Tensor& into, std::int64_t at) const;

 private:
  bool whole() const;
  bool complex() const;
  std::int64_t wholeDifference(std::int64_t flatIndex) const;
  core::Complex128 complexDifference(std::int64_t flatIndex) const;
  core::Tensor m_a;
  std::optional<core::Tensor> m_b;
};

}  // namespace msdbg::app
