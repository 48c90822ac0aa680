// The rounds of Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11), on plain
// words, for the CPU and for GPUs. Pure.
#pragma once

#include <cstdint>

#include "core_engine/base/inline.h"

namespace msdbg::core {

struct PhiloxWords {
  std::uint32_t w[4];
};

/// Constants: table 2 of the paper.
MSDBG_INLINE PhiloxWords philoxRounds(PhiloxWords c, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c.w[0], p1 = std::uint64_t{0xCD9E8D57} * c.w[2];
    c = {{static_cast<std::uint32_t>(p1 >> 32) ^ c.w[1] ^ key0, static_cast<std::uint32_t>(p1),
          static_cast<std::uint32_t>(p0 >> 32) ^ c.w[3] ^ key1, static_cast<std::uint32_t>(p0)}};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return c;
}

}  // namespace msdbg::core
