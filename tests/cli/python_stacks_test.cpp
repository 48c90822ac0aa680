// Answers of ranks to `msdbg stacks`, which may be anybody's text. What writes them:
// tests/python/test_stacks.py.
#include "app/cli/python_stacks.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/support/temp_dir.h"

namespace msdbg::test {
namespace {

using namespace std::chrono_literals;

void writeText(const std::filesystem::path& file, const std::string& text) { std::ofstream(file) << text; }
std::string readText(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::string answer(std::int64_t request, const std::string& threads) {
  return R"({"schema": "msdbg.stacks/1", "request": )" + std::to_string(request) +
         R"(, "pid": 4711, "iteration": 12, "threads": )" + threads + "}";
}

const char* kWaiting = R"json([{"name": "MainThread", "frames": [
  {"file": "/lib/torch/c10d.py", "line": 7, "function": "wait", "code": "work.wait()", "own": false},
  {"file": "/home/me/train.py", "line": 52, "function": "step", "code": "dist.barrier()", "own": true},
  {"file": "/home/me/train.py", "line": 90, "function": "<module>", "code": "step()", "own": true}]}])json";

}  // namespace

TEST_CASE("Ranks that answered are told by their innermost own line", "[stacks]") {
  const TempDir run;
  const std::int64_t request = app::askForStacks(run.path()).orThrow();
  CHECK(readText(run / "stacks/wanted") == std::to_string(request));
  writeText(run / "stacks/rank_10.json", answer(request, kWaiting));
  writeText(run / "stacks/rank_2.json", answer(request, "[]"));
  writeText(run / "stacks/rank_3.json", answer(request - 1, kWaiting));  // to an older one
  const auto found = app::answeredStacks(run.path(), request);
  REQUIRE(found.size() == 2);
  CHECK((found[0].rank == 2 && found[1].rank == 10));
  CHECK(found[0].place().empty());
  CHECK(found[1].place() == "train.py:52 in step: dist.barrier()");
  CHECK((found[1].pid == 4711 && found[1].iteration == 12 && found[1].threads[0].frames.size() == 3));
}

TEST_CASE("What is no answer is left out", "[stacks]") {
  const TempDir run;
  const std::int64_t request = app::askForStacks(run.path()).orThrow();
  const std::string texts[] = {"",
                               "{",
                               "[]",
                               "7",
                               answer(request, "7"),
                               answer(request, R"([7, {"frames": 7}])"),
                               answer(request, R"([{"name": 7, "frames": [{"line": "x", "own": 1}]}])"),
                               std::string(5 << 20, ' ')};
  for (const std::string& text : texts) {
    writeText(run / "stacks/rank_0.json", text);
    writeText(run / "stacks/rank_-1.json", answer(request, kWaiting));
    writeText(run / "stacks/rank_1.json.4711.tmp", answer(request, kWaiting));
    const auto found = app::answeredStacks(run.path(), request);
    for (const app::RankStacks& rank : found)
      CHECK((rank.rank == 0 && rank.place().find("train.py") == text.npos));
  }
}

TEST_CASE("Ranks are waited for until they answered, or no longer than is given", "[stacks]") {
  const TempDir run;
  CHECK(app::stacksOf(run.path(), 1, 10ms).orThrow().empty());
  std::thread rank([&] {
    std::this_thread::sleep_for(100ms);
    const std::int64_t request = std::stoll(readText(run / "stacks/wanted"));
    writeText(run / "answer", answer(request, kWaiting));
    std::filesystem::rename(run / "answer", run / "stacks/rank_0.json");  // whole, as ranks do it
  });
  const auto found = app::stacksOf(run.path(), 1, 30s);
  rank.join();
  CHECK(found->size() == 1);
  CHECK_FALSE(app::askForStacks(run / "nothing").ok());
}

}  // namespace msdbg::test
