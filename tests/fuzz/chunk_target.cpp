#include <algorithm>
#include <cstring>
#include <vector>

#include "dump/codec/chunk_grid.h"
#include "dump/codec/codec.h"
#include "tests/fuzz/fuzz_targets.h"

namespace msdbg::fuzz {
namespace {

// Guards around the chunk: decoding writes all of it or none, and nothing beside it.
void decode(Bytes stored, bool shuffled, bool compressed, std::size_t elementBytes, std::size_t chunkBytes) {
  constexpr std::size_t kGuard = 32;
  constexpr std::byte kMark{0x5a};
  std::vector<std::byte> memory(chunkBytes + 2 * kGuard, kMark);
  const std::span<std::byte> chunk = std::span(memory).subspan(kGuard, chunkBytes);
  (void)dump::decodeChunk(stored, shuffled, compressed, elementBytes, chunk);
  const auto untouched = [&](std::size_t first) {
    return std::all_of(memory.begin() + static_cast<std::ptrdiff_t>(first),
                       memory.begin() + static_cast<std::ptrdiff_t>(first + kGuard),
                       [&](std::byte b) { return b == kMark; });
  };
  require(untouched(0) && untouched(kGuard + chunkBytes), "a chunk stays within its declared size");
}

void roundTrip(Bytes values, std::size_t elementBytes) {
  const Bytes chunk = values.first(values.size() / elementBytes * elementBytes);
  if (chunk.empty()) return;
  dump::Compressor compressor;
  std::vector<std::byte> stored, back(chunk.size());
  if (!compressor.compress(chunk, stored)) return;
  require(dump::decodeChunk(stored, false, true, elementBytes, back).ok(), "what was compressed can be read");
  require(std::ranges::equal(back, chunk), "what was compressed comes back");
}

void grid(Bytes input) {
  std::vector<std::uint64_t> numbers(input.size() / sizeof(std::uint64_t));
  if (numbers.empty()) return;
  std::memcpy(numbers.data(), input.data(), numbers.size() * sizeof numbers[0]);
  const auto half = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  const auto made = dump::ChunkGrid::of({numbers.begin(), half}, {half, numbers.end()}, 4);
  if (!made.ok()) return;
  const auto last = made->piece(made->count() - 1);
  require(last.bytes <= made->chunkBytes() && made->chunkBytes() <= dump::kLargestChunk, "chunks are small");
  require(last.firstByte + last.bytes == made->rowBytes() * made->extents()[0],
          "the last chunk ends the data");
}

}  // namespace

void fuzzChunk(Bytes input) {
  if (input.size() < 3) return;
  const auto at = [&](std::size_t i) { return std::to_integer<std::size_t>(input[i]); };
  const std::size_t elementBytes = std::size_t{1} << (at(0) >> 2) % 4;
  const std::size_t elements = (at(1) | (at(2) & 15) << 8) + 1;
  const Bytes rest = input.subspan(3);
  decode(rest, at(0) & 1, at(0) & 2, elementBytes, elements * elementBytes);
  roundTrip(rest, elementBytes);
  grid(rest);
}

}  // namespace msdbg::fuzz
