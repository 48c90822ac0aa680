#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <cassert>
#include <cstring>

#include "dump/codec/codec.h"

namespace msdbg::dump {
namespace {

void shuffleFrom(std::size_t first, std::span<const std::byte> from, std::size_t elementBytes,
                 std::span<std::byte> to) {
  const std::size_t count = from.size() / elementBytes;
  for (std::size_t b = 0; b < elementBytes; ++b) {
    for (std::size_t i = first; i < count; ++i) to[b * count + i] = from[i * elementBytes + b];
  }
}

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

// Byte B of sixteen 4-byte elements. The packs saturate, but every lane is at most 255.
template <int B>
__m128i plane(const __m128i (&v)[4]) {
  const __m128i low = _mm_set1_epi32(0xff);
  const auto byteOf = [&](__m128i x) { return _mm_and_si128(_mm_srli_epi32(x, 8 * B), low); };
  return _mm_packus_epi16(_mm_packs_epi32(byteOf(v[0]), byteOf(v[1])),
                          _mm_packs_epi32(byteOf(v[2]), byteOf(v[3])));
}

std::size_t shuffle4(std::span<const std::byte> from, std::span<std::byte> to) {
  const std::size_t count = from.size() / 4, whole = count / 16 * 16;
  for (std::size_t i = 0; i < whole; i += 16) {
    const std::byte* at = from.data() + 4 * i;
    const __m128i v[4] = {load(at), load(at + 16), load(at + 32), load(at + 48)};
    store(&to[i], plane<0>(v));
    store(&to[count + i], plane<1>(v));
    store(&to[2 * count + i], plane<2>(v));
    store(&to[3 * count + i], plane<3>(v));
  }
  return whole;
}

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
std::size_t shuffle4(std::span<const std::byte>, std::span<std::byte>) { return 0; }
std::size_t unshuffle4(std::span<const std::byte>, std::span<std::byte>) { return 0; }
#endif

}  // namespace

void shuffle(std::span<const std::byte> from, std::size_t elementBytes, std::span<std::byte> to) {
  assert(from.size() == to.size() && from.size() % elementBytes == 0);
  if (elementBytes == 1) {
    std::memcpy(to.data(), from.data(), from.size());
    return;
  }
  shuffleFrom(elementBytes == 4 ? shuffle4(from, to) : 0, from, elementBytes, to);
}

void unshuffle(std::span<const std::byte> from, std::size_t elementBytes, std::span<std::byte> to) {
  assert(from.size() == to.size() && from.size() % elementBytes == 0);
  if (elementBytes == 1) {
    std::memcpy(to.data(), from.data(), from.size());
    return;
  }
  unshuffleFrom(elementBytes == 4 ? unshuffle4(from, to) : 0, from, elementBytes, to);
}

}  // namespace msdbg::dump
