#include <algorithm>
#include <cstring>
#include <string>

#include "core_engine/distributed/rank_sum_internal.h"

namespace msdbg::core {
namespace {

// The partial sums of a block stay in the first-level cache while every rank's part streams by.
constexpr std::size_t kBlock = 2048;

template <typename T>
void addTo(T* __restrict sum, const T* __restrict part, std::size_t count) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) sum[i] = sum[i] + part[i];
}

template <typename T>
void sumParts(std::span<const std::byte* const> parts, T* output, std::size_t count) {
  for (std::size_t at = 0; at < count; at += kBlock) {
    const std::size_t n = std::min(kBlock, count - at);
    std::memcpy(output + at, reinterpret_cast<const T*>(parts[0]) + at, n * sizeof(T));
    for (const std::byte* part : parts.subspan(1))
      addTo(output + at, reinterpret_cast<const T*>(part) + at, n);
  }
}

}  // namespace

void sumInRankOrder(DType dtype, std::span<const std::byte* const> parts, std::byte* output,
                    std::size_t count) {
  visitFloating(dtype, [&](auto zero) { sumParts(parts, reinterpret_cast<decltype(zero)*>(output), count); });
}

Status checkReducible(const Tensor& input, const Tensor& output) {
  if (input.dtype() == output.dtype() && input.shape() == output.shape() && isComputedFloating(input.dtype()))
    return Ok{};
  const auto text = [](const Tensor& t) { return std::string(dtypeName(t.dtype())) + t.shape().text(); };
  return Error(ErrorCode::kUsage, "allreduce: input " + text(input) + " and output " + text(output) +
                                      " must have one shape and one floating dtype");
}

}  // namespace msdbg::core
