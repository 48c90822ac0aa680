// Merging of small segments: the answers are the same before and after, whatever moment a crash picks.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <set>

#include "dump/journal.h"
#include "dump/writer/background_merge.h"
#include "tests/dump/patched_run.h"
#include "tests/dump/recorded_run.h"
#include "tests/support/sampling.h"

using namespace msdbg;
namespace fs = std::filesystem;

namespace {

const core::Rank kRank0{0};

core::Iteration at(std::int64_t iteration) { return core::Iteration(iteration); }

fs::path rankFolder(const fs::path& run) { return run / "rank_0"; }

std::set<std::string> segmentFiles(const fs::path& run) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(rankFolder(run)))
    if (const std::string name = entry.path().filename();
        name != "journal" && name != "status" && name != "run.json" && !name.starts_with('.'))
      names.insert(name);
  return names;
}

std::size_t filesIn(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

// Everything a reader can be asked about an iteration, as text: values, hashes, all columns, scalars.
std::string answers(dump::RunReader& reader) {
  std::string text;
  for (const auto& state : reader.iterations(kRank0)) {
    text += "iteration " + std::to_string(state.iteration) + (state.complete ? "\n" : " incomplete\n");
    for (const std::string& name : reader.scalarNames())
      if (const auto value = reader.scalar(kRank0, at(state.iteration), name))
        text += name + " " + std::to_string(*value) + "\n";
    for (const auto& tensor : reader.graph().tensors()) {
      text += tensor.fullName() + (reader.stored(kRank0, at(state.iteration), tensor.id) ? " stored " : " ");
      const auto value = reader.tensor(kRank0, at(state.iteration), tensor.id);
      text += value.ok() ? core::hashTensor(*value).text() : value.error().message();
      const auto row = reader.statistics(kRank0, at(state.iteration), tensor.id);
      text += row.ok() ? " " + row->values.hash.text() + std::to_string(row->values.mean) +
                             std::to_string(row->values.zero) + std::to_string(row->change.has_value())
                       : row.error().message();
      text += "\n";
    }
  }
  return text;
}

std::string answersOf(const fs::path& run) { return answers(*test::openRun(run)); }

// The merge of the run's first `count` segments, ready to be listed.
dump::SegmentLine merge(const fs::path& run, std::int64_t count, std::int64_t number) {
  std::vector<std::int64_t> old(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) old[static_cast<std::size_t>(i)] = i;
  dump::BackgroundMerge job(rankFolder(run), 0, number, old);
  while (true) {
    const auto done = job.step();
    if (!done.ok()) throw std::runtime_error(done.error().message());
    if (*done) return job.line();
  }
}

// A recorder that never has a quiet moment merges in what it steals from commits: many segments are needed.
void recordSegments(const fs::path& run, const core::Graph& graph, std::int64_t iterations,
                    const dump::RecordOptions& options = {}) {
  test::record(run, graph, options, {.iterations = iterations, .commitEach = true});
}

// What iterations can be computed again from, as text.
std::string startsOf(const fs::path& run) {
  const auto reader = test::openRun(run);
  std::string text = std::to_string(reader->storage().stateBytes) + " and " +
                     std::to_string(reader->storage().batchBytes) + " bytes\n";
  const auto add = [&](const std::string& name, const core::Tensor& value) {
    text += name + " " + core::hashTensor(value).text() + "\n";
  };
  for (const std::int64_t i : reader->checkpoints(kRank0))
    for (const auto& [name, value] : reader->checkpoint(kRank0, at(i)).orThrow().tensors)
      add(std::to_string(i) + " " + name, value);
  for (const std::int64_t i : reader->batches(kRank0))
    for (const auto& [name, value] : reader->batch(kRank0, at(i)).orThrow().tensors)
      add("batch " + std::to_string(i) + " " + name, value);
  return text;
}

// Puts a line before the journal's last one (the rank's end).
void insertLine(const fs::path& run, const std::string& line) {
  const fs::path file = rankFolder(run) / "journal";
  std::string text = test::readText(file);
  text.insert(text.rfind("{\"end\""), line);
  test::writeText(file, text);
  test::patchJournal(rankFolder(run), [](auto&) {});  // the end follows another line now
}

}  // namespace

