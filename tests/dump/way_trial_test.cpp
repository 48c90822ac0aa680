// How the way of writing is chosen, with times that are given; and the stream that goes past the page cache.
#include "dump/writer/way_trial.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

#include "dump/writer/row_file.h"
#include "dump/writer/row_path.h"
#include "tests/dump/recorded_run.h"

using namespace msdbg;
using dump::WayTrial;
using dump::WritingWay;
using namespace Catch::Matchers;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr WayTrial::Pace kAtOnce{.before = 0s};
const std::vector<WritingWay> kWays = {{true, false}, {false, false}, {true, true}};

/// What an iteration takes each way; the order of the ways that were used until one stays.
std::vector<std::size_t> waysTried(WayTrial& trial, const std::vector<WayTrial::Clock::duration>& takes,
                                   int iterations) {
  std::vector<std::size_t> order;
  for (int i = 0; i < iterations; ++i) {
    const auto way = static_cast<std::size_t>(std::ranges::find(kWays, trial.way()) - kWays.begin());
    if (order.empty() || order.back() != way) order.push_back(way);
    trial.next(takes[way], true);
  }
  return order;
}

std::string bytesOf(const fs::path& file) { return test::readText(file); }

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> all(bytes);
  for (std::byte& b : all) b = static_cast<std::byte>((seed = seed * 1664525u + 1013904223u) >> 24);
  return all;
}

}  // namespace

TEST_CASE("Every way is tried twice, in turns, and the fastest stays") {
  for (const std::size_t fastest : {0u, 1u, 2u}) {
    WayTrial trial(kWays, kAtOnce);
    trial.next(1s, true);
    CHECK(trial.mayCopy());
    CHECK_THAT(trial.chosen().text(), EndsWith(" (still being tried)"));
    std::vector<WayTrial::Clock::duration> takes(3, 200ms);
    takes[fastest] = 150ms;
    std::vector<std::size_t> expected = {0, 1, 2, 0, 1, 2};
    if (fastest != 2) expected.push_back(fastest);
    CHECK(waysTried(trial, takes, 200) == expected);
    CHECK(trial.way() == kWays[fastest]);
    CHECK(trial.mayCopy() == !kWays[fastest].inTeam);
    CHECK(trial.chosen().text() == kWays[fastest].text() + " (found fastest)");
  }
}

TEST_CASE("The first iterations of a turn and a single disturbance do not decide") {
  WayTrial trial(kWays, {.before = 0s, .iterations = 4, .skipped = 2, .turn = 0s});
  trial.next(1s, true);
  for (int i = 0; i < 24; ++i) {
    const bool first = trial.way() == kWays[0];
    const auto took = i % 4 < 2 ? (first ? 9s : 1s)
                      : i == 3  ? 20s
                      : first   ? 1s
                                : 2s;  // i == 3: way 0, disturbed
    trial.next(took, true);
  }
  CHECK(trial.way() == kWays[0]);
}

TEST_CASE("What stores nothing large is no trial, and a turn lasts until a segment is due") {
  WayTrial trial(kWays, kAtOnce);
  for (int i = 0; i < 100; ++i) trial.next(1s, false);
  CHECK(trial.way() == kWays[0]);
  trial.next(10ms, true);  // the first that does
  for (int i = 0; i < 99; ++i) trial.next(10ms, true);
  CHECK(trial.way() == kWays[0]);
  CHECK(trial.next(10ms, true) == kWays[1]);
}

TEST_CASE("After an hour all ways are tried again: the machine may have changed") {
  WayTrial trial(kWays, kAtOnce);
  waysTried(trial, {300ms, 200ms, 100ms}, 100);
  CHECK(trial.way() == kWays[2]);
  trial.next(1h, true);
  CHECK(trial.way() == kWays[0]);
  CHECK(waysTried(trial, {300ms, 200ms, 400ms}, 100) == std::vector<std::size_t>{0, 1, 2, 0, 1, 2, 1});
}

TEST_CASE("A way that was asked for stays") {
  WayTrial trial({kWays[2]}, {});
  CHECK_FALSE(trial.mayCopy());
  for (int i = 0; i < 100; ++i) CHECK(trial.next(2h, true) == kWays[2]);
  CHECK(trial.chosen().text() == "training's threads, past the page cache");
}

