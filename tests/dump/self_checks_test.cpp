// What a run says of itself is checked before it is believed: the graph by its hash, run.json by its check
// and its copies, the journal by its chain. A copy that lacks files costs no more than those.
#include <catch2/catch.hpp>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "dump/run_info.h"
#include "tests/dump/patched_run.h"
#include "tests/dump/recorded_run.h"

using namespace msdbg;
using test::openRun;
using test::readText;
using test::writeText;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> damageOf(const fs::path& run) {
  std::vector<std::string> found;
  const auto reader = openRun(run);
  for (const dump::Damage& damage : reader->damage()) found.push_back(damage.where + ": " + damage.what);
  return found;
}

std::vector<std::string> linesOf(const fs::path& file) {
  std::istringstream text(readText(file));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

void writeLines(const fs::path& file, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  writeText(file, text);
}

/// What this process has read so far, from files and caches.
std::uint64_t bytesRead() {
  std::ifstream io("/proc/self/io");
  std::string key;
  std::uint64_t value = 0;
  while (io >> key >> value)
    if (key == "rchar:") return value;
  return 0;
}

}  // namespace

TEST_CASE("A graph with any bit changed is refused, whatever is asked of the run") {
  const test::TempDir folder;
  test::record(folder / "run", test::smallGraph(), {}, {.iterations = 2});
  const fs::path file = test::graphFile(folder / "run");
  const std::string bytes = readText(file);
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 100; ++i) {
    std::string changed = bytes;
    const std::size_t at = random() % changed.size();
    changed[at] = static_cast<char>(changed[at] ^ (1 << random() % 8));
    writeText(file, changed);
    const auto reader = dump::RunReader::open(folder / "run");
    INFO("byte " << at);
    REQUIRE_FALSE(reader.ok());
    const core::ErrorCode code = reader.error().code();  // of the version, too
    CHECK((code == core::ErrorCode::kDamaged || code == core::ErrorCode::kUnsupported));
    CHECK_THAT(reader.error().message(), Catch::Contains(file.filename().string()));
  }
  writeText(file, bytes);
  CHECK(damageOf(folder / "run").empty());
}

TEST_CASE(
    "A run.json that is gone or changed is read from a rank's copy, is said to be, and is written again") {
  const test::TempDir folder;
  const fs::path run = folder / "run", file = run / "run.json";
  test::record(run, test::smallGraph(), {}, {.iterations = 2});
  REQUIRE(dump::writeRunInfo(run, *dump::readRunInfo(run)).ok());  // as who notes the end of the run does
  const std::string text = readText(file);
  REQUIRE(readText(run / "rank_0/run.json") == text);

  fs::remove(file);
  CHECK(damageOf(run) == std::vector<std::string>{"run.json: is missing: the copy in rank_0 is used"});
  std::string changed = text;
  changed[changed.find("\"seed\"") + 8] = '7';
  writeText(file, changed);
  REQUIRE(damageOf(run).size() == 1);
  CHECK_THAT(damageOf(run)[0], Catch::Contains("own check") && Catch::Contains("the copy in rank_0 is used"));
  CHECK(openRun(run)->info().seed == 0);

  REQUIRE(dump::writeRunInfo(run, *dump::readRunInfo(run)).ok());
  CHECK(readText(file) == text);
  CHECK(damageOf(run).empty());

  fs::remove(run / "rank_0/run.json");  // no copy: what can be read is read, and said to be changed
  writeText(file, changed);
  REQUIRE(damageOf(run).size() == 1);
  CHECK_THAT(damageOf(run)[0], Catch::Contains("own check"));
}

TEST_CASE("A line of the journal that was removed, repeated or moved is damage") {
  const test::TempDir folder;
  const fs::path run = folder / "run", file = run / "rank_0/journal";
  test::record(run, test::smallGraph(), {}, {.iterations = 4, .commitEach = true});
  const std::vector<std::string> lines = linesOf(file);
  REQUIRE(lines.size() >= 6);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    INFO("line " << i + 1 << ": " << lines[i]);
    std::vector<std::string> other = lines;
    other.erase(other.begin() + static_cast<std::ptrdiff_t>(i));
    writeLines(file, other);
    const auto removed = openRun(run)->verify({}, {});
    CHECK(std::ranges::any_of(removed, [](const dump::Damage& d) {
      return d.where == "rank_0/journal" &&
             d.what.find("does not follow the line before it") != std::string::npos;
    }));
    other = lines;
    other.insert(other.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
    writeLines(file, other);
    CHECK_FALSE(damageOf(run).empty());
    CHECK(test::firstDifference(*openRun(run), 0, 3) == "");  // counts once
    other = lines;
    std::swap(other[i], other[i + 1]);
    writeLines(file, other);
    CHECK_FALSE(damageOf(run).empty());
  }
  writeLines(file, lines);
  CHECK(damageOf(run).empty());
}

TEST_CASE(
    "Segments that a copy lacks are missed once: the journal is not read again for each of their rows") {
  const test::TempDir folder;
  const fs::path run = folder / "run";
  constexpr std::int64_t kIterations = 200;
  test::record(run, test::smallGraph(), {}, {.iterations = kIterations, .commitEach = true});
  int removed = 0;
  for (const auto& entry : fs::directory_iterator(run / "rank_0"))
    if (entry.path().extension() == ".h5" && removed < 3) fs::remove(entry.path()), ++removed;
  REQUIRE(removed == 3);
  const auto reader = openRun(run);
  const std::size_t listed = reader->damage().size();
  CHECK(listed == 3);
  const core::TensorId weight(0);
  std::set<std::int64_t> lost;
  for (const dump::Damage& damage : reader->damage())
    lost.insert(damage.iterations.begin(), damage.iterations.end());
  REQUIRE_FALSE(lost.empty());
  const std::uint64_t before = bytesRead();
  for (int round = 0; round < 50; ++round)
    for (const std::int64_t iteration : lost)
      CHECK(reader->row(core::Rank(0), core::Iteration(iteration), weight).damaged);
  CHECK(bytesRead() - before < 2 * fs::file_size(run / "rank_0/journal"));
}
