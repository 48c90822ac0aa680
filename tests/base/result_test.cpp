#include "core_engine/base/result.h"

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <unordered_set>

#include "core_engine/base/cancel.h"
#include "core_engine/base/ids.h"

using namespace msdbg::core;

namespace {

Result<int> half(int value) {
  if (value % 2) return Error(ErrorCode::kUsage, std::to_string(value) + " is odd");
  return value / 2;
}
Status even(int value) {
  MSDBG_TRY(half(value));
  return Ok{};
}
Result<int> quarter(int value) {
  MSDBG_ASSIGN(const int first, half(value));
  MSDBG_ASSIGN(const int second, half(first));
  return second;
}
Result<std::unique_ptr<int>> box(int value) { return std::make_unique<int>(value); }

}  // namespace

TEST_CASE("A Result holds a value or the error, and the macros pass the error on") {
  CHECK(quarter(12).value() == 3);
  CHECK(quarter(6).error().message() == "3 is odd");
  CHECK(quarter(7).error().code() == ErrorCode::kUsage);
  CHECK(even(4).ok());
  CHECK(even(5).error().message() == "5 is odd");
}

TEST_CASE("A Result gives away a value that can only be moved") {
  std::unique_ptr<int> value = box(7).value();
  CHECK(*value == 7);
}

TEST_CASE("Error::in puts the place in front and keeps the code") {
  const Error error = Error(ErrorCode::kDamaged, "hash differs").in("segment_000003.h5").in("rank_0");
  CHECK(error.message() == "rank_0: segment_000003.h5: hash differs");
  CHECK(error.code() == ErrorCode::kDamaged);
}

TEST_CASE("Ids of different kinds are different types, and a default id is invalid") {
  static_assert(!std::is_convertible_v<NodeId, TensorId> && !std::is_convertible_v<int, NodeId>);
  CHECK_FALSE(NodeId().valid());
  CHECK(NodeId(0).valid());
  CHECK(NodeId(2) < NodeId(3));
  CHECK(std::unordered_set<NodeId>{NodeId(1), NodeId(1), NodeId(2)}.size() == 2);
}

TEST_CASE("Copies of a CancelToken share one flag") {
  CancelToken token, other;
  const CancelToken copy = token;
  CHECK_FALSE(copy.cancelled());
  token.cancel();
  CHECK(copy.cancelled());
  CHECK_FALSE(other.cancelled());
}
