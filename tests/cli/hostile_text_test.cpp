// Texts that somebody else wrote, on their way to a terminal and to a shell: shown, and never obeyed.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <functional>

#include "dump/journal.h"
#include "tests/cli/recorded_run.h"

namespace msdbg::test {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

// Sets the window's title, clears the screen and forges a line; "\u009b" is ESC [ in one character.
const std::string kHostile = "evil\x1b]0;owned\x07\x1b[2J\nrun      forged\r\u009b31m\x7f";
const std::string kShown = R"(evil\x1b]0;owned\x07\x1b[2J\nrun      forged\r\u009b31m\x7f)";

void patchInfo(const fs::path& run, const std::function<void(Json&)>& patch) {
  std::ifstream in(run / "run.json", std::ios::binary);
  Json json = Json::parse(in);
  in.close();
  patch(json);
  json.erase("check");
  std::ofstream(run / "run.json", std::ios::binary) << dump::withCheck(json.dump(2)) << "\n";
}

std::int64_t linesOf(const std::string& text) { return std::ranges::count(text, '\n'); }

void checkHarmless(const std::string& text) {
  CAPTURE(text);
  CHECK(std::ranges::none_of(text, [](char c) { return (c >= 0 && c < ' ' && c != '\n') || c == '\x7f'; }));
  CHECK(text.find("\u009b") == std::string::npos);
  CHECK(text.find("\nrun      forged") == std::string::npos);
}

std::string errorOf(const fs::path& run, const std::string& info) {
  std::ofstream(run / "run.json", std::ios::binary) << info;
  const RunResult result = msdbg({"info", run.string()});
  CHECK(result.exitStatus == 1);
  CHECK(linesOf(result.err) == 1);
  checkHarmless(result.err);
  CHECK_THAT(result.err, !Catch::Contains("json.exception"));
  return result.err;
}

}  // namespace

TEST_CASE("What run.json says cannot reach the terminal as more than text", "[cli]") {
  const TempDir folder;
  const fs::path run = copyOf(cleanRun(), folder);
  for (const char* rank : {"rank_0", "rank_1"}) fs::remove(run / rank / "run.json");  // the copies
  const RunResult before = msdbg({"info", run.string()});
  patchInfo(run, [](Json& json) {
    json["host"] = kHostile;
    json["command"] = Json::array({"msdbg", kHostile});
    json["faults"] = Json::array({kHostile});
    json["end"]["state"] = "failed";
    json["end"]["message"] = kHostile;
  });
  const RunResult info = msdbg({"info", run.string()});
  CHECK(linesOf(info.out) == linesOf(before.out));
  CHECK_THAT(info.out, Catch::Contains("failed: " + kShown) && Catch::Contains("msdbg '" + kShown + "'") &&
                           Catch::Contains("where    " + kShown) && Catch::Contains("faults: " + kShown));
  checkHarmless(info.out);
  const RunResult check = msdbg({"check", run.string()});
  CHECK_THAT(check.out, Catch::Contains("detail   evil\\x1b]0;owned\\x07\\x1b[2J"));
  CHECK_THAT(check.out, Catch::Contains("(run failed)"));
  checkHarmless(check.out);
  CHECK(msdbgJson({"info", run.string()})["host"] == kHostile);  // JSON keeps it, escaped
  checkHarmless(msdbg({"info", run.string(), "--json"}).out);
}

TEST_CASE("An error shows what it quotes, whatever that is", "[cli]") {
  cleanRun();
  const RunResult error = msdbg({"show", "clean.msdbg", "--tensor", "no\x1b[2J\xff ü"});
  CHECK(error.exitStatus == 2);
  CHECK_THAT(error.err, Catch::Contains(R"(no\x1b[2J\xff ü)"));
  checkHarmless(error.err);
  const RunResult missing = msdbg({"info", "no\x1b[2J.msdbg"});
  CHECK_THAT(missing.err, Catch::Contains(R"(no\x1b[2J.msdbg)"));
  checkHarmless(missing.err);
}

TEST_CASE("A broken run.json is told with its place, in plain words, and what to do", "[cli]") {
  const TempDir folder;
  const std::string kAdvice = "; restore the file from a copy of the run\n";
  const auto says = [&](const std::string& info, const std::string& what) {
    CHECK_THAT(errorOf(folder.path(), info),
               Catch::Contains("/run.json: not the JSON that was expected: " + what + kAdvice));
  };
  says("", "line 1, column 1: the text ends too early");
  says("{\n  \"format\": [1, 0],\n  \"host\": \"a", "line 3, column 13: the text ends too early");
  says("{\n  \"format\" [1, 0]\n}\n", "line 2, column 12: '[' is not expected here");
  says("{\"host\":\n\x1b}", "line 2, column 1: '\\x1b' is not expected here");
  says("{\"host\":\n \"\xff\"}", "line 2, column 3: this is no UTF-8 text");
  says(R"({"format":[1,0],"host":7})", "host: type must be string, but is number");
  says(R"({"host":"a"})", "key 'format' not found");
}

TEST_CASE("Commands that are printed can be pasted into a shell", "[cli]") {
  const TempDir folder;
  const std::string run = folder / "it's ü x.msdbg";
  const RunResult dump =
      msdbg({"dump", "mlp", "--steps", "1", "--batch", "4", "--record", "grad(*)=full", "-o", run});
  INFO(dump.out << dump.err);
  REQUIRE(dump.exitStatus == 0);
  const std::string start = "\n  msdbg info ";
  REQUIRE(dump.out.find(start) != std::string::npos);
  const std::string typed = dump.out.substr(dump.out.find(start) + start.size());
  const std::string program = "'" + (buildDir() / "bin" / "msdbg").string() + "'";
  const RunResult pasted = runCommand({"bash", "-c", program + " info " + typed.substr(0, typed.find('\n'))});
  INFO(pasted.err);
  CHECK(pasted.exitStatus == 0);
  CHECK_THAT(pasted.out, Catch::StartsWith("run      " + run + "   finished"));
  CHECK_THAT(pasted.out, Catch::Contains(" --record 'grad(*)=full' -o '"));
}

TEST_CASE("merge tells one missing rank from several", "[cli]") {
  const TempDir folder;
  const fs::path run = copyOf(cleanRun(), folder);
  for (const char* rank : {"rank_0", "rank_1"}) fs::remove(run / rank / "run.json");  // the copies
  fs::remove_all(run / "rank_1");
  const RunResult one = msdbg({"merge", run.string(), "-o", folder / "one.msdbg"});
  CHECK_THAT(one.err, Catch::Contains("one.msdbg: rank 1 is missing: no folder has it\n"));
  patchInfo(run, [](Json& json) { json["ranks"] = 4; });
  const RunResult several = msdbg({"merge", run.string(), "-o", folder / "several.msdbg"});
  CHECK_THAT(several.err, Catch::Contains("several.msdbg: ranks 1-3 are missing: no folder has them\n"));
}

}  // namespace msdbg::test
