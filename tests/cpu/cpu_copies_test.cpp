#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core_engine/ops/onnx_dtype.h"
#include "tests/cpu/kernel_harness.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

using Ints = std::vector<std::int64_t>;

/// Element i of the transposed tensor, found through its coordinates.
double transposedAt(const Tensor& x, const Ints& perm, const Shape& y, std::int64_t i) {
  Ints coordinate(perm.size());
  for (std::size_t d = perm.size(); d-- > 0; i /= y[d])
    coordinate[static_cast<std::size_t>(perm[d])] = i % y[d];
  std::int64_t flat = 0;
  for (std::size_t d = 0; d < perm.size(); ++d) flat = flat * x.shape()[d] + coordinate[d];
  return x.at(flat);
}

struct TransposeCase {
  Shape x;
  Ints perm;
};

}  // namespace

TEST_CASE("Transpose moves every element to its place, for any permutation and element size") {
  const TransposeCase cases[] = {
      {{5}, {0}},
      {{3, 4}, {1, 0}},
      {{70, 45}, {1, 0}},
      {{2, 3, 4}, {2, 0, 1}},
      {{2, 3, 4}, {0, 2, 1}},
      {{2, 3, 4}, {1, 0, 2}},
      {{3, 1, 5, 1}, {3, 2, 1, 0}},
      {{4, 33, 2, 40}, {0, 3, 2, 1}},
      {{2, 3, 4, 5}, {1, 3, 0, 2}},
      {{1, 1}, {1, 0}},
      {{2, 3, 4, 5}, {0, 1, 2, 3}},
      {{40, 30, 50}, {2, 1, 0}},
  };
  const DType dtype = GENERATE(DType::Float32, DType::Float64, DType::Int64, DType::UInt8);
  for (const TransposeCase& c : cases) {
    CAPTURE(c.x.text(), c.perm);
    const Tensor x = numbers(c.x, 1, 100).cast(dtype);
    const Tensor y = fast({"Transpose", {x}, {{"perm", c.perm}}});
    CHECK(largestError(y, [&](std::int64_t i) { return transposedAt(x, c.perm, y.shape(), i); }) == 0);
  }
}

TEST_CASE("Transpose without perm reverses the dimensions") {
  const Tensor x = numbers({2, 3, 4}, 1);
  CHECK(sameBits(fast({"Transpose", {x}}), fast({"Transpose", {x}, {{"perm", Ints{2, 1, 0}}}})));
}

TEST_CASE("Identity, Reshape and Flatten copy bytes of any dtype") {
  const DType dtype = GENERATE(DType::Float32, DType::Float64, DType::Int64, DType::UInt8, DType::Bool);
  const Tensor x = numbers({6, 50, 301}, 1, 100).cast(dtype);
  CHECK(sameBits(fast({"Identity", {x}}), x));
  CHECK(sameBits(fast({"Flatten", {x}}), x));
  CHECK(sameBits(fast({"Reshape", {x}, {{"shape", Ints{301, -1}}}}), x));
}

TEST_CASE("A copy keeps the payload of a NaN") {
  const std::uint32_t bits[] = {0x7fc12345u, 0xffc00001u};
  Tensor x(DType::Float32, {2});
  std::copy_n(reinterpret_cast<const std::byte*>(bits), sizeof bits, x.byteSpan().data());
  CHECK(sameBits(fast({"Identity", {x}}), x));
}

TEST_CASE("Fast casts agree with C++ conversions, others are left to the reference") {
  const Tensor x = numbers({40001}, 1, 200);
  const auto cast = [](const Tensor& from, DType to) {
    return fast({"Cast", {from}, {{"to", onnxNumber(to)}}});
  };
  CHECK(sameBits(cast(x, DType::Float64), x.cast(DType::Float64)));
  CHECK(sameBits(cast(x.cast(DType::Float64), DType::Float32), x));
  CHECK(sameBits(cast(x, DType::Float32), x));
  const Tensor whole = x.cast(DType::Int64);
  CHECK(sameBits(cast(whole, DType::Float32), whole.cast(DType::Float32)));
  const Ran ran = runFast({"Cast", {x}, {{"to", onnxNumber(DType::Int64)}}});
  CHECK(ran.declined == "a cast from float32 to int64 is rare");
}

TEST_CASE("Split and Concat copy large parts in pieces, along any axis") {
  for (const std::int64_t axis : {0, 1}) {
    const Tensor whole = numbers({3, 150'001}, 1);
    const OneNode split{"Split", {whole}, {{"axis", axis}, {"num_outputs", std::int64_t{3}}}};
    const Ran parts = runReference(split, stateWith(2));
    REQUIRE(parts.outputs.size() == 3);
    const std::int64_t first = axis == 0 ? 150'001 : 50'001;  // of the second part
    CHECK(parts.outputs[1].at(7) == whole.at(first + 7));
    const Ran joined = runReference({"Concat", parts.outputs, {{"axis", axis}}}, stateWith(2));
    CHECK(sameBits(joined.outputs[0], whole));
  }
}
