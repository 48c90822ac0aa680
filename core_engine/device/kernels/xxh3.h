// XXH3-128 with the default secret and seed 0, of a multiple of 4 bytes that lie at a multiple of 4: what
// XXH3_128bits() of xxHash gives (https://github.com/Cyan4973/xxHash/blob/v0.8.1/doc/xxhash_spec.md and
// xxhash.h, of which names are kept). What is longer than 240 bytes is taken in segments of 16 stripes of 64
// bytes; a segment adds to eight accumulators, modulo 2^64, so that many threads may share the stripes.
#pragma once

#include <cstdint>

#include "core_engine/device/kernels/kernel.h"

#if defined(__CUDACC__)
#define MSDBG_TABLE static __constant__ const
#else
#define MSDBG_TABLE constexpr
#endif

namespace msdbg::core::device {

constexpr std::uint64_t kPrime32_1 = 0x9e3779b1u, kPrime32_2 = 0x85ebca77u, kPrime32_3 = 0xc2b2ae3du;
constexpr std::uint64_t kPrime64_1 = 0x9e3779b185ebca87u, kPrime64_2 = 0xc2b2ae3d27d4eb4fu,
                        kPrime64_3 = 0x165667b19e3779f9u, kPrime64_4 = 0x85ebca77c2b2ae63u,
                        kPrime64_5 = 0x27d4eb2f165667c5u;
constexpr int kStripeBytes = 64, kSecretBytes = 192, kAccumulators = 8;
constexpr int kSegmentStripes = 16, kSegmentBytes = kSegmentStripes * kStripeBytes;
constexpr int kLongestShort = 240;  // bytes

MSDBG_TABLE std::uint64_t kSecret[kSecretBytes / 8] = {
    0xbe4ba423396cfeb8u, 0x1cad21f72c81017cu, 0xdb979083e96dd4deu, 0x1f67b3b7a4a44072u, 0x78e5c0cc4ee679cbu,
    0x2172ffcc7dd05a82u, 0x8e2443f7744608b8u, 0x4c263a81e69035e0u, 0xcb00c391bb52283cu, 0xa32e531b8b65d088u,
    0x4ef90da297486471u, 0xd8acdea946ef1938u, 0x3f349ce33f76faa8u, 0x1d4f0bc7c7bbdcf9u, 0x3159b4cd4be0518au,
    0x647378d9c97e9fc8u, 0xc3ebd33483acc5eau, 0xeb6313faffa081c5u, 0x49daf0b751dd0d17u, 0x9e68d429265516d3u,
    0xfca1477d58be162bu, 0xce31d07ad1b8f88fu, 0x280416958f3acb45u, 0x7e404bbbcafbd7afu};
MSDBG_TABLE std::uint64_t kFirstAccumulators[kAccumulators] = {
    kPrime32_3, kPrime64_1, kPrime64_2, kPrime64_3, kPrime64_4, kPrime32_2, kPrime64_5, kPrime32_1};

struct Xxh128 {
  std::uint64_t low, high;
};

MSDBG_DEVICE std::uint64_t secretAt(int byte) {
  const int word = byte / 8, shift = byte % 8 * 8;
  return shift == 0 ? kSecret[word] : kSecret[word] >> shift | kSecret[word + 1] << (64 - shift);
}
/// Eight bytes of the data.
MSDBG_DEVICE std::uint64_t read64(const std::uint32_t* data, int byte) {
  return data[byte / 4] | static_cast<std::uint64_t>(data[byte / 4 + 1]) << 32;
}
MSDBG_DEVICE std::uint64_t swapBytes(std::uint64_t v) {
  v = (v & 0x00ff00ff00ff00ffu) << 8 | (v >> 8 & 0x00ff00ff00ff00ffu);
  v = (v & 0x0000ffff0000ffffu) << 16 | (v >> 16 & 0x0000ffff0000ffffu);
  return v << 32 | v >> 32;
}
MSDBG_DEVICE std::uint64_t avalanche(std::uint64_t v) {
  v = (v ^ v >> 37) * 0x165667919e3779f9u;
  return v ^ v >> 32;
}
/// All 128 bits of the product.
MSDBG_DEVICE Xxh128 multiply(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
  const std::uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), cross = (middle & 0xffffffffu) + a0 * b1;
  return {cross << 32 | (low & 0xffffffffu), (middle >> 32) + (cross >> 32) + a1 * b1};
}
MSDBG_DEVICE std::uint64_t multiplyFold(std::uint64_t a, std::uint64_t b) {
  const Xxh128 product = multiply(a, b);
  return product.low ^ product.high;
}

