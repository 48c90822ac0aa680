// Damaged, truncated, foreign and half-written runs: every one costs only what it must, and verify finds all
// of it.
#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "dump/journal.h"
#include "tests/dump/recorded_run.h"
#include "tests/support/sampling.h"

using namespace msdbg;
using test::openRun;
using test::readText;
using test::writeText;
namespace fs = std::filesystem;

namespace {

const core::Rank kRank0{0};

// Three segments of one iteration each, with a source file; copied for every case.
class Sample {
 public:
  Sample() {
    writeText(m_folder / "train.cpp", "int main() {\n  relu(x);\n}\n");
    test::record(original(), test::smallGraph(false, (m_folder / "train.cpp").string()), {},
                 {.iterations = 3, .commitEach = true});
  }
  fs::path original() const { return m_folder / "original"; }
  fs::path copy() const {
    fs::remove_all(m_folder / "run");
    fs::copy(original(), m_folder / "run", fs::copy_options::recursive);
    return m_folder / "run";
  }

 private:
  test::TempDir m_folder;
};

core::Error errorOf(const fs::path& run) {
  const auto reader = dump::RunReader::open(run);
  return reader.ok() ? core::Error(core::ErrorCode::kInternal, "opened") : reader.error();
}

std::vector<fs::path> filesOf(const fs::path& run) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(run)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Reads everything that can be asked for; wrong numbers are what must never come out.
void readEverything(dump::RunReader& reader) {
  for (const auto& state : reader.iterations(kRank0)) {
    const core::Iteration iteration(state.iteration);
    for (const auto& tensor : reader.graph().tensors()) {
      const auto value = reader.tensor(kRank0, iteration, tensor.id);
      if (value.ok())
        CHECK(core::hashTensor(*value) == core::hashTensor(test::valueOf(tensor, state.iteration)));
      const auto row = reader.statistics(kRank0, iteration, tensor.id);
      if (row.ok()) CHECK(row->values.hash == core::hashTensor(test::valueOf(tensor, state.iteration)));
      (void)reader.stored(kRank0, iteration, tensor.id);
    }
    const auto loss = reader.scalar(kRank0, iteration, "loss");
    if (loss) CHECK(*loss == 2.5 / static_cast<double>(state.iteration + 1));
  }
}

// True: the damage was noticed. The run either cannot be opened (one line says why) or verify lists it.
bool noticed(const fs::path& run) {
  const auto reader = dump::RunReader::open(run);
  if (!reader.ok()) return reader.error().message().find('\n') == std::string::npos;
  readEverything(**reader);
  return !(*reader)->verify({}, {}).empty();
}

}  // namespace

TEST_CASE("Folders that are no runs are refused with one clear line") {
  const test::TempDir folder;
  CHECK(errorOf(folder / "nowhere").code() == core::ErrorCode::kMissing);
  CHECK(errorOf(folder.path()).code() == core::ErrorCode::kDamaged);
  CHECK_THAT(errorOf(folder.path()).message(), Catch::Contains("no run.json"));
  writeText(folder / "photo.jpg", "hello");
  CHECK_THAT(errorOf(folder.path()).message(), Catch::Contains("no run.json"));
  CHECK_THAT(errorOf(folder / "photo.jpg").message(), Catch::Contains("not a folder"));
  writeText(folder / "run.json", "");
  CHECK(errorOf(folder.path()).code() == core::ErrorCode::kDamaged);
  writeText(folder / "run.json", "{\"name\": \"some other tool's\"}");
  CHECK(errorOf(folder.path()).code() == core::ErrorCode::kDamaged);
  test::writeInfo(folder.path());
  CHECK_THAT(errorOf(folder.path()).message(), Catch::Contains("no graph: "));
  writeText(folder / "graph_0000.pb", "garbage");
  CHECK(errorOf(folder.path()).code() == core::ErrorCode::kDamaged);
}

TEST_CASE("A newer major version is refused, a newer minor one is read") {
  const Sample sample;
  const fs::path run = sample.copy();
  dump::RunInfo info = *dump::readRunInfo(run);
  info.formatMinor = 9;
  REQUIRE(dump::writeRunInfo(run, info).ok());
  CHECK(test::firstDifference(*openRun(run), 0, 2) == "");
  info.formatMajor = 2;
  REQUIRE(dump::writeRunInfo(run, info).ok());
  CHECK(errorOf(run).code() == core::ErrorCode::kUnsupported);
}

TEST_CASE("A missing, empty or truncated segment costs its own iterations only") {
  const Sample sample;
  const std::string segment = readText(sample.original() / "rank_0/segment_000001.h5");
  for (std::size_t length = 0; length < segment.size(); length += 1 + segment.size() / 60) {
    const fs::path run = sample.copy();
    writeText(run / "rank_0/segment_000001.h5", segment.substr(0, length));
    auto reader = openRun(run);
    REQUIRE(reader->damage().size() == 1);
    CHECK(reader->damage()[0].where == "rank_0/segment_000001.h5");
    CHECK(reader->damage()[0].iterations == std::vector<std::int64_t>{1});
    CHECK(test::firstDifference(*reader, 0, 0) == "");
    CHECK(test::firstDifference(*reader, 0, 2) == "");
    CHECK(reader->tensor(kRank0, core::Iteration(1), core::TensorId(0)).error().code() ==
          core::ErrorCode::kDamaged);
    CHECK(reader->statistics(kRank0, core::Iteration(1), core::TensorId(0)).error().code() ==
          core::ErrorCode::kDamaged);
  }
  const fs::path run = sample.copy();
  fs::remove(run / "rank_0/segment_000001.h5");
  auto reader = openRun(run);
  CHECK_THAT(reader->tensor(kRank0, core::Iteration(1), core::TensorId(0)).error().message(),
             Catch::Contains("missing"));
  CHECK(test::firstDifference(*reader, 0, 2) == "");
  CHECK(reader->damage().size() == 1);
}

