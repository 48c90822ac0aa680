#include <algorithm>

#include "replay/inspect.h"
#include "replay/tensor/ulp.h"

namespace msdbg::replay {
namespace {

std::span<const std::byte> elementBytes(const core::Tensor& tensor, std::int64_t i) {
  const std::size_t width = core::dtypeSize(tensor.dtype());
  return tensor.byteSpan().subspan(static_cast<std::size_t>(i) * width, width);
}

std::optional<std::uint64_t> ulpAt(const core::Tensor& a, const core::Tensor& b, std::int64_t i) {
  if (!core::isFloating(a.dtype())) return std::nullopt;
  return core::visitDType(a.dtype(), [&](auto type) {
    using T = decltype(type);
    const auto at = static_cast<std::size_t>(i);
    return ulpBetween(a.data<T>()[at], b.data<T>()[at]);
  });
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
  found.ulp = ulpAt(a, b, found.first);
  found.maxAbs = compareTensors(a, b, {}).maxAbs;
  return found;
}

}  // namespace msdbg::replay
