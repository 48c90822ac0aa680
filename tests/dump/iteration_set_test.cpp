#include "core_engine/base/iteration_set.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>

#include "dump/reader/iteration_map.h"

using namespace msdbg;
using namespace msdbg::dump;

TEST_CASE("A set of iterations has the numbers that were added, in whatever order") {
  std::mt19937 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    core::IterationSet set;
    std::set<std::int64_t> expected;
    for (int i = 0; i < 30; ++i) {
      const std::int64_t first = random() % 60, last = first + random() % 4;
      set.add(core::IterationSet::Range{first, last});
      for (std::int64_t number = first; number <= last; ++number) expected.insert(number);
    }
    const std::vector<std::int64_t> numbers(expected.begin(), expected.end());
    REQUIRE(set.numbers() == numbers);
    REQUIRE(set.size() == numbers.size());
    REQUIRE(set.text() == core::formatRanges(numbers));
    REQUIRE(set == core::IterationSet(numbers));
    REQUIRE(core::IterationSet::parse(set.text(), 100) == set);
    for (std::int64_t number = -1; number < 70; ++number)
      REQUIRE(set.contains(number) == expected.contains(number));
  }
}

TEST_CASE("A set of iterations contains another when it has all of its numbers") {
  const core::IterationSet set{1, 2, 3, 7, 8};
  CHECK(set.contains(core::IterationSet{}));
  CHECK(set.contains(core::IterationSet{2, 3, 7}));
  CHECK_FALSE(set.contains(core::IterationSet{3, 4}));
  CHECK_FALSE(set.contains(core::IterationSet{3, 7, 9}));
  CHECK_FALSE(core::IterationSet{}.contains(set));
}

TEST_CASE("A text of iterations without end, without sense or of too many is none") {
  for (const char* text :
       {"", "-", "3-", "x", "1,,2", "5-3", "-1", "1--2", "0-9223372036854775807", "0-10"}) {
    CAPTURE(text);
    CHECK_FALSE(core::IterationSet::parse(text, 10));
  }
  CHECK(core::IterationSet::parse("0-9", 10)->size() == 10);
  CHECK(core::IterationSet::parse(" 3 - 4 , 1", 10) == core::IterationSet{1, 3, 4});
  CHECK_FALSE(core::IterationSet::parse("0-5,10-15", 10));
}

TEST_CASE("A million iterations in a row are one range") {
  const auto set = core::IterationSet::parse("0-1048574", 1 << 20);
  REQUIRE(set);
  CHECK(set->ranges().size() == 1);
  CHECK(set->size() == 1048575);
}

TEST_CASE("Of segments that have the same iteration the one that came last counts") {
  std::mt19937 random(2);
  for (int trial = 0; trial < 300; ++trial) {
    IterationMap map;
    std::map<std::int64_t, std::size_t> expected;
    for (std::size_t segment = 0; segment < 20; ++segment) {
      const std::int64_t first = random() % 60, last = first + random() % 12;
      map.assign({first, last}, segment);
      for (std::int64_t i = first; i <= last; ++i) expected[i] = segment;
    }
    for (std::int64_t i = -1; i < 80; ++i) {
      const auto at = expected.find(i);
      REQUIRE(map.find(i) == (at == expected.end() ? std::nullopt : std::optional(at->second)));
    }
    std::size_t listed = 0;
    for (const auto& [first, part] : map.parts()) listed += static_cast<std::size_t>(part.last - first) + 1;
    REQUIRE(listed == expected.size());
  }
}