TEST_CASE("Answers are the same before and after a merge: values, hashes, columns, scalars") {
  const test::TempDir folder;
  const fs::path run = folder / "run";
  for (const bool large : {false, true}) {
    fs::remove_all(run);
    recordSegments(run, test::smallGraph(large), 6);
    REQUIRE(segmentFiles(run).size() == 6);
    const std::string before = answersOf(run);
    auto opened = test::openRun(run);  // by someone who looks at the run already
    const dump::SegmentLine line = merge(run, 5, 77);
    CHECK(line.iterations == std::vector<std::int64_t>{0, 1, 2, 3, 4});
    CHECK(line.replaces.size() == 5);
    insertLine(run, dump::formatSegment(line) + "\n");
    for (std::int64_t i = 0; i < 5; ++i) fs::remove(rankFolder(run) / dump::segmentFileName(i));
    CHECK(answersOf(run) == before);
    CHECK(answers(*opened) == before);
    CHECK(opened->damage().empty());
    auto reader = test::openRun(run);
    CHECK(reader->verify({}, {}).empty());
    CHECK(reader->storage().segments == 2);
    CHECK(test::firstDifference(*reader, 0, 3) == "");
  }
}

TEST_CASE("Checkpoints and batches go with their iterations into the merged segment") {
  const test::TempDir folder;
  const fs::path run = folder / "run";
  dump::RecordOptions options;
  options.policy = dump::Policy::kRecord;
  options.checkpointEvery = 2;
  recordSegments(run, test::smallGraph(), 6, options);
  const std::string before = startsOf(run);
  const dump::SegmentLine line = merge(run, 5, 77);
  CHECK(line.checkpoints == std::vector<std::int64_t>{0, 2, 4});
  CHECK(line.batches == std::vector<std::int64_t>{0, 1, 2, 3, 4});
  insertLine(run, dump::formatSegment(line) + "\n");
  for (std::int64_t i = 0; i < 5; ++i) fs::remove(rankFolder(run) / dump::segmentFileName(i));
  CHECK(startsOf(run) == before);
  const auto reader = test::openRun(run);
  CHECK(reader->recomputable() == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5});
  CHECK(reader->verify({}, {}).empty());
}

TEST_CASE("Merged bytes: large rows are copied as they are, small ones share fuller chunks") {
  const test::TempDir folder;
  recordSegments(folder / "run", test::smallGraph(true), 4);
  const dump::Journal before = dump::parseJournal(test::readText(rankFolder(folder / "run") / "journal"));
  const dump::SegmentLine line = merge(folder / "run", 4, 4);
  std::uint64_t bytes = 0, raw = 0, stored = 0;
  for (const dump::SegmentLine& old : before.segments)
    bytes += old.bytes, raw += old.rawBytes, stored += old.storedBytes;
  CHECK(line.rawBytes == raw);
  CHECK(line.storedBytes <= stored + 4096);
  CHECK(line.bytes < bytes);
  CHECK(line.tensors == before.segments[0].tensors);
}

