#include "dump/codec/codec.h"

#include <zstd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "core_engine/tensor/statistics.h"
#include "dump/codec/chunk_grid.h"
#include "dump/codec/dataset_path.h"
#include "dump/codec/file_hash.h"
#include "dump/codec/sha256.h"
#include "dump/codec/zero_runs.h"
#include "dump/writer/row_encoder.h"
#include "tests/dump/recorded_run.h"

using namespace msdbg;
using dump::ChunkGrid;

namespace {

std::vector<std::byte> randomBytes(std::size_t count) {
  std::mt19937 random(7);
  std::vector<std::byte> bytes(count);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

// Bytes of whole groups of 64 words that lie in runs of two zero words and more.
std::size_t bytesInRuns(std::span<const std::byte> chunk) {
  std::size_t run = 0, all = 0;
  const std::size_t words = chunk.size() / 256 * 64;
  for (std::size_t i = 0; i <= words; ++i) {
    const bool zero = i < words && std::ranges::all_of(chunk.subspan(4 * i, 4),
                                                       [](std::byte b) { return b == std::byte{0}; });
    if (!zero && run >= 2) all += 4 * run;
    run = zero ? run + 1 : 0;
  }
  return all;
}

}  // namespace

TEST_CASE("Byte shuffle has byte b of element i at b * count + i, for every element size and odd lengths") {
  for (const std::size_t size : {1u, 2u, 4u, 8u}) {
    for (const std::size_t count : {1u, 15u, 16u, 17u, 1000u}) {
      const auto values = randomBytes(size * count);
      std::vector<std::byte> shuffled(values.size()), back(values.size());
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t b = 0; b < size; ++b) shuffled[b * count + i] = values[i * size + b];
      dump::unshuffle(shuffled, size, back);
      CHECK(back == values);
    }
  }
}

TEST_CASE("Compressible chunks are stored smaller and decode to the same bytes") {
  std::vector<std::byte> chunk(1u << 20), stored, back(chunk.size());
  for (std::size_t i = 0; i < chunk.size(); i += 40) chunk[i] = static_cast<std::byte>(i);
  dump::Compressor compressor;
  REQUIRE(compressor.compress(chunk, stored));
  CHECK(stored.size() < chunk.size() / 4);
  REQUIRE(dump::decodeChunk(stored, false, true, 4, back).ok());
  CHECK(back == chunk);
  CHECK_FALSE(compressor.compress(randomBytes(1u << 20), stored));
}

TEST_CASE("A frame of zero runs decodes to the same bytes, whatever lies where, and at any length") {
  std::mt19937 random(11);
  dump::ZeroRuns runs;
  std::size_t framed = 0;
  for (const std::size_t size : {1u, 63u, 64u, 255u, 256u, 257u, 512u, 1000u, 4096u, 65536u + 7, 1u << 20}) {
    for (const unsigned longest : {1u, 2u, 3u, 17u, 40000u}) {
      std::vector<std::byte> chunk = randomBytes(size), frame(ZSTD_compressBound(size)), back(size);
      for (std::size_t at = 0; at < size;) {
        const std::size_t zeros = std::min(std::size_t{4} * (random() % (longest + 1)), size - at);
        std::fill_n(chunk.begin() + static_cast<std::ptrdiff_t>(at), zeros, std::byte{0});
        at += zeros + random() % 3 * 4 + (longest == 17 ? 1 : 0);  // not every run begins at a word
      }
      const std::size_t used = runs.compress(chunk, frame);
      CHECK((used > 0) == (3 * bytesInRuns(chunk) >= size));
      if (used == 0) continue;
      ++framed;
      CHECK(used < size * 3 / 4 + 64);
      REQUIRE(dump::decodeChunk(std::span(frame).first(used), false, true, 4, back).ok());
      CHECK(back == chunk);
    }
  }
  CHECK(framed > 15);
  std::vector<std::byte> frame(4096);
  CHECK(runs.compress(randomBytes(1024), frame) == 0);
  const std::vector<std::byte> zeros(1024);
  CHECK(runs.compress(zeros, std::span(frame).first(ZSTD_compressBound(1024) - 1)) == 0);  // no room
  CHECK(runs.compress(zeros, frame) > 0);  // and it still works
}

