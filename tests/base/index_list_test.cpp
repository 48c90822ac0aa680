#include <catch2/catch.hpp>

#include "core_engine/base/text.h"

using namespace msdbg::core;

TEST_CASE("IndexList reads numbers, ranges and an open end, both ends included") {
  const IndexList list = IndexList::parse("0,2-4,100-").value();
  for (const std::int64_t in : {0, 2, 3, 4, 100, 101, 1'000'000}) CHECK(list.contains(in));
  for (const std::int64_t out : {-1, 1, 5, 99}) CHECK_FALSE(list.contains(out));
  CHECK(list.text() == "0,2-4,100-");
}

TEST_CASE("IndexList takes any order and overlaps, and writes the set in its shortest form") {
  CHECK(IndexList::parse("7,3-5,4-6,1").value().text() == "1,3-7");
  CHECK(IndexList::parse("5-,2,3-9").value().text() == "2-");
  CHECK(IndexList::parse(" 1 , 2 - 3 ").value().text() == "1-3");
  CHECK(IndexList::parse("4-4").value().text() == "4");
  CHECK(IndexList::all().text() == "0-");
  CHECK(IndexList::all().contains(IndexList::kOpen));
}

TEST_CASE("IndexList keeps the largest number it can write apart from an open end") {
  const IndexList list = IndexList::parse("9223372036854775806").value();
  CHECK(list.contains(INT64_MAX - 1));
  CHECK(list.text() == "9223372036854775806");
}

TEST_CASE("IndexList names the item that is wrong") {
  for (const auto& [text, item] : {std::pair{"", "''"},
                                   {"1,,2", "''"},
                                   {"a", "'a'"},
                                   {"1-b", "'1-b'"},
                                   {"-5", "'-5'"},
                                   {"4-2", "'4-2'"},
                                   {"1--2", "'1--2'"},
                                   {"1.5", "'1.5'"},
                                   {"+1", "'+1'"},
                                   {"-", "'-'"},
                                   {"99999999999999999999", "'99999999999999999999'"},
                                   {"9223372036854775807", "'9223372036854775807'"},
                                   {"1,2,", "''"},
                                   {"1-2-3", "'1-2-3'"}}) {
    INFO(text);
    const auto result = IndexList::parse(text);
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code() == ErrorCode::kUsage);
    CHECK(result.error().message().find(item) != std::string::npos);
    CHECK(result.error().message().find("0,2-4,100-") != std::string::npos);
  }
}

TEST_CASE("formatRanges joins neighbours") {
  CHECK(formatRanges(std::vector<std::int64_t>{0, 1, 2, 3, 7}) == "0-3,7");
  CHECK(formatRanges(std::vector<std::int64_t>{5, 5, 6}) == "5-6");
  CHECK(formatRanges({}).empty());
}