TEST_CASE("Whatever moment of a merge a crash picks, nothing is lost and nothing is there twice") {
  const test::TempDir folder;
  const fs::path run = folder / "run";
  recordSegments(run, test::smallGraph(), 4);
  const std::string expected = answersOf(run);
  const auto check = [&](const std::string& when) {
    INFO(when);
    auto reader = test::openRun(run);
    CHECK(answers(*reader) == expected);
    CHECK(reader->damage().empty());
  };
  const dump::SegmentLine line = merge(run, 3, 9);
  const fs::path file = rankFolder(run) / line.file, temporary = rankFolder(run) / ("." + line.file + ".tmp");
  const std::string bytes = test::readText(file), journal = test::readText(rankFolder(run) / "journal");
  // The file grows under its temporary name.
  fs::remove(file);
  for (const std::size_t length : {std::size_t{0}, bytes.size() / 2, bytes.size()}) {
    test::writeText(temporary, bytes.substr(0, length));
    check("temporary file of " + std::to_string(length));
  }
  fs::rename(temporary, file);
  check("renamed");
  // The line is written; the rank has no end yet.
  const std::string open = journal.substr(0, journal.rfind("{\"end\""));
  const std::string text = dump::formatSegment(line) + "\n";
  for (std::size_t length = 0; length <= text.size(); length += 7) {
    test::writeText(rankFolder(run) / "journal", open + text.substr(0, length));
    check("line of " + std::to_string(length));
  }
  test::writeText(rankFolder(run) / "journal", open + text);
  check("listed");
  for (std::int64_t i = 0; i < 3; ++i) {
    fs::remove(rankFolder(run) / dump::segmentFileName(i));
    check("removed " + std::to_string(i));
  }
  // And should the line be lost later, the file is found again.
  test::writeText(rankFolder(run) / "journal", open);
  auto reader = test::openRun(run);
  CHECK(reader->iterations(kRank0).size() == 4);
}

TEST_CASE("A merge that is given up leaves nothing behind") {
  const test::TempDir folder;
  const fs::path run = folder / "run";
  recordSegments(run, test::smallGraph(), 3);
  const std::set<std::string> before = segmentFiles(run);
  for (int steps = 1; steps < 60; steps += 7) {
    dump::BackgroundMerge job(rankFolder(run), 0, 9, {0, 1, 2});
    bool done = false;
    for (int i = 0; i < steps && !done; ++i) done = *job.step();
    if (done) fs::remove(rankFolder(run) / job.line().file);
  }
  CHECK(segmentFiles(run) == before);
}

TEST_CASE("Damaged and unfit segments are not merged: the damage stays where it is") {
  const test::TempDir folder;
  const fs::path run = folder / "run";
  recordSegments(run, test::smallGraph(true), 3);
  const fs::path file = rankFolder(run) / dump::segmentFileName(1);
  std::string bytes = test::readText(file);
  // A byte in the middle of the largest tensor.
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  test::writeText(file, bytes);
  CHECK_THROWS_WITH(merge(run, 3, 9), Catch::Contains("does not match its hash"));
  fs::remove(file);
  CHECK_THROWS_WITH(merge(run, 3, 9), Catch::Contains("missing"));
  CHECK_FALSE(fs::exists(rankFolder(run) / dump::segmentFileName(9)));
}

TEST_CASE("A changed shape keeps segments apart, and recording goes on") {
  const test::TempDir folder;
  const fs::path run = folder / "run";
  core::Graph graph("network");
  core::TensorInfo tensor;
  tensor.name = "network/x";
  tensor.shape = {-1, 3};
  graph.addSource(tensor);
  test::writeInfo(run);
  auto recorder = *dump::Recorder::create({run, kRank0, 1, 1}, {});
  recorder->graphReady(graph);
  for (std::int64_t i = 0; i < 40; ++i) {
    recorder->iterationStarted(at(i));
    recorder->tensorReady(
        {at(i), core::TensorId(0), core::Tensor::zeros(core::DType::Float32, {i % 2 + 1, 3})});
    recorder->iterationFinished(at(i), {});
    const std::uint64_t before = recorder->bytesWritten();
    recorder->requestCommit();
    REQUIRE(test::waitUntil([&] { return recorder->bytesWritten() > before; }));
  }
  REQUIRE(recorder->finish({.state = "finished"}).ok());
  auto reader = test::openRun(run);
  for (std::int64_t i = 0; i < 40; ++i)
    CHECK(reader->tensor(kRank0, at(i), core::TensorId(0))->shape() == core::Shape{i % 2 + 1, 3});
  CHECK(reader->verify({}, {}).empty());
}

