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

constexpr std::size_t kWord = 4;         // bytes: a float32, half a float64
constexpr std::size_t kGroupWords = 64;  // that are looked at together
constexpr std::size_t kGroup = kGroupWords * kWord;
constexpr std::size_t kLeastShare = 3;  // a third

/// Bit i: word i of the group is zero.
std::uint64_t zeroWords(const std::byte* group) {
  std::uint64_t bits = 0;
#if defined(__SSE2__)
  const auto zeros = [&](unsigned four) {
    const auto* at = reinterpret_cast<const __m128i*>(group) + four;
    return _mm_cmpeq_epi32(_mm_loadu_si128(at), _mm_setzero_si128());
  };
  for (unsigned i = 0; i < kGroupWords / 4; i += 4) {
    const __m128i sixteen =
        _mm_packs_epi16(_mm_packs_epi32(zeros(i), zeros(i + 1)), _mm_packs_epi32(zeros(i + 2), zeros(i + 3)));
    bits |= std::uint64_t{static_cast<unsigned>(_mm_movemask_epi8(sixteen))} << (4 * i);
  }
#else
  for (unsigned i = 0; i < kGroupWords; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, group + i * kWord, kWord);
    bits |= std::uint64_t{word == 0} << i;
  }
#endif
  return bits;
}

}  // namespace

struct ZeroRuns::Impl {
  ZSTD_CCtx* zstd = ZSTD_createCCtx();
  std::vector<ZSTD_Sequence> sequences;
  std::size_t runs = 0, inRuns = 0;  // that were found; words

  Impl() {
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, -1);  // literals stay as they are
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_minMatch, 3);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_blockDelimiters, ZSTD_sf_noBlockDelimiters);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_validateSequences, 1);
  }
  ~Impl() { ZSTD_freeCCtx(zstd); }

  /// Runs of two words and more: a single one would cost a sequence and gain three bytes. Without a branch
  /// that depends on a word, because where zeros lie nobody can predict. What is left of the chunk behind the
  /// last run, or the last whole group, are literals that zstd adds itself.
  void find(std::span<const std::byte> chunk) {
    const std::size_t words = chunk.size() / kGroup * kGroupWords;
    sequences.resize(std::max(sequences.size(), words / 3 + 1));  // a run and what parts it from the next
    inRuns = 0;
    ZSTD_Sequence* next = sequences.data();
    std::size_t lastEnd = 0, begin = 0;
    std::uint64_t before = 0, ending = 0;  // bit 0: the last word was zero; was in a run
    std::uint64_t zeros = words > 0 ? zeroWords(chunk.data()) : 0;
    const auto add = [&](std::size_t end) {  // a run is its first byte, and that byte again and again
      *next++ = {1, static_cast<unsigned>((begin - lastEnd) * kWord + 1),
                 static_cast<unsigned>((end - begin) * kWord - 1), 0};
      lastEnd = end;
    };
    bool inRun = false;
    for (std::size_t at = 0; at < words; at += kGroupWords) {
      const std::size_t following = at + kGroupWords;
      const std::uint64_t after = following < words ? zeroWords(&chunk[following * kWord]) : 0;
      const std::uint64_t kept = zeros & ((zeros << 1 | before) | (zeros >> 1 | after << 63));
      inRuns += static_cast<std::size_t>(std::popcount(kept));
      for (std::uint64_t edges = kept ^ (kept << 1 | ending); edges != 0; edges &= edges - 1) {
        const std::size_t edge = at + static_cast<std::size_t>(std::countr_zero(edges));
        if (inRun) {
          add(edge);
        } else {
          begin = edge;
        }
        inRun = !inRun;
      }
      before = zeros >> 63;
      ending = kept >> 63;
      zeros = after;
    }
    if (inRun) add(words);
    runs = static_cast<std::size_t>(next - sequences.data());
  }
};

ZeroRuns::ZeroRuns() : m_impl(std::make_unique<Impl>()) {}
ZeroRuns::~ZeroRuns() = default;
ZeroRuns::ZeroRuns(ZeroRuns&&) noexcept = default;

std::size_t ZeroRuns::compress(std::span<const std::byte> chunk, std::span<std::byte> frame) {
  if (frame.size() < ZSTD_compressBound(chunk.size()))
    return 0;  // zstd 1.5.4 writes outside of less than a header
  m_impl->find(chunk);
  if (m_impl->inRuns * kWord * kLeastShare < chunk.size()) return 0;
  const std::size_t used =
      ZSTD_compressSequences(m_impl->zstd, frame.data(), frame.size(), m_impl->sequences.data(), m_impl->runs,
                             chunk.data(), chunk.size());
  return ZSTD_isError(used) ? 0 : used;
}

}  // namespace msdbg::dump