TEST_CASE("A truncated segment that no journal lists is listed as damage, and the others are read") {
  const Sample sample;
  const std::string segment = readText(sample.original() / "rank_0/segment_000002.h5");
  for (std::size_t length = 0; length < segment.size(); length += 1 + segment.size() / 40) {
    const fs::path run = sample.copy();
    fs::remove(run / "rank_0/journal");
    writeText(run / "rank_0/segment_000002.h5", segment.substr(0, length));
    auto reader = openRun(run);
    CHECK(reader->damage().size() == 2);
    CHECK(test::firstDifference(*reader, 0, 0) == "");
    CHECK(test::firstDifference(*reader, 0, 1) == "");
  }
}

// Thirty bytes of them, the first and the last among these; every one by `./dev test all`.
TEST_CASE("A journal torn at any byte of its last lines loses no iteration") {
  const Sample sample;
  const std::string journal = readText(sample.original() / "rank_0/journal");
  const std::size_t end = journal.rfind('\n', journal.size() - 2);
  const std::size_t last = journal.rfind('\n', end - 1) + 1;  // where the line of the last segment starts
  std::mt19937_64 random(test::drawnSeed("torn journal"));
  std::set<std::size_t> lengths = {last, last + 1, end, end + 1, end + 2, journal.size() - 1};
  while (lengths.size() < 30) lengths.insert(last + random() % (journal.size() - last));
  if (test::testAll())
    for (std::size_t length = last; length < journal.size(); ++length) lengths.insert(length);
  for (const std::size_t length : lengths) {
    CAPTURE(length);
    const fs::path run = sample.copy();
    writeText(run / "rank_0/journal", journal.substr(0, length));
    auto reader = openRun(run);
    CHECK(reader->iterations(kRank0).size() == 3);
    CHECK(reader->damage().empty());
    CHECK(test::firstDifference(*reader, 0, 2) == "");
    CHECK_FALSE(reader->verify({}, {}).empty());
  }
}

TEST_CASE("Files of a commit that was interrupted are ignored") {
  const Sample sample;
  const fs::path run = sample.copy();
  writeText(run / "rank_0/.segment_000003.h5.tmp",
            readText(run / "rank_0/segment_000002.h5").substr(0, 1000));
  writeText(run / ".run.json.tmp", "{");
  // A statistics-only copy that did not get its journal line: the listed original counts.
  fs::copy(run / "rank_0/segment_000001.h5", run / "rank_0/segment_000009.h5");
  auto reader = openRun(run);
  CHECK(reader->iterations(kRank0).size() == 3);
  CHECK(test::firstDifference(*reader, 0, 1) == "");
  CHECK(reader->verify({}, {}).empty());
}

TEST_CASE("A rank without a folder is listed, the others are read") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  for (const std::int64_t rank : {0, 1})
    test::record(folder / "run", graph, {}, {.iterations = 2, .rank = rank, .ranks = 2});
  fs::remove_all(folder / "run/rank_1");
  auto reader = openRun(folder / "run");
  REQUIRE(reader->damage().size() == 1);
  CHECK(reader->damage()[0].where == "rank_1");
  CHECK(test::firstDifference(*reader, 0, 1) == "");
}

TEST_CASE("Every flipped bit is found by verify, and no wrong number is ever read", "[slow]") {
  const Sample sample;
  REQUIRE(openRun(sample.original())->verify({}, {}).empty());
  std::mt19937_64 random(20);
  for (const fs::path& original : filesOf(sample.original())) {
    const fs::path relative = fs::relative(original, sample.original());
    const std::string text = readText(original);
    for (int i = 0; i < 60; ++i) {
      const fs::path run = sample.copy();
      const std::size_t bit = random() % (text.size() * 8);
      CAPTURE(relative, bit);
      std::string changed = text;
      changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
      writeText(run / relative, changed);
      CHECK(noticed(run));
    }
  }
}

TEST_CASE("Truncation of any file, and overwriting a part of it with noise, is found by verify", "[slow]") {
  const Sample sample;
  std::mt19937_64 random(21);
  for (const fs::path& original : filesOf(sample.original())) {
    const fs::path relative = fs::relative(original, sample.original());
    const std::string text = readText(original);
    for (int i = 0; i < 20; ++i) {
      const fs::path run = sample.copy();
      const std::size_t at = random() % text.size();
      std::string changed = text;
      if (i % 2 == 0) changed.resize(at);
      for (std::size_t b = at; i % 2 != 0 && b < std::min(text.size(), at + 64); ++b)
        changed[b] = static_cast<char>(random());
      if (changed == text) continue;
      CAPTURE(relative, at, i);
      writeText(run / relative, changed);
      CHECK(noticed(run));
    }
  }
}

TEST_CASE("Segments without a journal survive every flipped bit without a wrong number", "[slow]") {
  const Sample sample;
  std::mt19937_64 random(22);
  const fs::path segment = "rank_0/segment_000001.h5";
  const std::string text = readText(sample.original() / segment);
  for (int i = 0; i < 200; ++i) {
    const fs::path run = sample.copy();
    fs::remove(run / "rank_0/journal");
    std::string changed = text;
    const std::size_t bit = random() % (text.size() * 8);
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    writeText(run / segment, changed);
    CAPTURE(bit);
    auto reader = openRun(run);
    readEverything(*reader);
    CHECK(test::firstDifference(*reader, 0, 2) == "");
  }
}
