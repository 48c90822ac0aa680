#include "dump/writer/retention.h"

#include <catch2/catch.hpp>
#include <map>
#include <numeric>

#include "dump/writer/merge_plan.h"

using namespace msdbg::dump;

namespace {

constexpr std::uint64_t kMiB = 1u << 20;

KeptSegment segment(std::int64_t number, std::int64_t iterations = 1, std::uint64_t bytes = 1000) {
  return {.segment = number,
          .first = number * iterations,
          .last = (number + 1) * iterations - 1,
          .iterations = iterations,
          .bytes = bytes,
          .values = true};
}

std::vector<std::int64_t> withValues(const Retention& retention) {
  std::vector<std::int64_t> numbers;
  for (const KeptSegment& kept : retention.segments())
    if (kept.values) numbers.push_back(kept.segment);
  return numbers;
}

// Does what SegmentStore does: a statistics-only copy takes the place of the segment.
void dropAll(Retention& retention, std::uint64_t incoming = 0) {
  while (const auto number = retention.nextDrop(incoming)) {
    KeptSegment copy = *std::ranges::find(retention.segments(), *number, &KeptSegment::segment);
    copy.values = false;
    copy.dropped = true;
    copy.bytes = copy.bytes / 10;
    retention.replace({{*number}}, copy);
  }
}

struct Merges {
  std::uint64_t bytes = 0;  // written by merging
  std::size_t count = 0;
};

void mergeAll(Retention& retention, std::int64_t& nextNumber, Merges& merges) {
  for (auto plan = retention.nextMerge(); !plan.empty(); plan = retention.nextMerge()) {
    REQUIRE(plan.size() >= 2);
    const auto& all = retention.segments();
    const auto first = std::ranges::find(all, plan.front(), &KeptSegment::segment);
    REQUIRE(all.end() - first >= static_cast<std::ptrdiff_t>(plan.size()));
    KeptSegment merged = *first;
    merged.segment = nextNumber++;
    for (std::size_t i = 1; i < plan.size(); ++i) {
      const KeptSegment& next = first[static_cast<std::ptrdiff_t>(i)];
      REQUIRE(next.segment == plan[i]);  // neighbours, oldest first
      REQUIRE(next.graph == merged.graph);
      REQUIRE(next.dropped == merged.dropped);
      merged.last = next.last;
      merged.iterations += next.iterations;
      merged.bytes += next.bytes;
      merged.values = merged.values || next.values;
      merged.level = std::max(merged.level, next.level);
    }
    ++merged.level;
    merges.bytes += merged.bytes;
    ++merges.count;
    retention.replace(plan, merged);
  }
}

// What a rule says of single iterations, asked of several.
std::function<Keep(std::int64_t, std::int64_t)> mostOf(std::function<Keep(std::int64_t)> rule) {
  return [rule](std::int64_t first, std::int64_t last) {
    Keep most = Keep::kNo;
    for (std::int64_t i = first; i <= last; ++i) most = std::max(most, rule(i));
    return most;
  };
}

}  // namespace

TEST_CASE("Values of the oldest segments go when the budget would be exceeded, no sooner") {
  Retention retention({.maxBytes = 3500, .keep = {}});
  for (std::int64_t i = 0; i < 3; ++i) retention.add(segment(i));
  CHECK_FALSE(retention.nextDrop(500));
  CHECK(retention.nextDrop(501) == 0);
  dropAll(retention, 1000);
  CHECK(withValues(retention) == std::vector<std::int64_t>{1, 2});
  CHECK(retention.bytes() == 2100);
}

TEST_CASE("What cannot go any further is not asked for: statistics stay for ever") {
  Retention retention({.maxBytes = 10, .keep = {}});
  retention.add(segment(0));
  dropAll(retention, 1000000);
  CHECK(retention.segments().size() == 1);
  CHECK(retention.bytes() == 100);
}

