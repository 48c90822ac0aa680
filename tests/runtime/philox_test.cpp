#include "core_engine/base/philox.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace msdbg::core;

// Known answers of Random123 1.09, tests/kat_vectors, "philox4x32 10".
TEST_CASE("Philox4x32-10 gives Random123's known answers") {
  using Words = std::array<std::uint32_t, 4>;
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const std::uint32_t f = 0xffffffff;
  CHECK(philox4x32({f, f, f, f}, {f, f}) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("A random stream depends on seed, name, iteration and index, and on nothing else") {
  const RandomStream a(1, "network/fc1/weight", 0);
  CHECK(a.bits(5) == RandomStream(1, "network/fc1/weight", 0).bits(5));
  CHECK(a.bits(5) != RandomStream(2, "network/fc1/weight", 0).bits(5));
  CHECK(a.bits(5) != RandomStream(1, "network/fc2/weight", 0).bits(5));
  CHECK(a.bits(5) != RandomStream(1, "network/fc1/weight", 1).bits(5));
  CHECK(a.bits(5) != a.bits(6));
  CHECK(a.bits(5) != a.bits(5 + (std::uint64_t{1} << 32)));
}

TEST_CASE("Normal numbers have mean 0 and deviation 1") {
  const RandomStream stream(3, "n", 0);
  const int n = 200000;
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = stream.normal(static_cast<std::uint64_t>(i));
    sum += x;
    squares += x * x;
  }
  CHECK(std::abs(sum / n) < 4 / std::sqrt(n));
  CHECK(std::abs(squares / n - 1) < 4 * std::sqrt(2.0 / n));
}