// --- at most 240 bytes ---

MSDBG_DEVICE Xxh128 hash4to8(const std::uint32_t* data, int bytes) {
  const std::uint64_t input = data[0] | static_cast<std::uint64_t>(data[bytes / 4 - 1]) << 32;
  Xxh128 m = multiply(input ^ kSecret[2] ^ kSecret[3], kPrime64_1 + (static_cast<std::uint64_t>(bytes) << 2));
  m.high += m.low << 1;
  m.low ^= m.high >> 3;
  m.low = (m.low ^ m.low >> 35) * 0x9fb21c651e98df25u;
  return {m.low ^ m.low >> 28, avalanche(m.high)};
}
MSDBG_DEVICE Xxh128 hash9to16(const std::uint32_t* data, int bytes) {
  const std::uint64_t low = read64(data, 0), last = read64(data, bytes - 8),
                      high = last ^ kSecret[6] ^ kSecret[7];
  Xxh128 m = multiply(low ^ last ^ kSecret[4] ^ kSecret[5], kPrime64_1);
  m.low += static_cast<std::uint64_t>(bytes - 1) << 54;
  m.high += high + (high & 0xffffffffu) * (kPrime32_2 - 1);
  m.low ^= swapBytes(m.high);
  const Xxh128 h = multiply(m.low, kPrime64_2);
  return {avalanche(h.low), avalanche(h.high + m.high * kPrime64_2)};
}
MSDBG_DEVICE std::uint64_t mix16(const std::uint32_t* data, int byte, int secret) {
  return multiplyFold(read64(data, byte) ^ secretAt(secret), read64(data, byte + 8) ^ secretAt(secret + 8));
}
MSDBG_DEVICE void mix32(Xxh128& acc, const std::uint32_t* data, int first, int second, int secret) {
  acc.low += mix16(data, first, secret);
  acc.low ^= read64(data, second) + read64(data, second + 8);
  acc.high += mix16(data, second, secret + 16);
  acc.high ^= read64(data, first) + read64(data, first + 8);
}
MSDBG_DEVICE Xxh128 finishMixed(const Xxh128& acc, int bytes) {
  const std::uint64_t high =
      acc.low * kPrime64_1 + acc.high * kPrime64_4 + static_cast<std::uint64_t>(bytes) * kPrime64_2;
  return {avalanche(acc.low + acc.high), 0 - avalanche(high)};
}
MSDBG_DEVICE Xxh128 hash17to128(const std::uint32_t* data, int bytes) {
  Xxh128 acc{static_cast<std::uint64_t>(bytes) * kPrime64_1, 0};
  for (int i = (bytes - 1) / 32; i >= 0; --i) mix32(acc, data, 16 * i, bytes - 16 * (i + 1), 32 * i);
  return finishMixed(acc, bytes);
}
MSDBG_DEVICE Xxh128 hash129to240(const std::uint32_t* data, int bytes) {
  constexpr int kStartOffset = 3, kLastOffset = 17, kLeastSecret = 136;
  Xxh128 acc{static_cast<std::uint64_t>(bytes) * kPrime64_1, 0};
  for (int i = 0; i < 4; ++i) mix32(acc, data, 32 * i, 32 * i + 16, 32 * i);
  acc = {avalanche(acc.low), avalanche(acc.high)};
  for (int i = 4; i < bytes / 32; ++i) mix32(acc, data, 32 * i, 32 * i + 16, kStartOffset + 32 * (i - 4));
  mix32(acc, data, bytes - 16, bytes - 32, kLeastSecret - kLastOffset - 16);
  return finishMixed(acc, bytes);
}
/// 4 to 240 bytes.
MSDBG_DEVICE Xxh128 hashShort(const std::uint32_t* data, int bytes) {
  if (bytes <= 8) return hash4to8(data, bytes);
  if (bytes <= 16) return hash9to16(data, bytes);
  return bytes <= 128 ? hash17to128(data, bytes) : hash129to240(data, bytes);
}