TEST_CASE("Values keep a quarter of the budget when the statistics of a long run have used it up") {
  Retention retention({.maxBytes = 8000, .keep = {}});
  for (std::int64_t i = 0; i < 1000; ++i) {
    dropAll(retention, 1000);
    retention.add(segment(i));
    dropAll(retention);
  }
  CHECK(retention.bytes() > 8000);
  CHECK(withValues(retention) == std::vector<std::int64_t>{998, 999});
}

TEST_CASE("--keep-last keeps at least so many iterations, and a segment goes when all of its are older") {
  Retention retention({.keepLast = 10, .keep = {}});
  for (std::int64_t i = 0; i < 5; ++i) retention.add(segment(i, 4));
  dropAll(retention);
  CHECK(withValues(retention) == std::vector<std::int64_t>{2, 3, 4});  // 12 iterations; 8 would be too few
  retention.add(segment(5, 2));
  dropAll(retention);
  CHECK(withValues(retention) == std::vector<std::int64_t>{3, 4, 5});
}

TEST_CASE("A full disk takes the oldest values although the budget is not used up") {
  Retention retention({.keep = {}});
  retention.add(segment(0));
  retention.add(segment(1));
  CHECK_FALSE(retention.nextDrop(1000));
  CHECK(retention.nextDrop(1000, true) == 0);
}

TEST_CASE("What matters most outlives older and newer values, and its neighbours go after the rest") {
  const auto keep = mostOf([](std::int64_t i) {
    return i == 4 ? Keep::kLast : i == 3 || i == 5 ? Keep::kLate : Keep::kYes;
  });
  const auto leftOf = [&](std::uint64_t budget) {
    Retention retention({.maxBytes = budget, .keep = keep});
    for (std::int64_t i = 0; i < 12; ++i) {
      dropAll(retention, 1000);
      retention.add(segment(i));
      dropAll(retention);
    }
    return withValues(retention);
  };
  CHECK(leftOf(6000) == std::vector<std::int64_t>{3, 4, 5, 10, 11});
  CHECK(leftOf(5000) == std::vector<std::int64_t>{3, 4, 5, 11});
  CHECK(leftOf(3000) == std::vector<std::int64_t>{4, 11});
  CHECK(leftOf(1500) == std::vector<std::int64_t>{4});
  Retention full({.keep = keep});
  full.add(segment(4));
  CHECK(full.nextDrop(0, true) == 4);  // a full disk spares nothing
}

TEST_CASE("A keep rule holds values while it is undecided, and for ever after it says yes") {
  std::map<std::int64_t, Keep> said;
  const auto rule = mostOf([&](std::int64_t i) { return said.contains(i) ? said[i] : Keep::kUndecided; });
  Retention retention({.keep = rule});
  for (std::int64_t i = 0; i < 6; ++i) retention.add(segment(i, 2));
  dropAll(retention);
  CHECK(withValues(retention).size() == 6);
  CHECK(retention.nextMerge().empty());  // nothing is decided
  for (std::int64_t i = 0; i < 10; ++i) said[i] = Keep::kNo;
  said[5] = Keep::kYes;
  dropAll(retention);
  CHECK(withValues(retention) == std::vector<std::int64_t>{2, 5});
}

TEST_CASE("A week of commits, one a second, leaves some dozens of files and writes each byte a few times") {
  constexpr std::int64_t kWeek = 7 * 24 * 3600;
  Retention retention({.keep = {}});
  Merges merges;
  std::int64_t next = kWeek;
  std::size_t most = 0;
  for (std::int64_t i = 0; i < kWeek; ++i) {
    KeptSegment fresh = segment(i, 1, 200);
    fresh.values = false;
    retention.add(fresh);
    mergeAll(retention, next, merges);
    most = std::max(most, retention.segments().size());
  }
  CHECK(most <= 60);
  CHECK(merges.bytes <= 7ull * 200 * kWeek);  // levels: log 8 of the week
  std::int64_t iterations = 0;
  for (const KeptSegment& kept : retention.segments()) {
    CHECK(kept.first == iterations);
    iterations = kept.last + 1;
  }
  CHECK(iterations == kWeek);
}

