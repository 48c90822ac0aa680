#include "core_engine/base/log.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "core_engine/base/text.h"
#include "tests/support/stderr_of.h"

using namespace msdbg;
using test::stderrOf;

TEST_CASE("Warnings and errors are one line on stderr that names the program") {
  CHECK(stderrOf([] { core::logWarn("disk is nearly full"); }) == "msdbg: warning: disk is nearly full\n");
  CHECK(stderrOf([] { core::logError("a\nb {} %s"); }) == "msdbg: error: a b {} %s\n");
}

TEST_CASE("Information is silent unless it is asked for") {
  if (std::getenv("MSDBG_LOG")) return;
  CHECK(stderrOf([] { core::logInfo("opened"); }).empty());
}

TEST_CASE("Lines of several threads do not mix") {
  const std::string text = stderrOf([] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([] {
        for (int i = 0; i < 100; ++i) core::logWarn(std::string(200, 'x'));
      });
    for (std::thread& thread : threads) thread.join();
  });
  const std::string line = "msdbg: warning: " + std::string(200, 'x');
  const std::vector<std::string> lines = core::split(text, '\n');
  REQUIRE(lines.size() == 401);
  for (std::size_t i = 0; i < 400; ++i) REQUIRE(lines[i] == line);
}