// --- more than 240 bytes ---

/// The accumulators are scrambled after so many segments; the stripes of the one after them are fewer
/// than 16.
MSDBG_DEVICE int scrambledSegments(int bytes) { return (bytes - 1) / kSegmentBytes; }
/// Of a segment, without the last 64 bytes of the data, which are taken apart.
MSDBG_DEVICE int stripesOf(int segment, int bytes) {
  const int left = (bytes - 1 - segment * kSegmentBytes) / kStripeBytes;
  return left < kSegmentStripes ? left : kSegmentStripes;
}

/// By a group of 16 threads, of which thread t holds words 2 (t mod 8) and the next of stripes t / 8, 2 + t /
/// 8, …: what a segment adds to accumulator t mod 8. `secret`: kSecret, at hand.
MSDBG_DEVICE std::uint64_t segmentSum(const std::uint32_t (&words)[kSegmentStripes], int stripes,
                                      const std::uint64_t* secret) {
  const int first = laneOfGroup() / kAccumulators;
  secret += first + laneOfGroup() % kAccumulators;
  std::uint64_t products = 0, values = 0;
  const auto add = [&](int stripe) {
    const std::uint64_t value = words[stripe] | static_cast<std::uint64_t>(words[stripe + 1]) << 32,
                        key = value ^ secret[stripe];
    products +=
        static_cast<std::uint64_t>(static_cast<std::uint32_t>(key)) * static_cast<std::uint32_t>(key >> 32);
    values += value;
  };
  if (stripes == kSegmentStripes) {
    MSDBG_UNROLL
    for (int j = 0; j < kSegmentStripes; j += 2) add(j);
  } else {
    MSDBG_UNROLL
    for (int j = 0; j < kSegmentStripes; j += 2)
      if (j + first < stripes) add(j);
  }
  const std::uint64_t sum = products + fromLaneXor(values, 1);  // values go to the neighbour
  return sum + fromLaneXor(sum, kAccumulators);
}
MSDBG_DEVICE std::uint64_t scrambled(std::uint64_t accumulator, int i) {
  return (accumulator ^ accumulator >> 47 ^ kSecret[(kSecretBytes - kStripeBytes) / 8 + i]) * kPrime32_1;
}
/// What the last 64 bytes add to accumulator i.
MSDBG_DEVICE std::uint64_t lastStripe(const std::uint32_t* data, int bytes, int i) {
  constexpr int kLastStart = 7;
  const int at = bytes - kStripeBytes;
  const std::uint64_t key =
      read64(data, at + 8 * i) ^ secretAt(kSecretBytes - kStripeBytes - kLastStart + 8 * i);
  return (key & 0xffffffffu) * (key >> 32) + read64(data, at + 8 * (i ^ 1));
}
MSDBG_DEVICE std::uint64_t mergeAccumulators(const std::uint64_t* acc, int secret, std::uint64_t start) {
  for (int i = 0; i < kAccumulators; i += 2)
    start += multiplyFold(acc[i] ^ secretAt(secret + 8 * i), acc[i + 1] ^ secretAt(secret + 8 * i + 8));
  return avalanche(start);
}
MSDBG_DEVICE Xxh128 mergeAll(const std::uint64_t* acc, int bytes) {
  constexpr int kMergeStart = 11;
  const auto n = static_cast<std::uint64_t>(bytes);
  return {mergeAccumulators(acc, kMergeStart, n * kPrime64_1),
          mergeAccumulators(acc, kSecretBytes - kStripeBytes - kMergeStart, ~(n * kPrime64_2))};
}

}  // namespace msdbg::core::device
