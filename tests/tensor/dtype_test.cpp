#include "core_engine/tensor/dtype.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>

using namespace msdbg::core;
using Catch::Matchers::Contains;

TEST_CASE("Every dtype's name and number lead back to it, and its size is that of its C++ type") {
  std::set<std::string_view> names;
  for (const DType dtype : kDTypes) {
    CAPTURE(dtypeName(dtype));
    names.insert(dtypeName(dtype));
    CHECK(dtypeFromName(dtypeName(dtype)) == dtype);
    CHECK(dtypeFromNumber(static_cast<std::int64_t>(dtype)) == dtype);
    CHECK(visitDType(dtype, [](auto type) { return sizeof type; }) == dtypeSize(dtype));
    CHECK(visitDType(dtype, [](auto type) { return kDTypeOf<decltype(type)>; }) == dtype);
  }
  CHECK(names.size() == 19);
  const std::pair<DType, std::size_t> sizes[] = {
      {DType::Bool, 1},       {DType::UInt16, 2}, {DType::Float16, 2},
      {DType::BFloat16, 2},   {DType::Int64, 8},  {DType::Complex64, 8},
      {DType::Float8E5M2, 1}, {DType::UInt32, 4}, {DType::Complex128, 16}};
  for (const auto& [dtype, size] : sizes) CHECK(dtypeSize(dtype) == size);
  CHECK(dtypeName(DType::Float8E4M3FNUZ) == "float8_e4m3fnuz");
}

TEST_CASE("A dtype of a later msdbg has no name, no size and no elements") {
  for (const std::int64_t number : {-1, 0, 20, 1000}) CHECK_FALSE(dtypeFromNumber(number).has_value());
  CHECK_FALSE(dtypeFromName("unsupported").has_value());
  CHECK(dtypeName(DType::Unsupported) == "unsupported");
  CHECK(dtypeSize(DType::Unsupported) == 0);
  CHECK_FALSE(isFloating(DType::Unsupported));
  CHECK_FALSE(isComputed(DType::Unsupported));
  CHECK(mayBeNonFinite(DType::Unsupported));
  CHECK_THROWS_AS(visitDType(DType::Unsupported, [](auto) {}), std::logic_error);
}

TEST_CASE("The engine computes in six dtypes, and says so of any other") {
  CHECK(std::ranges::count_if(kDTypes, isComputed) == 6);
  CHECK(std::ranges::count_if(kDTypes, isComputedFloating) == 2);
  for (const DType dtype : kComputedDTypes)
    CHECK(visitComputed(dtype, [](auto type) { return kDTypeOf<decltype(type)>; }) == dtype);
  for (const DType dtype : kDTypes) {
    if (isComputed(dtype)) continue;
    CHECK_THROWS_WITH(visitComputed(dtype, [](auto) {}),
                      Contains(std::string(dtypeName(dtype))) && Contains("use float32, float64, int64"));
    CHECK_THROWS_AS(visitFloating(dtype, [](auto) {}), std::logic_error);
  }
  CHECK_THROWS_AS(visitFloating(DType::Int32, [](auto) {}), std::logic_error);
  CHECK(visitFloating(DType::Float64, [](auto t) { return std::is_same_v<decltype(t), double>; }));
  CHECK(visitFloating(DType::Float32, [](auto t) { return std::is_same_v<decltype(t), float>; }));
}

TEST_CASE("A dtype is floating, complex, integer or bool, and only the first two may hold NaN") {
  CHECK(std::ranges::count_if(kDTypes, isFloating) == 8);
  CHECK(std::ranges::count_if(kDTypes, isComplex) == 2);
  CHECK(std::ranges::count_if(kDTypes, isInteger) == 8);
  for (const DType dtype : kDTypes) {
    CHECK(isFloating(dtype) + isComplex(dtype) + isInteger(dtype) + (dtype == DType::Bool) == 1);
    CHECK(mayBeNonFinite(dtype) == (isFloating(dtype) || isComplex(dtype)));
  }
}

// Published: IEEE 754, the papers and OCP's "8-bit floating point specification", table 1.
TEST_CASE("The limits of every floating dtype are those of its definition") {
  struct Expected {
    DType dtype;
    double largest, smallestNormal, smallest, epsilon;
  };
  const auto p = [](int exponent) { return std::ldexp(1.0, exponent); };
  const Expected all[] = {{DType::Float32, std::ldexp(2 - p(-23), 127), p(-126), p(-149), p(-23)},
                          {DType::Complex64, std::ldexp(2 - p(-23), 127), p(-126), p(-149), p(-23)},
                          {DType::Float64, std::ldexp(2 - p(-52), 1023), p(-1022), p(-1074), p(-52)},
                          {DType::Complex128, std::ldexp(2 - p(-52), 1023), p(-1022), p(-1074), p(-52)},
                          {DType::Float16, 65504, p(-14), p(-24), p(-10)},
                          {DType::BFloat16, std::ldexp(2 - p(-7), 127), p(-126), p(-133), p(-7)},
                          {DType::Float8E4M3FN, 448, p(-6), p(-9), p(-3)},
                          {DType::Float8E4M3FNUZ, 240, p(-7), p(-10), p(-3)},
                          {DType::Float8E5M2, 57344, p(-14), p(-16), p(-2)},
                          {DType::Float8E5M2FNUZ, 57344, p(-15), p(-17), p(-2)}};
  for (const Expected& e : all) {
    CAPTURE(dtypeName(e.dtype));
    const FloatLimits limits = floatLimits(e.dtype);
    CHECK(limits.largest == e.largest);
    CHECK(limits.smallestNormal == e.smallestNormal);
    CHECK(limits.smallest == e.smallest);
    CHECK(limits.epsilon == e.epsilon);
  }
}
