// The loops of BatchNormalization over planes in channels of 16: x[position][channel]. Sums are added up in
// the order of norm_bodies.h and tile_bodies.h, 16 lanes of positions, so that a channel has the same bits in
// both layouts. Inlined; thread-safe.
#pragma once

#include "core_engine/cpu/norm_bodies.h"

namespace msdbg::core::cpu {

constexpr int kChannels = 16, kHalves = 2;
typedef double OctOfDouble __attribute__((vector_size(64)));

MSDBG_INLINE void loadOct(const float* p, OctOfDouble& out) {
  OctOfFloat oct;
  std::memcpy(&oct, p, sizeof oct);
  out = __builtin_convertvector(oct, OctOfDouble);
}
MSDBG_INLINE void loadOct(const double* p, OctOfDouble& out) { std::memcpy(&out, p, sizeof out); }

enum class Tail { kInLanes, kApart };  // what does not fill the lanes

/// sums[c] = the sum of term(position, half) over the positions. A few lanes at a time stay in registers.
template <Tail kTail, typename Term>
MSDBG_INLINE void sumPositions(std::int64_t n, const Term& term, double* sums) {
  constexpr int kAtOnce = 4;
  OctOfDouble lanes[kLanes][kHalves], tail[kHalves] = {}, v;
  const std::int64_t whole = n / kLanes * kLanes;
  for (int first = 0; first < kLanes; first += kAtOnce) {
    OctOfDouble acc[kAtOnce][kHalves] = {};
    for (std::int64_t i = first; i < whole; i += kLanes)
      for (int k = 0; k < kAtOnce; ++k)
        for (int h = 0; h < kHalves; ++h) {
          term(i + k, h, v);
          acc[k][h] += v;
        }
    for (int k = 0; k < kAtOnce; ++k)
      for (int h = 0; h < kHalves; ++h) lanes[first + k][h] = acc[k][h];
  }
  for (std::int64_t i = whole; i < n; ++i)
    for (int h = 0; h < kHalves; ++h) {
      term(i, h, v);
      (kTail == Tail::kApart ? tail[h] : lanes[i - whole][h]) += v;
    }
  for (int h = 0; h < kHalves; ++h) {
    OctOfDouble s[4];
    for (int k = 0; k < 4; ++k) s[k] = (lanes[k][h] + lanes[k + 8][h]) + (lanes[k + 4][h] + lanes[k + 12][h]);
    OctOfDouble sum = (s[0] + s[2]) + (s[1] + s[3]);
    if (kTail == Tail::kApart) sum += tail[h];
    std::memcpy(sums + 8 * h, &sum, sizeof sum);
  }
}

/// sums[c] = sum(x)
MSDBG_INLINE void channelSumsBody(const float* x, std::int64_t n, double* sums) {
  sumPositions<Tail::kInLanes>(
      n, [x](std::int64_t i, int h, OctOfDouble& v) { loadOct(x + i * kChannels + 8 * h, v); }, sums);
}
/// sums[c] = sum((x - means[c])^2)
MSDBG_INLINE void channelSquaresBody(const float* x, const double* means, std::int64_t n, double* sums) {
  sumPositions<Tail::kApart>(
      n,
      [x, means](std::int64_t i, int h, OctOfDouble& v) {
        OctOfDouble mean;
        loadOct(means + 8 * h, mean);
        loadOct(x + i * kChannels + 8 * h, v);
        v -= mean;
        v *= v;
      },
      sums);
}
/// sums[c] = sum(a * (x - means[c]))
MSDBG_INLINE void channelDotsBody(const float* a, const float* x, const double* means, std::int64_t n,
                                  double* sums) {
  sumPositions<Tail::kApart>(
      n,
      [a, x, means](std::int64_t i, int h, OctOfDouble& v) {
        OctOfDouble mean, w;
        loadOct(means + 8 * h, mean);
        loadOct(a + i * kChannels + 8 * h, v);
        loadOct(x + i * kChannels + 8 * h, w);
        w -= mean;
        v *= w;
      },
      sums);
}

/// NormalSettings and NormalGradSettings of 16 channels.
struct ChannelSettings {
  float mean[kChannels], factor[kChannels], shift[kChannels];
};
struct ChannelGradSettings {
  float factor[kChannels], mean[kChannels], constant[kChannels], slope[kChannels];
};

MSDBG_INLINE void channelNormalBody(const float* __restrict x, const ChannelSettings& settings,
                                    float* __restrict y, std::int64_t n) {
  const ChannelSettings s = settings;
  for (std::int64_t i = 0; i < n; ++i)
    for (int c = 0; c < kChannels; ++c)
      y[i * kChannels + c] = (x[i * kChannels + c] - s.mean[c]) * s.factor[c] + s.shift[c];
}
MSDBG_INLINE void channelGradBody(const float* __restrict dy, const float* __restrict x,
                                  const ChannelGradSettings& settings, float* __restrict dx, std::int64_t n) {
  const ChannelGradSettings s = settings;
  for (std::int64_t i = 0; i < n; ++i)
    for (int c = 0; c < kChannels; ++c) {
      const std::int64_t at = i * kChannels + c;
      dx[at] = s.factor[c] * ((dy[at] - s.constant[c]) - (x[at] - s.mean[c]) * s.slope[c]);
    }
}
MSDBG_INLINE void channelScaleBody(const float* __restrict dy, const ChannelGradSettings& settings,
                                   float* __restrict dx, std::int64_t n) {
  const ChannelGradSettings s = settings;
  for (std::int64_t i = 0; i < n; ++i)
    for (int c = 0; c < kChannels; ++c) dx[i * kChannels + c] = dy[i * kChannels + c] * s.factor[c];
}

}  // namespace msdbg::core::cpu