TEST_CASE("What is half zeros gets smaller by runs of zeros than by zstd's own search") {
  std::vector<std::byte> chunk = randomBytes(1u << 20), stored, back(chunk.size());
  std::mt19937 random(3);
  for (std::size_t at = 0; at < chunk.size(); at += 16)
    if (random() % 4 != 0) std::fill_n(chunk.begin() + static_cast<std::ptrdiff_t>(at), 16, std::byte{0});
  std::vector<std::byte> searched(ZSTD_compressBound(chunk.size()));
  const std::size_t plain =
      ZSTD_compress(searched.data(), searched.size(), chunk.data(), chunk.size(), dump::Compressor::kLevel);
  dump::Compressor compressor;
  REQUIRE(compressor.compress(chunk, stored));
  CHECK(stored.size() < plain);
  REQUIRE(dump::decodeChunk(stored, false, true, 4, back).ok());
  CHECK(back == chunk);
}

TEST_CASE("Whether compressing pays is judged by a sample, which holds for a while") {
  const auto noise = randomBytes(1u << 20);
  const std::vector<std::byte> zeros(1u << 20);
  dump::Compressor compressor;
  for (const bool first : {false, true}) {
    dump::CompressionTrial trial;
    CHECK(compressor.judge(first ? zeros : noise, trial) == first);
    for (std::uint64_t done = 0; done < dump::Compressor::kPause; done += zeros.size())
      CHECK(compressor.judge(first ? noise : zeros, trial) == first);
    CHECK(compressor.judge(first ? noise : zeros, trial) != first);
  }
}

TEST_CASE("What gains too little is not tried again soon, whatever the sample said") {
  dump::CompressionTrial trial{.pays = true, .bytesLeft = 5};
  trial.gained(1600, 1000);
  CHECK(trial.pays);
  trial.gained(1599, 1000);
  CHECK_FALSE(trial.pays);
  CHECK(trial.bytesLeft == dump::Compressor::kPause);
}

TEST_CASE(
    "Momenta, zeros at first and noise for ever, are tried once, and their chunks change with the file") {
  const std::vector<std::byte> zeros(1u << 20), noise = randomBytes(1u << 20);
  dump::RowEncoder encoder(true, nullptr);
  const auto encode = [&](std::span<const std::byte> bytes) {
    dump::TensorRow row;
    row.shape = {bytes.size() / 4};
    encoder.encode({dump::Section::kTensor, 7}, row, bytes, 2);
    std::size_t compressed = 0;
    for (dump::StoredChunk& chunk : row.chunks) {
      compressed += chunk.filterMask != dump::kRawMask;
      CHECK(chunk.hash == core::hashBytes(chunk.bytes));
      encoder.takeBack(chunk);
    }
    return std::pair(row.chunks.size(), compressed);
  };
  encoder.beginFile();
  CHECK(encode(zeros) == std::pair<std::size_t, std::size_t>(2, 2));
  CHECK(encode(noise) == std::pair<std::size_t, std::size_t>(2, 0));
  CHECK(encode(zeros) == std::pair<std::size_t, std::size_t>(2, 0));  // given up for this file
  encoder.beginFile();
  CHECK(encode(zeros) == std::pair<std::size_t, std::size_t>(1, 0));  // and for the next 64 MiB
}

TEST_CASE("A tensor at the edge of what pays is not compressed one time and not the next") {
  // Two fifths of all bytes are worth nothing: a gain of 1.7.
  std::vector<std::byte> edge = randomBytes(64u << 10);
  for (std::size_t i = 0; i < edge.size(); ++i)
    if (i % 4096 < 1690) edge[i] = std::byte{0};
  dump::Compressor compressor;
  dump::CompressionTrial fresh, compressed{.pays = true, .bytesLeft = 0};
  CHECK_FALSE(compressor.judge(edge, fresh));
  CHECK(compressor.judge(edge, compressed));
}

