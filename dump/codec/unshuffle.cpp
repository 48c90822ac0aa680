#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <cassert>
#include <cstring>

#include "dump/codec/codec.h"

namespace msdbg::dump {
namespace {

void unshuffleFrom(std::size_t first, std::span<const std::byte> from, std::size_t elementBytes,
                   std::span<std::byte> to) {
  const std::size_t count = from.size() / elementBytes;
  for (std::size_t b = 0; b < elementBytes; ++b) {
    for (std::size_t i = first; i < count; ++i) to[i * elementBytes + b] = from[b * count + i];
  }
}

#ifdef __SSE2__
__m128i load(const std::byte* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); }
void store(std::byte* at, __m128i value) { _mm_storeu_si128(reinterpret_cast<__m128i*>(at), value); }

std::size_t unshuffle4(std::span<const std::byte> from, std::span<std::byte> to) {
  const std::size_t count = from.size() / 4, whole = count / 16 * 16;
  for (std::size_t i = 0; i < whole; i += 16) {
    const __m128i b0 = load(&from[i]), b1 = load(&from[count + i]);
    const __m128i b2 = load(&from[2 * count + i]), b3 = load(&from[3 * count + i]);
    const __m128i low01 = _mm_unpacklo_epi8(b0, b1), high01 = _mm_unpackhi_epi8(b0, b1);
    const __m128i low23 = _mm_unpacklo_epi8(b2, b3), high23 = _mm_unpackhi_epi8(b2, b3);
    std::byte* at = to.data() + 4 * i;
    store(at, _mm_unpacklo_epi16(low01, low23));
    store(at + 16, _mm_unpackhi_epi16(low01, low23));
    store(at + 32, _mm_unpacklo_epi16(high01, high23));
    store(at + 48, _mm_unpackhi_epi16(high01, high23));
  }
  return whole;
}
#else
std::size_t unshuffle4(std::span<const std::byte>, std::span<std::byte>) { return 0; }
#endif

}  // namespace

void unshuffle(std::span<const std::byte> from, std::size_t elementBytes, std::span<std::byte> to) {
  assert(from.size() == to.size() && from.size() % elementBytes == 0);
  if (elementBytes == 1) {
    std::memcpy(to.data(), from.data(), from.size());
    return;
  }
  unshuffleFrom(elementBytes == 4 ? unshuffle4(from, to) : 0, from, elementBytes, to);
}

}  // namespace msdbg::dump
