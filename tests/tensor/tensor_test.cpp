#include "core_engine/tensor/tensor.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

using namespace msdbg::core;
using Catch::Matchers::Contains;

TEST_CASE("A shape knows its size, its strides and its text") {
  const Shape shape{64, 3, 32, 16};
  CHECK(shape.elements() == 98304);
  CHECK(shape.strides() == std::vector<std::int64_t>{1536, 512, 16, 1});
  CHECK(shape.text() == "[64, 3, 32, 16]");
  CHECK(Shape{}.elements() == 1);
  CHECK(Shape{}.text() == "[]");
  CHECK(Shape{4, 0}.elements() == 0);
  CHECK_FALSE((Shape{4, -1}).known());
}

TEST_CASE("A tensor's storage is aligned to 64 bytes, also that of an empty one") {
  for (const std::int64_t n : {0, 1, 3, 1000}) {
    const Tensor tensor(DType::UInt8, Shape{n});
    CHECK(tensor.valid());
    CHECK(tensor.elements() == n);
    CHECK(reinterpret_cast<std::uintptr_t>(tensor.raw()) % 64 == 0);
  }
  CHECK_FALSE(Tensor().valid());
}

TEST_CASE("A copy shares its storage, a clone does not") {
  Tensor tensor = Tensor::zeros(DType::Float32, Shape{2, 3});
  Tensor shared = tensor, view = tensor.reshaped(Shape{6}), cloned = tensor.clone();
  tensor.data<float>()[4] = 5;
  CHECK(shared.at(4) == 5);
  CHECK(view.at(4) == 5);
  CHECK(view.shape() == Shape{6});
  CHECK(cloned.at(4) == 0);
  CHECK_FALSE(Tensor().clone().valid());
}

TEST_CASE("of and scalar take values of every type") {
  CHECK(Tensor::of<std::int64_t>(Shape{2}, std::vector<std::int64_t>{1, INT64_MAX}).data<std::int64_t>()[1] ==
        INT64_MAX);
  CHECK(Tensor::scalar(2.5).dtype() == DType::Float64);
  CHECK(Tensor::scalar(2.5).shape().rank() == 0);
  CHECK(Tensor::scalar(std::uint8_t{7}).at(0) == 7);
}

TEST_CASE("cast converts values, and stays defined where C++ does not") {
  const float values[] = {1.75f, -2.5f, 1e30f, -1e30f, NAN, -0.0f};
  const Tensor x = Tensor::of<float>(Shape{6}, values);
  const Tensor ints = x.cast(DType::Int32);
  const std::int32_t expected[] = {1, -2, INT32_MAX, INT32_MIN, 0, 0};
  for (int i = 0; i < 6; ++i) CHECK(ints.data<std::int32_t>()[i] == expected[i]);
  CHECK(x.cast(DType::Int64).data<std::int64_t>()[2] == INT64_MAX);
  CHECK(x.cast(DType::UInt8).at(1) == 0);
  const Tensor bools = x.cast(DType::Bool);
  CHECK(bools.at(0) == 1);
  CHECK(bools.at(4) == 1);  // NaN is not 0
  CHECK(bools.at(5) == 0);
  CHECK(x.cast(DType::Float64).cast(DType::Float32).at(2) == x.at(2));
}

TEST_CASE("Any dtype becomes any other where the number is one of both, but a complex number stays complex") {
  for (const DType from : kDTypes)
    for (const DType to : kDTypes) {
      CAPTURE(dtypeName(from), dtypeName(to));
      const double values[] = {0, 1, 1};
      const Tensor x = Tensor::of<double>(Shape{3}, values).cast(from);
      REQUIRE(x.dtype() == from);
      if (isComplex(from) && !isComplex(to)) {
        CHECK_THROWS_WITH(x.cast(to), Contains(std::string(dtypeName(from)) + "[3] cannot become"));
        continue;
      }
      const Tensor y = x.cast(to);
      REQUIRE(y.dtype() == to);
      CHECK(y.bytes() == 3 * dtypeSize(to));
      for (int i = 0; i < 3; ++i) CHECK(y.at(i) == values[i]);
    }
}

TEST_CASE(
    "cast of the smaller and larger integers and floats keeps what fits and says what does not by its ends") {
  const float values[] = {-1.5f, 300, NAN, 1e30f};
  const Tensor x = Tensor::of<float>(Shape{4}, values);
  const auto at = [&](DType dtype, int i) { return x.cast(dtype).at(i); };
  CHECK(at(DType::Int8, 0) == -1);
  CHECK(at(DType::Int8, 1) == 127);
  CHECK(at(DType::UInt16, 0) == 0);
  CHECK(at(DType::UInt32, 3) == 4'294'967'295.0);
  CHECK(x.cast(DType::UInt64).data<std::uint64_t>()[3] == UINT64_MAX);
  CHECK(at(DType::Int16, 2) == 0);
  CHECK(at(DType::Float16, 1) == 300);
  CHECK(std::isinf(at(DType::Float16, 3)));
  CHECK(std::isnan(at(DType::Float8E4M3FN, 3)));
  CHECK(x.cast(DType::BFloat16).cast(DType::Float32).at(0) == -1.5);
  const Tensor wide = Tensor::scalar(UINT64_MAX);
  CHECK(wide.cast(DType::Int64).data<std::int64_t>()[0] == -1);  // integers wrap around
  const Tensor z = Tensor::scalar(Complex128{3, -4});
  CHECK(z.at(0) == 5);
  CHECK(z.cast(DType::Complex64).complexAt(0).imag == -4);
  CHECK(x.cast(DType::Complex64).complexAt(1).real == 300);
}

TEST_CASE("A stored boolean that is neither 0 nor 1 reads as true") {
  Tensor tensor = Tensor::zeros(DType::Bool, Shape{2});
  tensor.byteSpan()[1] = std::byte{0x40};
  CHECK(tensor.at(0) == 0);
  CHECK(tensor.at(1) == 1);
  CHECK(tensor.cast(DType::Int32).at(1) == 1);
}

TEST_CASE("Elements asked for as another type, or given in another number, are refused with both") {
  Tensor tensor = Tensor::zeros(DType::Float32, Shape{4});
  CHECK_THROWS_AS(tensor.data<double>(), std::logic_error);
  CHECK_THROWS_WITH(tensor.data<std::int64_t>(), Contains("float32[4]") && Contains("int64"));
  CHECK_THROWS_WITH(std::as_const(tensor).data<bool>(), Contains("bool"));
  CHECK(tensor.data<float>().size() == 4);
  CHECK(Tensor().data<double>().empty());  // there is nothing to mistake
  const std::vector<float> ten(10, 1);
  CHECK_THROWS_AS(Tensor::of<float>({4}, ten), std::logic_error);
  CHECK_THROWS_WITH(Tensor::of<float>({4}, ten), Contains("10 values for float32[4], which has 4"));
}

TEST_CASE("A tensor that no memory holds is refused with its type and bytes") {
  const Shape beyond{std::int64_t{1} << 24, std::int64_t{1} << 23};  // more than an address space
  CHECK_THROWS_AS(Tensor(DType::Float32, beyond), OutOfMemory);
  CHECK_THROWS_WITH(Tensor(DType::Float32, beyond),
                    Contains("no memory for float32[16777216, 8388608], 563 TB"));
}
