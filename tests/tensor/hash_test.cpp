#include <catch2/catch.hpp>
#include <random>
#include <string_view>
#include <vector>

#include "core_engine/tensor/statistics.h"

using namespace msdbg::core;

namespace {

std::span<const std::byte> bytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

std::vector<std::byte> randomBytes(std::size_t count) {
  std::mt19937_64 random(7);
  std::vector<std::byte> bytes(count);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

void append(std::uint64_t value, std::vector<std::byte>& out) {
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i)));
}

}  // namespace

TEST_CASE("hashBlock is XXH3-128 as xxhsum prints it") {
  CHECK(hashBlock({}).text() == "99aa06d3014798d86001c324468d497f");
  CHECK(hashBlock(bytesOf("a")).text() == "a96faf705af16834e6c632b61e964e1f");
  CHECK(hashBlock(bytesOf("abc")).text() == "06b05ab6733a618578af5f94892f3950");
}

TEST_CASE("hashBytes hashes the little-endian list of its blocks' hashes") {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, kBlockBytes, kBlockBytes + 1, 5 * kBlockBytes - 3}) {
    const std::vector<std::byte> bytes = randomBytes(size);
    std::vector<std::byte> list;
    for (std::size_t start = 0; start < size; start += kBlockBytes) {
      const Hash128 hash = hashBlock(std::span(bytes).subspan(start, std::min(kBlockBytes, size - start)));
      append(hash.low, list);
      append(hash.high, list);
    }
    for (const int threads : {1, 2, 3}) CHECK(hashBytes(bytes, threads) == hashBlock(list));
  }
}

TEST_CASE("Any flipped bit changes the hash") {
  std::vector<std::byte> bytes = randomBytes(2 * kBlockBytes + 5);
  const Hash128 before = hashBytes(bytes);
  for (std::size_t i = 0; i < bytes.size(); i += 4099) {
    bytes[i] ^= std::byte{1};
    CHECK_FALSE(hashBytes(bytes) == before);
    bytes[i] ^= std::byte{1};
  }
  CHECK(hashBytes(bytes) == before);
}

TEST_CASE("A tensor's hash is that of its bytes, whatever its shape") {
  Tensor tensor = Tensor::zeros(DType::Float64, Shape{100, 200});
  tensor.data<double>()[12345] = 1;
  CHECK(hashTensor(tensor) == hashBytes(tensor.byteSpan()));
  CHECK(hashTensor(tensor, 3) == computeStatistics(tensor.reshaped(Shape{20000}), 2).hash);
}
