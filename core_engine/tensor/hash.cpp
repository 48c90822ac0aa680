#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "core_engine/tensor/statistics.h"

#if defined(__x86_64__)
#include <xxh_x86dispatch.h>  // picks the instruction set at run time; the hash is the same
#else
#include <xxhash.h>
#endif

namespace msdbg::core {
namespace {

/// Canonical order: low, high, each little-endian.
std::array<std::byte, 16> canonical(const Hash128& hash) {
  std::array<std::byte, 16> bytes;
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<std::byte>(hash.low >> (8 * i));
    bytes[8 + i] = static_cast<std::byte>(hash.high >> (8 * i));
  }
  return bytes;
}

Hash128 xxh3(const void* data, std::size_t bytes) {
  const XXH128_hash_t hash = XXH3_128bits(data, bytes);
  return {hash.low64, hash.high64};
}

}  // namespace

std::string Hash128::text() const {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(high),
                static_cast<unsigned long long>(low));
  return text;
}

Hash128 hashBlock(std::span<const std::byte> block) { return xxh3(block.data(), block.size()); }

Hash128 hashOfBlocks(std::span<const Hash128> blocks) {
  std::vector<std::array<std::byte, 16>> list;
  for (const Hash128& hash : blocks) list.push_back(canonical(hash));
  return xxh3(list.data(), list.size() * 16);
}

Hash128 hashBytes(std::span<const std::byte> bytes, int threads) {
  std::vector<Hash128> hashes((bytes.size() + kBlockBytes - 1) / kBlockBytes);
  const auto blocks = static_cast<std::int64_t>(hashes.size());
#pragma omp parallel for schedule(static) num_threads(std::max(threads, 1)) if (threads > 1 && blocks > 1)
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::size_t start = static_cast<std::size_t>(i) * kBlockBytes;
    hashes[static_cast<std::size_t>(i)] =
        hashBlock(bytes.subspan(start, std::min(kBlockBytes, bytes.size() - start)));
  }
  return hashOfBlocks(hashes);
}

Hash128 hashTensor(const Tensor& tensor, int threads) { return hashBytes(tensor.byteSpan(), threads); }

}  // namespace msdbg::core
