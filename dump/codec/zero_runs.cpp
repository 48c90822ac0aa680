#include "dump/codec/zero_runs.h"

#define ZSTD_STATIC_LINKING_ONLY  // ZSTD_compressSequences(); the shared library exports it
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace msdbg::dump {
namespace {

constexpr std::size_t kWord = 4;        // bytes: a float32, half a float64
constexpr std::size_t kWords = 16;      // that are looked at together
constexpr std::size_t kShortest = 2;    // words; what is shorter costs a sequence and gains three bytes
constexpr std::size_t kLeastShare = 3;  // a third

/// Bit i: word i of 16 is zero.
unsigned zeroWords(const std::byte* words) {
#if defined(__SSE2__)
  const auto zeros = [&](int quarter) {
    const auto* at = reinterpret_cast<const __m128i*>(words) + quarter;
    return _mm_cmpeq_epi32(_mm_loadu_si128(at), _mm_setzero_si128());
  };
  const __m128i bytes =
      _mm_packs_epi16(_mm_packs_epi32(zeros(0), zeros(1)), _mm_packs_epi32(zeros(2), zeros(3)));
  return static_cast<unsigned>(_mm_movemask_epi8(bytes));
#else
  unsigned bits = 0;
  for (unsigned i = 0; i < kWords; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, words + i * kWord, kWord);
    bits |= unsigned{word == 0} << i;
  }
  return bits;
#endif
}

}  // namespace

struct ZeroRuns::Impl {
  ZSTD_CCtx* zstd = ZSTD_createCCtx();
  std::vector<ZSTD_Sequence> sequences;
  std::size_t literals = 0, run = 0, inRuns = 0;  // bytes since the last run; words

  Impl() {
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, -1);  // literals stay as they are
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_minMatch, 3);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_blockDelimiters, ZSTD_sf_noBlockDelimiters);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_validateSequences, 1);
  }
  ~Impl() { ZSTD_freeCCtx(zstd); }

  // A run is its first byte, and that byte again and again.
  void endRun() {
    const auto bytes = static_cast<unsigned>(run * kWord);
    if (run >= kShortest) {
      sequences.push_back({1, static_cast<unsigned>(literals + 1), bytes - 1, 0});
      literals = 0;
      inRuns += run;
    } else {
      literals += bytes;
    }
    run = 0;
  }

  void addWords(unsigned zeros, unsigned left) {
    while (left > 0) {
      const auto same = static_cast<unsigned>(std::countr_one(zeros));
      const unsigned ending = std::min(same, left);
      run += ending;
      left -= ending;
      if (left == 0) return;
      zeros >>= ending;
      endRun();
      const unsigned others = std::min(static_cast<unsigned>(std::countr_zero(zeros)), left);
      literals += others * kWord;
      left -= others;
      zeros = others < 32 ? zeros >> others : 0;
    }
  }

  void find(std::span<const std::byte> chunk) {
    sequences.clear();
    literals = run = inRuns = 0;
    std::size_t at = 0;
    for (; at + kWords * kWord <= chunk.size(); at += kWords * kWord) addWords(zeroWords(&chunk[at]), kWords);
    endRun();  // what is left of the chunk are literals, which zstd adds itself
  }
};

ZeroRuns::ZeroRuns() : m_impl(std::make_unique<Impl>()) {}
ZeroRuns::~ZeroRuns() = default;
ZeroRuns::ZeroRuns(ZeroRuns&&) noexcept = default;

std::size_t ZeroRuns::compress(std::span<const std::byte> chunk, std::span<std::byte> frame) {
  m_impl->find(chunk);
  if (m_impl->inRuns * kWord * kLeastShare < chunk.size()) return 0;
  const std::size_t used =
      ZSTD_compressSequences(m_impl->zstd, frame.data(), frame.size(), m_impl->sequences.data(),
                             m_impl->sequences.size(), chunk.data(), chunk.size());
  return ZSTD_isError(used) ? 0 : used;
}

}  // namespace msdbg::dump
