#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "replay/inspect.h"

using namespace msdbg;
using core::DType;
using core::Tensor;

namespace {

Tensor floats(const std::vector<float>& values) {
  return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
}

}  // namespace

TEST_CASE("Equal bits have no difference, NaNs and signs of zero among them") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK_FALSE(replay::compareBits(floats({1, nan, -0.0f}), floats({1, nan, -0.0f})));
  CHECK(replay::compareBits(floats({0.0f}), floats({-0.0f}))->ulp == 1);
}

TEST_CASE("The first element that differs is named, with its values and their distance") {
  const Tensor a = Tensor::of<float>({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  Tensor b = a.clone();
  b.data<float>()[4] = std::nextafter(std::nextafter(5.0f, 6.0f), 6.0f);
  b.data<float>()[5] = 8;
  const auto found = replay::compareBits(a, b);
  REQUIRE(found);
  CHECK(found->shape.elements() == 6);
  CHECK(found->different == 2);
  CHECK(found->first == 4);
  CHECK(found->a == 5);
  CHECK(found->ulp == 2);
  CHECK(found->maxAbs == 2);
}

TEST_CASE("Distances count representable numbers across zero, in every floating dtype") {
  const float least = std::numeric_limits<float>::denorm_min();
  CHECK(replay::compareBits(floats({least}), floats({-least}))->ulp == 3);  // past 0.0 and -0.0
  for (const DType dtype : {DType::Float16, DType::BFloat16, DType::Float64}) {
    const Tensor one = floats({1}).cast(dtype);
    Tensor next = one.clone();
    next.byteSpan()[0] ^= std::byte{1};  // little-endian: the lowest bit
    CHECK(replay::compareBits(one, next)->ulp == 1);
  }
}

TEST_CASE("There is no distance to a NaN, nor between integers") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK_FALSE(replay::compareBits(floats({1}), floats({nan}))->ulp);
  const std::vector<std::int64_t> one = {1}, two = {2};
  const Tensor a = Tensor::of<std::int64_t>({1}, one), b = Tensor::of<std::int64_t>({1}, two);
  CHECK_FALSE(replay::compareBits(a, b)->ulp);
  CHECK(replay::compareBits(a, b)->maxAbs == 1);
}