TEST_CASE("Merged files stay small enough to be read into memory, and then they rest") {
  Retention retention({.keep = {}});
  Merges merges;
  std::int64_t next = 10000;
  for (std::int64_t i = 0; i < 500; ++i) {
    KeptSegment fresh = segment(i, 1, 5 * kMiB);
    fresh.values = false;
    retention.add(fresh);
    mergeAll(retention, next, merges);
  }
  for (const KeptSegment& kept : retention.segments()) CHECK(kept.bytes <= kLargestMerge);
  CHECK(retention.segments().size() <= 500 * 5 * 2 / 64 + 8);  // half full at least
  CHECK(merges.bytes <= 2ull * 500 * 5 * kMiB);
}

TEST_CASE("Files with values are merged to a small part of the budget and of --keep-last only") {
  Retention budget({.maxBytes = 160 * kMiB, .keep = {}});
  Merges merges;
  std::int64_t next = 10000;
  for (std::int64_t i = 0; i < 100; ++i) budget.add(segment(i, 1, kMiB));
  mergeAll(budget, next, merges);
  CHECK(merges.count > 0);
  for (const KeptSegment& kept : budget.segments()) CHECK(kept.bytes <= 10 * kMiB);
  Retention last({.keepLast = 80, .keep = {}});
  for (std::int64_t i = 0; i < 100; ++i) last.add(segment(i));
  dropAll(last);
  mergeAll(last, next, merges);
  for (const KeptSegment& kept : last.segments())
    if (kept.values) CHECK(kept.iterations <= 10);
  CHECK(last.segments().size() < 50);
}

TEST_CASE("What differs stays apart: graph versions, dropped values, shapes that do not fit") {
  Retention retention({.keep = {}});
  for (std::int64_t i = 0; i < 8; ++i) {
    KeptSegment one = segment(i);
    one.graph = i < 4 ? 0 : 1;
    retention.add(one);
  }
  CHECK(retention.nextMerge().empty());
  for (std::int64_t i = 8; i < 12; ++i) {
    KeptSegment one = segment(i);
    one.graph = 1;
    retention.add(one);
  }
  const auto plan = retention.nextMerge();
  CHECK(plan == std::vector<std::int64_t>{4, 5, 6, 7, 8, 9, 10, 11});
  retention.cannotMerge(plan);
  CHECK(retention.nextMerge().empty());
}

TEST_CASE("Another checkpoint is wanted where there is none, and before the only one goes") {
  const auto recorded = [](std::int64_t number, bool checkpoint) {
    KeptSegment one = segment(number);
    one.values = false;
    one.replayBytes = 900;
    one.batches = {number};
    one.batchBytes = checkpoint ? 100 : 900;
    if (checkpoint) one.checkpoints = {number}, one.stateBytes = 800;
    return one;
  };
  Retention retention({.maxBytes = 10'000, .keep = {}});
  CHECK(retention.wantsCheckpoint());  // there is none
  retention.add(recorded(0, true));
  CHECK_FALSE(retention.wantsCheckpoint());
  retention.add(recorded(1, false));
  retention.add(recorded(2, false));
  CHECK_FALSE(retention.wantsCheckpoint());
  for (std::int64_t i = 3; i < 5; ++i) retention.add(recorded(i, false));
  CHECK(retention.wantsCheckpoint());  // the batches since then are more than a quarter of the room
  retention.add(recorded(5, true));
  CHECK_FALSE(retention.wantsCheckpoint());
  Retention large({.maxBytes = 10'000, .keep = {}});
  KeptSegment first = recorded(0, true);
  first.bytes = 6000, first.replayBytes = first.stateBytes = 5900;  // more would not make the way shorter
  large.add(first);
  for (std::int64_t i = 1; i < 2; ++i) large.add(recorded(i, false));
  CHECK_FALSE(large.wantsCheckpoint());
  large.add(recorded(2, false));
  CHECK(large.wantsCheckpoint());  // three more segments do not fit
}
