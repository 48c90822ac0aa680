#include <catch2/catch.hpp>
#include <fstream>

#include "replay/run.h"
#include "tests/support/temp_dir.h"

using namespace msdbg;
namespace fs = std::filesystem;

namespace {

void makeRun(const fs::path& run, int ageInMinutes) {
  fs::create_directories(run);
  std::ofstream(run / "run.json") << "{}";
  fs::last_write_time(run / "run.json",
                      fs::file_time_type::clock::now() - std::chrono::minutes(ageInMinutes));
}

}  // namespace

TEST_CASE("The newest run is the one whose run.json was written last") {
  const test::TempDir folder;
  makeRun(folder / "z.msdbg", 10);
  makeRun(folder / "a.msdbg", 1);
  makeRun(folder / "m.msdbg", 5);
  makeRun(folder / "newer_but_no_run", 0);
  std::ofstream(folder / "file.msdbg") << "no folder";
  const auto newest = replay::Run::newest(folder.path());
  REQUIRE(newest.ok());
  CHECK(newest->filename() == "a.msdbg");
}

TEST_CASE("Where there is no run the message says where it looked") {
  const test::TempDir folder;
  const auto none = replay::Run::newest(folder.path());
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code() == core::ErrorCode::kMissing);
  CHECK(none.error().message().find(folder.path().string()) != std::string::npos);
  CHECK(replay::Run::newest(folder / "absent").error().code() == core::ErrorCode::kMissing);
}

TEST_CASE("A folder that is no run cannot be opened") {
  const test::TempDir folder;
  CHECK_FALSE(replay::Run::open(folder.path()).ok());
}