TEST_CASE("Garbage instead of a compressed chunk is an error, whatever its length") {
  std::vector<std::byte> chunk(4096), stored;
  dump::Compressor compressor;
  REQUIRE(compressor.compress(std::vector<std::byte>(4096), stored));
  for (std::size_t length = 0; length < stored.size(); ++length) {
    CHECK_FALSE(dump::decodeChunk(std::span(stored).first(length), true, true, 4, chunk).ok());
  }
  std::vector<std::byte> larger(8192);
  CHECK_FALSE(dump::decodeChunk(stored, true, true, 4, larger).ok());
  CHECK_FALSE(dump::decodeChunk(stored, false, false, 4, chunk).ok());
}

TEST_CASE("Small rows share chunks; rows of more than 16 MiB are cut; every byte lies in exactly one chunk") {
  const std::vector<std::vector<std::uint64_t>> cases = {{1},
                                                         {5000},
                                                         {7, 8, 4},
                                                         {1000, 3, 5},
                                                         {3, 300, 1000},
                                                         {2, 3, 1500, 1024},
                                                         {2, 9000000},
                                                         {1, 2, 5000000, 3},
                                                         {4, 1, 1}};
  for (const auto& extents : cases) {
    const ChunkGrid grid = ChunkGrid::plan(extents, 4);
    CHECK(grid.chunkBytes() <= dump::kLargestChunk);
    std::uint64_t next = 0, rows = 0;
    for (std::uint64_t i = 0; i < grid.count(); ++i) {
      const auto piece = grid.piece(i);
      CHECK(piece.firstByte == next);  // contiguous pieces in row-major order
      CHECK(piece.bytes <= grid.chunkBytes());
      next += piece.bytes;
    }
    CHECK(next == grid.rowBytes() * extents[0]);
    for (std::uint64_t row = 0; row < extents[0]; ++row)
      rows += grid.chunksOfRow(row).first < grid.chunksOfRow(row).second;
    CHECK(rows == extents[0]);
    CHECK(ChunkGrid::of(extents, grid.chunk(), 4).ok());
  }
}

TEST_CASE("Chunk grids that the writer cannot have made are refused") {
  CHECK_FALSE(ChunkGrid::of({4, 4}, {2}, 4).ok());
  CHECK_FALSE(ChunkGrid::of({4, 4}, {0, 4}, 4).ok());
  CHECK_FALSE(ChunkGrid::of({4, 0}, {1, 1}, 4).ok());
  CHECK_FALSE(ChunkGrid::of({4, 4}, {2, 2}, 4).ok());  // not contiguous
  CHECK_FALSE(ChunkGrid::of({4, 4}, {5, 4}, 4).ok());  // larger than the dataset
  CHECK_FALSE(ChunkGrid::of({1, 1u << 30}, {1, 1u << 30}, 4).ok());
  CHECK_FALSE(ChunkGrid::of({1ull << 40, 1ull << 40}, {1, 1}, 8).ok());
}

TEST_CASE("Names become dataset paths that HDF5 does not reinterpret") {
  CHECK(dump::datasetPath("/tensor", "network/conv1/weight:0") == "/tensor/network/conv1/weight:0");
  CHECK(dump::datasetPath("/tensor", "a/./b") == "/tensor/a/%2E/b");
  CHECK(dump::datasetPath("/tensor", "a//b%") == "/tensor/a/%/b%25");
}

TEST_CASE("SHA-256 of FIPS 180-4's example, and a file's hash equals that of its bytes") {
  CHECK(dump::sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const test::TempDir folder;
  for (const std::size_t size : {0u, 1u, 65536u, 65537u, 9u << 20}) {
    const auto bytes = randomBytes(size);
    test::writeText(folder / "file", std::string(reinterpret_cast<const char*>(bytes.data()), size));
    const auto hash = dump::hashFile(folder / "file", core::CancelToken());
    REQUIRE(hash.ok());
    CHECK(*hash == core::hashBytes(bytes).text());
  }
}
