// What the fuzzers found worth keeping, and what ever broke something, is read again by every build.
#include <catch2/catch.hpp>

#include "tests/dump/recorded_run.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/support/run_command.h"

using namespace msdbg;
namespace fs = std::filesystem;

TEST_CASE("Every input of the fuzzers' corpus is read without a crash and keeps the promises") {
  for (const fuzz::Target& target : fuzz::kTargets) {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(test::sourceDir() / "tests/fuzz/corpus" / target.name)) {
      CAPTURE(entry.path().string());
      const std::string input = test::readText(entry.path());
      target.run(std::as_bytes(std::span(input.data(), input.size())));
      ++count;
    }
    CAPTURE(target.name);
    CHECK(count >= 5);
  }
}

TEST_CASE("The segments that are the fuzzer's seeds are opened, not refused") {
  for (const char* name : {"worked", "full", "record"}) {
    CAPTURE(name);
    const std::string seed = test::readText(test::sourceDir() / "tests/fuzz/corpus/segment" / name);
    CHECK(fuzz::readSegment(std::as_bytes(std::span(seed.data(), seed.size()))));
  }
}
