#include "core_engine/tensor/flags.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core_engine/base/simd.h"

namespace msdbg::core {
namespace {

// A number is not finite where all bits of its exponent are set.
template <typename Word>
[[gnu::always_inline]] inline bool anyOf(const std::byte* data, std::int64_t count, Word exponent) {
  Word found = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, data + static_cast<std::size_t>(i) * sizeof word, sizeof word);
    found |= static_cast<Word>((word & exponent) == exponent);
  }
  return found != 0;
}

// target_clones takes plain functions only.
MSDBG_SIMD_CLONES bool any16(const std::byte* data, std::int64_t count, std::uint16_t exponent) {
  return anyOf(data, count, exponent);
}
MSDBG_SIMD_CLONES bool any32(const std::byte* data, std::int64_t count, std::uint32_t exponent) {
  return anyOf(data, count, exponent);
}
MSDBG_SIMD_CLONES bool any64(const std::byte* data, std::int64_t count, std::uint64_t exponent) {
  return anyOf(data, count, exponent);
}

// Of a type without a row here nobody knows before all is computed.
bool mayHoldAny(DType dtype, const std::byte* data, std::int64_t bytes) {
  switch (dtype) {
    case DType::Float16:
      return any16(data, bytes / 2, 0x7c00);
    case DType::BFloat16:
      return any16(data, bytes / 2, 0x7f80);
    case DType::Float32:
    case DType::Complex64:
      return any32(data, bytes / 4, 0x7f800000);
    case DType::Float64:
    case DType::Complex128:
      return any64(data, bytes / 8, 0x7ff0000000000000);
    default:
      return mayBeNonFinite(dtype);
  }
}

bool mayHoldAny(const Tensor& tensor, int threads) {
  const auto bytes = static_cast<std::int64_t>(tensor.bytes()), step = static_cast<std::int64_t>(kBlockBytes);
  const std::int64_t blocks = (bytes + step - 1) / step;
  const std::byte* data = tensor.byteSpan().data();
  int found = 0;
#pragma omp parallel for schedule(static) num_threads(std::max(threads, 1)) \
    reduction(|                                                             \
              : found) if (threads > 1 && blocks > 4)
  for (std::int64_t i = 0; i < blocks; ++i)
    found |= static_cast<int>(mayHoldAny(tensor.dtype(), data + i * step, std::min(step, bytes - i * step)));
  return found != 0;
}

}  // namespace

TensorStatistics flagsOf(const Tensor& tensor, int threads) {
  if (mayHoldAny(tensor, threads)) return flagsFrom(computeStatistics(tensor, threads));
  TensorStatistics finite;
  finite.count = tensor.elements();
  return flagsFrom(finite);
}

TensorStatistics flagsFrom(const TensorStatistics& statistics) {
  TensorStatistics flags;
  flags.count = statistics.count;
  flags.nan = statistics.nan;
  flags.posInf = statistics.posInf;
  flags.negInf = statistics.negInf;
  flags.zero = flags.negative = flags.positive = -1;
  flags.min = flags.max = flags.mean = flags.meanAbs = flags.std = flags.l1 = flags.l2 =
      std::numeric_limits<double>::quiet_NaN();
  return flags;
}

}  // namespace msdbg::core
