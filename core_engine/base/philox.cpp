#include "core_engine/base/philox.h"

#include <cmath>
#include <numbers>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace msdbg::core {
namespace {

// Constants of Philox4x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11, table 2).
constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;

std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }
std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> c, std::array<std::uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{kMultiplier0} * c[0];
    const std::uint64_t p1 = std::uint64_t{kMultiplier1} * c[2];
    c = {high(p1) ^ c[1] ^ k[0], low(p1), high(p0) ^ c[3] ^ k[1], low(p0)};
    k[0] += kWeyl0;
    k[1] += kWeyl1;
  }
  return c;
}

std::uint64_t hashName(std::string_view name) { return XXH3_64bits(name.data(), name.size()); }

RandomStream::RandomStream(std::uint64_t seed, std::string_view fullName, std::int64_t iteration) {
  const std::uint64_t name = hashName(fullName);
  m_key = {low(seed) ^ high(name), high(seed)};
  m_nameLow = low(name);
  m_iteration = static_cast<std::uint32_t>(iteration);
}

// Counter: index (64 bits), iteration, low half of the name's hash; key: seed and the other half.
std::uint32_t RandomStream::bits(std::uint64_t index) const {
  return philox4x32({low(index), high(index), m_iteration, m_nameLow}, m_key)[0];
}

double RandomStream::uniform(std::uint64_t index) const { return bits(index) * 0x1p-32; }

double RandomStream::normal(std::uint64_t index) const {
  const auto words = philox4x32({low(index), high(index), m_iteration, m_nameLow}, m_key);
  const double u = (words[0] + 1.0) * 0x1p-32;  // (0, 1]: the logarithm is finite
  const double v = words[1] * 0x1p-32;
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

}  // namespace msdbg::core
