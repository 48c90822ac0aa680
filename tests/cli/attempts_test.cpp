// The folders of a program that is started again: the same names and ids as in
// dump/python/msdbg/_attempts.py, whose test (tests/python/test_attempts.py) has the same numbers.
#include "app/cli/attempts.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "dump/run_info.h"
#include "tests/support/temp_dir.h"

namespace msdbg::test {

namespace {

const std::string kId = "0123456789abcdef0123456789abffff";

void makeRun(const std::filesystem::path& folder, const std::string& id) {
  std::filesystem::create_directories(folder);
  dump::RunInfo info;
  info.id = id;
  REQUIRE(dump::writeRunInfo(folder, info).ok());
}

}  // namespace

TEST_CASE("An attempt has a folder beside the first and an id that follows from it") {
  CHECK(app::attemptFolder("/tmp/night.msdbg", 1) == "/tmp/night.msdbg");
  CHECK(app::attemptFolder("/tmp/night.msdbg", 2) == "/tmp/night-attempt2.msdbg");
  CHECK(app::attemptId(kId, 2) == "0123456789abcdef0123456789ab0000");
  CHECK(app::attemptId("", 2).empty());  // before format 1.1
}

TEST_CASE("The next attempt is the next folder that belongs to the run") {
  const TempDir dir;
  const std::filesystem::path first = dir.path() / "night.msdbg";
  makeRun(first, kId);
  CHECK_FALSE(app::nextAttempt(first, kId, 1));
  makeRun(app::attemptFolder(first, 2), std::string(32, 'f'));
  CHECK_FALSE(app::nextAttempt(first, kId, 1));
  makeRun(app::attemptFolder(first, 3), app::attemptId(kId, 3));
  const auto next = app::nextAttempt(first, kId, 1);
  REQUIRE(next);
  CHECK(next->number == 3);
  CHECK(next->run == dir.path() / "night-attempt3.msdbg");
  CHECK_FALSE(app::nextAttempt(first, kId, 3));
}

}  // namespace msdbg::test