TEST_CASE("Small segments are merged in quiet moments while training goes on, also under a reader's eyes") {
  const test::TempDir folder;
  const fs::path run = folder / "run";
  const core::Graph graph = test::smallGraph();
  test::writeInfo(run);
  auto recorder = *dump::Recorder::create({run, kRank0, 1, 1}, {});
  recorder->graphReady(graph);
  std::unique_ptr<dump::RunReader> early;
  for (std::int64_t i = 0; i < 9; ++i) {
    test::feed(*recorder, graph, i);
    const std::uint64_t before = recorder->bytesWritten();
    recorder->requestCommit();
    REQUIRE(test::waitUntil([&] { return recorder->bytesWritten() > before; }));
    if (i == 5) early = test::openRun(run);
  }
  CHECK(test::waitUntil([&] { return segmentFiles(run).size() == 2; }));  // one of 8, one of 1
  for (std::int64_t i = 0; i < 6; ++i) CHECK(test::firstDifference(*early, 0, i) == "");
  CHECK(early->damage().empty());
  test::feed(*recorder, graph, 9);
  REQUIRE(recorder->finish({.state = "finished"}).ok());
  auto reader = test::openRun(run);
  for (std::int64_t i = 0; i < 10; ++i) CHECK(test::firstDifference(*reader, 0, i) == "");
  CHECK(reader->verify({}, {}).empty());
}

TEST_CASE("Values that go while their segment is being merged go for good, statistics stay") {
  const test::TempDir folder;
  const fs::path run = folder / "run";
  const core::Graph graph = test::smallGraph();
  dump::RecordOptions options;
  options.keepLast = 20;
  recordSegments(run, graph, 120, options);
  auto reader = test::openRun(run);
  REQUIRE(reader->iterations(kRank0).size() == 120);
  const auto x = graph.tensors()[0];
  for (std::int64_t i = 0; i < 120; ++i) {
    CHECK(reader->statistics(kRank0, at(i), x.id)->values.hash == core::hashTensor(test::valueOf(x, i)));
    if (i >= 100) CHECK(test::firstDifference(*reader, 0, i) == "");
    if (i < 90) CHECK_FALSE(reader->stored(kRank0, at(i), x.id));
  }
  CHECK(reader->verify({}, {}).empty());
  CHECK(segmentFiles(run).size() < 120);
}

// One hour, and all ten by `./dev test all`.
TEST_CASE("Hours of a commit a second leave at most 300 files", "[slow]") {
  const test::TempDir folder;
  core::Graph graph("network");  // the recorder, not the disk, is what is tested: one small tensor
  core::TensorInfo tensor;
  tensor.name = "network/x";
  tensor.shape = {4};
  graph.addSource(tensor);
  const fs::path memory = "/dev/shm";
  const fs::path run =
      fs::exists(memory) ? memory / ("msdbg-hours-" + std::to_string(getpid())) : folder / "run";
  const std::int64_t seconds = test::testAll() ? 36000 : 3600;
  std::size_t most = 0;
  test::writeInfo(run);
  auto recorder = *dump::Recorder::create({run, kRank0, 1, 1}, {});
  recorder->graphReady(graph);
  for (std::int64_t i = 0; i < seconds; ++i) {
    test::feed(*recorder, graph, i);
    const std::uint64_t before = recorder->bytesWritten();
    recorder->requestCommit();
    REQUIRE(test::waitUntil([&] { return recorder->bytesWritten() > before; }));
    if (i % 100 == 0) most = std::max(most, filesIn(rankFolder(run)));
  }
  REQUIRE(recorder->finish({.state = "finished"}).ok());
  CHECK(most <= 300);
  CHECK(filesIn(rankFolder(run)) <= 300);
  const std::uint64_t journal = fs::file_size(rankFolder(run) / "journal");
  CHECK(journal < 20u << 20);
  WARN("files at most " << most << ", at the end " << filesIn(rankFolder(run)) << "; journal " << journal
                        << " bytes");
  auto reader = test::openRun(run);
  CHECK(reader->iterations(kRank0).size() == static_cast<std::size_t>(seconds));
  CHECK(reader->verify({}, {}).empty());
  for (std::int64_t i = 0; i < seconds; i += 997) CHECK(test::firstDifference(*reader, 0, i) == "");
  reader.reset();
  fs::remove_all(run);
}
