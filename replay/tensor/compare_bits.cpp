#include <algorithm>
#include <cmath>
#include <cstring>

#include "replay/inspect.h"

namespace msdbg::replay {
namespace {

std::span<const std::byte> elementBytes(const core::Tensor& tensor, std::int64_t i) {
  const std::size_t width = core::dtypeSize(tensor.dtype());
  return tensor.byteSpan().subspan(static_cast<std::size_t>(i) * width, width);
}

// Floating formats order by magnitude as integers do; the sign bit is the highest.
std::int64_t place(std::span<const std::byte> bytes) {
  std::uint64_t bits = 0;  // little-endian, as everywhere
  std::memcpy(&bits, bytes.data(), bytes.size());
  const std::uint64_t sign = std::uint64_t{1} << (8 * bytes.size() - 1);
  const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
  return bits & sign ? -1 - magnitude : magnitude;
}

std::optional<std::uint64_t> ulpBetween(const core::Tensor& a, const core::Tensor& b, std::int64_t i) {
  if (!core::isFloating(a.dtype()) || std::isnan(a.at(i)) || std::isnan(b.at(i))) return std::nullopt;
  const std::int64_t left = place(elementBytes(a, i)), right = place(elementBytes(b, i));
  return static_cast<std::uint64_t>(std::max(left, right)) -
         static_cast<std::uint64_t>(std::min(left, right));
}

}  // namespace

std::optional<BitDifference> compareBits(const core::Tensor& a, const core::Tensor& b) {
  if (std::ranges::equal(a.byteSpan(), b.byteSpan())) return std::nullopt;
  BitDifference found{.shape = a.shape()};
  for (std::int64_t i = 0; i < a.elements(); ++i)
    if (!std::ranges::equal(elementBytes(a, i), elementBytes(b, i)) && found.different++ == 0)
      found.first = i;
  found.a = a.at(found.first);
  found.b = b.at(found.first);
  found.ulp = ulpBetween(a, b, found.first);
  found.maxAbs = compareTensors(a, b, {}).maxAbs;
  return found;
}

}  // namespace msdbg::replay
