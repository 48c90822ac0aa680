#include "replay/difference.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core_engine/tensor/index_text.h"

namespace msdbg::replay {
namespace {

std::uint64_t bitsAt(const core::Tensor& tensor, std::int64_t i) {
  const std::size_t width = core::dtypeSize(tensor.dtype());
  std::uint64_t bits = 0;  // little-endian, as everywhere
  std::memcpy(&bits, tensor.byteSpan().data() + static_cast<std::size_t>(i) * width, width);
  return bits;
}

// Floating formats order by magnitude as integers do; the sign bit is the highest.
std::int64_t place(std::uint64_t bits, std::size_t width) {
  const std::uint64_t sign = std::uint64_t{1} << (8 * width - 1);
  const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
  return bits & sign ? -1 - magnitude : magnitude;
}

}  // namespace

std::optional<std::uint64_t> ulpBetween(core::DType dtype, std::uint64_t a, std::uint64_t b) {
  if (!core::isFloating(dtype)) return std::nullopt;
  const std::size_t width = core::dtypeSize(dtype);
  const std::int64_t left = place(a, width), right = place(b, width);
  return left < right ? static_cast<std::uint64_t>(right) - static_cast<std::uint64_t>(left)
                      : static_cast<std::uint64_t>(left) - static_cast<std::uint64_t>(right);
}

namespace {

std::optional<std::uint64_t> ulpAt(const core::Tensor& a, const core::Tensor& b, std::int64_t i) {
  if (!core::isFloating(a.dtype())) return std::nullopt;
  return ulpBetween(a.dtype(), bitsAt(a, i), bitsAt(b, i));
}

}  // namespace

std::optional<Difference> differenceOf(const core::Tensor& a, const core::Tensor& b) {
  if (std::ranges::equal(a.byteSpan(), b.byteSpan())) return std::nullopt;
  const std::size_t width = core::dtypeSize(a.dtype());
  Difference found{.elements = a.elements()};
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * width;
    if (std::memcmp(a.byteSpan().data() + at, b.byteSpan().data() + at, width) == 0) continue;
    const double was = a.at(i), is = b.at(i);
    if (found.differing++ == 0) {
      found.first = core::indexOf(a.shape(), i);
      found.a = was;
      found.b = is;
      if (!std::isnan(was) && !std::isnan(is)) found.ulp = ulpAt(a, b, i);
    }
    const double distance = std::abs(was - is);
    if (std::isfinite(distance)) found.largest = std::max(found.largest, distance);
  }
  return found;
}

}  // namespace msdbg::replay
