#include "core_engine/base/philox.h"

#include <cmath>
#include <numbers>

#include "core_engine/base/philox_rounds.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace msdbg::core {
namespace {

std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }
std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> c, std::array<std::uint32_t, 2> k) {
  const PhiloxWords words = philoxRounds({{c[0], c[1], c[2], c[3]}}, k[0], k[1]);
  return {words.w[0], words.w[1], words.w[2], words.w[3]};
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
