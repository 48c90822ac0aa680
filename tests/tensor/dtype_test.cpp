#include "core_engine/tensor/dtype.h"

#include <array>
#include <catch2/catch.hpp>
#include <type_traits>

using namespace msdbg::core;

namespace {
constexpr std::array kAll = {DType::Float32, DType::Float64, DType::Int64,
                             DType::Int32,   DType::UInt8,   DType::Bool};
}

TEST_CASE("Every dtype's name leads back to it, and its size is that of its C++ type") {
  for (const DType dtype : kAll) {
    CHECK(dtypeFromName(dtypeName(dtype)) == dtype);
    CHECK(visitDType(dtype, [](auto type) { return sizeof type; }) == dtypeSize(dtype));
    CHECK(visitDType(dtype, [](auto type) { return kDTypeOf<decltype(type)>; }) == dtype);
  }
  CHECK(dtypeName(DType::Float32) == "float32");
  CHECK_FALSE(dtypeFromName("float16").has_value());
}

TEST_CASE("Only float32 and float64 are floating") {
  int floating = 0;
  for (const DType dtype : kAll) floating += isFloating(dtype);
  CHECK(floating == 2);
  CHECK(visitFloating(DType::Float64, [](auto t) { return std::is_same_v<decltype(t), double>; }));
  CHECK(visitFloating(DType::Float32, [](auto t) { return std::is_same_v<decltype(t), float>; }));
}
