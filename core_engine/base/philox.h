// Philox4x32-10 (Salmon et al., SC11): counter-based random numbers. The value depends on the key and the
// index only, never on which thread asks or in which order.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace msdbg::core {

/// Four 32-bit words for (key, counter).
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

/// A stream of numbers for one node and iteration, addressed by index in the global batch.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view fullName, std::int64_t iteration);
  std::uint32_t bits(std::uint64_t index) const;
  double uniform(std::uint64_t index) const;  // [0, 1), 32 bits
  double normal(std::uint64_t index) const;   // Box-Muller of two words of the index's own counter

  // What bits() begins with: philox4x32({index, index >> 32, iteration(), nameLow()}, key())[0].
  std::array<std::uint32_t, 2> key() const { return m_key; }
  std::uint32_t iteration() const { return m_iteration; }
  std::uint32_t nameLow() const { return m_nameLow; }

 private:
  std::array<std::uint32_t, 2> m_key;
  std::uint32_t m_iteration;
  std::uint32_t m_nameLow;
};

/// 64-bit XXH3 of a text: the name part of keys.
std::uint64_t hashName(std::string_view name);

}  // namespace msdbg::core