TEST_CASE("A run of less than a minute is written the way that is thought best") {
  WayTrial trial(kWays, {});
  CHECK_FALSE(trial.mayCopy());
  for (int i = 0; i < 599; ++i) CHECK(trial.next(100ms, true) == kWays[0]);
  CHECK(trial.chosen().text() == "training's threads, page cache (others not tried yet)");
  trial.next(100ms, true);
  CHECK(trial.chosen().because == dump::ChosenWay::Because::kTrying);
  CHECK(trial.mayCopy());
}

TEST_CASE("Ways to write have names, which are read back; another is told those there are") {
  for (const char* name : {"auto", "team", "thread", "team-direct", "thread-direct"})
    CHECK(dump::writingWayName(dump::writingWayFromName(name).orThrow()) == name);
  CHECK_FALSE(dump::writingWayFromName("auto").orThrow().has_value());
  const auto mistake = dump::writingWayFromName("direct");
  REQUIRE_FALSE(mistake.ok());
  CHECK_THAT(mistake.error().message(), Contains("'direct'") && Contains("thread-direct"));
}

TEST_CASE("What is tried first depends on the folder and on free cores, unless a way was asked for") {
  CHECK(dump::waysToWrite(kWays[2], 2, 1, "/dev/shm") == std::vector{kWays[2]});
  const std::vector<WritingWay> disk = dump::waysToWrite({}, 1'000'000, 1, "/proc");  // not memory's own
  CHECK(disk.size() == 4);
  CHECK(disk.front() == WritingWay{.inTeam = false, .direct = true});
  if (!fs::exists("/dev/shm")) return;
  CHECK(dump::waysToWrite({}, 1'000'000, 1, "/dev/shm") ==
        std::vector{WritingWay{.inTeam = true}, WritingWay{.inTeam = false}});  // no core is free
  if (std::thread::hardware_concurrency() < 2) return;
  CHECK(dump::waysToWrite({}, 1, 1, "/dev/shm").front() == WritingWay{.inTeam = false});
}

TEST_CASE("Past the page cache a file gets the same bytes, whatever pieces it is written in") {
  const test::TempDir folder;
  std::string expected;
  const auto put = [&](dump::RowFile& file, std::uint64_t at, std::size_t bytes, unsigned seed) {
    const std::vector<std::byte> piece = pattern(bytes, seed);
    REQUIRE(file.write(at, piece).ok());
    if (expected.size() < at + bytes) expected.resize(at + bytes, '\0');
    std::memcpy(&expected[at], piece.data(), bytes);
  };
  dump::SpareFile spare(folder.path());
  const bool again = GENERATE(false, true);  // over what another segment left
  if (again) {
    test::writeText(folder / "old", std::string(30u << 20, 'x'));
    REQUIRE(spare.offer(folder / "old").ok());
  }
  const auto file = dump::RowFile::create(folder.path(), "new", again ? &spare : nullptr).orThrow();
  file->writeDirect(std::make_shared<dump::DirectBuffer>());
  put(*file, 65536, 5, 1);             // less than a unit
  put(*file, 65544, 131072 + 7, 2);    // right behind it, not aligned
  put(*file, 5u << 20, 9'000'001, 3);  // a gap within the buffer, and more than the buffer
  put(*file, 20u << 20, 4096, 4);      // a gap beyond it
  put(*file, (20u << 20) + 4096, 4u << 20, 5);
  std::vector<std::byte> back(4096);
  REQUIRE(file->take());
  REQUIRE(file->read(20u << 20, back).ok());
  CHECK((back == pattern(4096, 4)));
  put(*file, 0, 65536, 6);  // the head, at last
  put(*file, (24u << 20) + 5000, 777, 7);
  REQUIRE(file->extend((24u << 20) + 5777).ok());
  REQUIRE(file->commit(folder / "new").ok());
  expected.resize((24u << 20) + 5777, '\0');
  CHECK((bytesOf(folder / "new") == expected));
}
