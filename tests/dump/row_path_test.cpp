// The ways a value takes to its segment: through memory, or straight to the file by training's own threads;
// through the page cache or past it.
#include <hdf5.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <fstream>

#include "dump/journal.h"
#include "dump/writer/row_file.h"
#include "tests/dump/recorded_run.h"

using namespace msdbg;
using dump::WritingWay;
using test::openRun;
namespace fs = std::filesystem;

namespace {

const core::Rank kRank0{0};
constexpr std::int64_t kElements = 300'000;  // 1.2 MB: a row with chunks of its own, its last block not whole

constexpr WritingWay kTeam{.inTeam = true};
constexpr WritingWay kEveryWay[] = {kTeam, {}, {.inTeam = true, .direct = true}, {.direct = true}};

core::Tensor noise(std::int64_t seed) {
  std::vector<float> values(kElements);
  std::uint64_t state = static_cast<std::uint64_t>(seed) * 7919 + 1;
  for (float& v : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = static_cast<float>(static_cast<double>(state >> 11) * 0x1p-53 - 0.5);
  }
  return core::Tensor::of<float>(core::Shape{kElements}, values);
}

core::Graph graphOf(std::initializer_list<const char*> names) {
  core::Graph graph("network");
  for (const char* name : names) {
    core::TensorInfo info;
    info.name = name;
    info.shape = {kElements};
    info.role = core::TensorRole::kConstant;
    graph.addSource(info);
  }
  return graph;
}

dump::RecordOptions written(WritingWay way) {
  dump::RecordOptions options;
  options.write = way;
  return options;
}

std::unique_ptr<dump::Recorder> startRecorder(const fs::path& run, const core::Graph& graph, WritingWay way,
                                              dump::RecordOptions options = {}) {
  options.write = way;
  test::writeInfo(run);
  auto recorder = dump::Recorder::create({.run = run, .rank = kRank0, .threads = 2}, options).orThrow();
  recorder->graphReady(graph);
  return recorder;
}

fs::path onlySegment(const fs::path& run) {
  const auto journal = dump::parseJournal(test::readText(run / "rank_0/journal"));
  REQUIRE(journal.segments.size() == 1);
  return run / "rank_0" / journal.segments[0].file;
}

std::uint64_t onDisk(const fs::path& file) {
  struct stat status = {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

void checkValue(dump::RunReader& reader, std::int64_t iteration, core::TensorId tensor,
                const core::Tensor& expected) {
  const auto value = reader.tensor(kRank0, core::Iteration(iteration), tensor);
  REQUIRE(value.ok());
  CHECK(core::hashTensor(*value) == core::hashTensor(expected));
}

std::vector<std::string> temporaries(const fs::path& run) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(run / "rank_0"))
    if (entry.path().filename().string().starts_with(".")) names.push_back(entry.path().filename());
  return names;
}

}  // namespace

TEST_CASE("All ways record the same: every dtype, small, large and compressed tensors") {
  const core::Graph graph = test::smallGraph(true);
  for (const WritingWay way : kEveryWay) {
    const test::TempDir folder;
    test::record(folder / "run", graph, written(way), {.iterations = 4});
    CHECK(temporaries(folder / "run").empty());
    auto reader = openRun(folder / "run");
    for (std::int64_t i = 0; i < 4; ++i) CHECK(test::firstDifference(*reader, 0, i) == "");
    CHECK(reader->storage().storedBytes < reader->storage().rawBytes);
    CHECK(reader->verify({}, {}).empty());
  }
}

TEST_CASE("A row of several chunks, the last filled up, goes all ways") {
  core::Graph graph("network");
  core::TensorInfo huge;
  huge.name = "network/huge";
  huge.shape = {3, 1001, 1500};
  huge.role = core::TensorRole::kConstant;
  graph.addSource(huge);
  for (const WritingWay way : kEveryWay) {
    const test::TempDir folder;
    test::record(folder / "run", graph, written(way), {.iterations = 2});
    auto reader = openRun(folder / "run");
    for (std::int64_t i = 0; i < 2; ++i) CHECK(test::firstDifference(*reader, 0, i) == "");
    CHECK(reader->verify({}, {}).empty());
  }
}

TEST_CASE("A run whose way of writing changes all the time is as any other") {
  const core::Graph graph = test::smallGraph(true);
  const test::TempDir folder;
  const dump::WayTrial::Pace pace{.before = {}, .iterations = 1, .skipped = 0, .turn = {}, .valid = {}};
  test::record(folder / "run", graph, {}, {.iterations = 40, .pace = pace});
  CHECK(temporaries(folder / "run").empty());
  auto reader = openRun(folder / "run");
  for (std::int64_t i = 0; i < 40; ++i) CHECK(test::firstDifference(*reader, 0, i) == "");
  CHECK(reader->verify({}, {}).empty());
  CHECK(dump::parseJournal(test::readText(folder / "run/rank_0/journal")).segments.size() > 5);
}

TEST_CASE("Nothing is compressed when that is not wanted") {
  for (const WritingWay way : kEveryWay) {
    const test::TempDir folder;
    dump::RecordOptions options;
    options.compress = false;
    options.write = way;
    test::record(folder / "run", test::smallGraph(true), options, {.iterations = 2});
    CHECK(test::firstDifference(*openRun(folder / "run"), 0, 1) == "");
    const hid_t file = H5Fopen(onlySegment(folder / "run").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, "/tensor/network/Sparse-op1:0", H5P_DEFAULT);
    const hid_t properties = H5Dget_create_plist(dataset);
    CHECK(H5Pget_nfilters(properties) == 0);
    H5Pclose(properties);
    H5Dclose(dataset);
    H5Fclose(file);
  }
}

TEST_CASE("Equal values of one segment are stored once, and read as often as they were recorded") {
  const core::Graph graph = graphOf({"network/a", "network/b", "network/c"});
  const core::Tensor same = noise(1);
  for (const WritingWay way : kEveryWay) {
    const test::TempDir folder;
    auto recorder = startRecorder(folder / "run", graph, way);
    for (std::int64_t i = 0; i < 3; ++i) {
      recorder->iterationStarted(core::Iteration(i));
      recorder->tensorReady({core::Iteration(i), core::TensorId(0), same});
      recorder->tensorReady({core::Iteration(i), core::TensorId(1), same});
      recorder->tensorReady({core::Iteration(i), core::TensorId(2), noise(10 + i)});
      recorder->iterationFinished(core::Iteration(i), {});
    }
    REQUIRE(recorder->finish({.state = "finished"}).ok());
    auto reader = openRun(folder / "run");
    CHECK(reader->verify({}, {}).empty());
    for (std::int64_t i = 0; i < 3; ++i) {
      checkValue(*reader, i, core::TensorId(0), same);
      checkValue(*reader, i, core::TensorId(1), same);
      checkValue(*reader, i, core::TensorId(2), noise(10 + i));
    }
    const auto journal = dump::parseJournal(test::readText(folder / "run/rank_0/journal"));
    if (journal.segments.size() != 1) continue;  // a machine so slow that a second passed
    CHECK(reader->storage().rawBytes == 9 * kElements * 4);
    CHECK(reader->storage().storedBytes == 4 * kElements * 4);
    CHECK(onDisk(onlySegment(folder / "run")) < 5 * kElements * 4);
  }
}

TEST_CASE("A segment that is committed in the middle of an iteration takes nothing of it away") {
  const test::TempDir folder;
  const core::Graph graph = graphOf({"network/a", "network/b"});
  auto recorder = startRecorder(folder / "run", graph, kTeam);
  const auto tensor = [&](std::int64_t i, std::int64_t id) {
    recorder->tensorReady({core::Iteration(i), core::TensorId(id), noise(2 * i + id)});
  };
  for (std::int64_t i = 0; i < 3; ++i) {
    recorder->iterationStarted(core::Iteration(i));
    tensor(i, 0);
    const std::uint64_t before = recorder->bytesWritten();
    if (i > 0) {  // the file that now holds half of this iteration becomes the segment of the one before
      recorder->requestCommit();
      REQUIRE(test::waitUntil([&] { return recorder->bytesWritten() > before; }));
    }
    tensor(i, 1);
    recorder->iterationFinished(core::Iteration(i), {});
  }
  REQUIRE(recorder->finish({.state = "finished"}).ok());
  CHECK(temporaries(folder / "run").empty());
  auto reader = openRun(folder / "run");
  CHECK(reader->storage().segments == 3);
  CHECK(reader->verify({}, {}).empty());
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t id = 0; id < 2; ++id) checkValue(*reader, i, core::TensorId(id), noise(2 * i + id));
}

TEST_CASE("An iteration for which a segment has no room begins the next file, and is written once") {
  const test::TempDir folder;
  const core::Graph graph = graphOf({"network/a", "network/b"});
  constexpr std::uint64_t kIterationBytes = 2 * kElements * sizeof(float);
  dump::RecordOptions options;
  options.maxBytes = 10 * kIterationBytes;  // a quarter, two and a half iterations, is a segment
  auto recorder = startRecorder(folder / "run", graph, kTeam, options);
  for (std::int64_t i = 0; i < 8; ++i) {
    recorder->iterationStarted(core::Iteration(i));
    for (std::int64_t id = 0; id < 2; ++id)
      recorder->tensorReady({core::Iteration(i), core::TensorId(id), noise(2 * i + id)});
    recorder->iterationFinished(core::Iteration(i), {});
  }
  REQUIRE(recorder->finish({.state = "finished"}).ok());
  const dump::StageTime written = recorder->times().stages[static_cast<std::size_t>(dump::Stage::kWrite)];
  CHECK(written.bytes < 8 * kIterationBytes * 11 / 10);
  CHECK(openRun(folder / "run")->verify({}, {}).empty());
}

TEST_CASE("Iterations of just more than half a segment share one, and the values that are equal in them") {
  const test::TempDir folder;
  const core::Graph graph = graphOf({"network/a", "network/b"});
  constexpr std::uint64_t kTensorBytes = kElements * sizeof(float);
  dump::RecordOptions options;
  options.maxBytes = 8 * 2 * kTensorBytes * 19 / 10;  // an eighth is a segment
  const core::Tensor same = noise(1);
  const auto start = std::chrono::steady_clock::now();
  auto recorder = startRecorder(folder / "run", graph, kTeam, options);
  for (std::int64_t i = 0; i < 9; ++i) {
    recorder->iterationStarted(core::Iteration(i));
    recorder->tensorReady({core::Iteration(i), core::TensorId(0), same});
    recorder->tensorReady({core::Iteration(i), core::TensorId(1), noise(10 + i)});
    recorder->iterationFinished(core::Iteration(i), {});
  }
  REQUIRE(recorder->finish({.state = "finished"}).ok());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  auto reader = openRun(folder / "run");
  CHECK(reader->verify({}, {}).empty());
  const std::int64_t segments = reader->storage().segments;
  CHECK(segments <= 3 + static_cast<std::int64_t>(2 * took.count()));  // about one a second
  const auto expected = (9 + static_cast<std::uint64_t>(segments)) * kTensorBytes;
  CHECK(reader->storage().storedBytes == expected);
  for (std::int64_t i = 0; i < 9; ++i) checkValue(*reader, i, core::TensorId(0), same);
}

TEST_CASE("Whether a tensor is compressed changes between segments only, and begins none") {
  const test::TempDir folder;
  const core::Graph graph = graphOf({"network/a"});
  const auto start = std::chrono::steady_clock::now();
  auto recorder = startRecorder(folder / "run", graph, kTeam);
  for (std::int64_t i = 0; i < 130; ++i) {  // more than twice what a trial holds for
    core::Tensor value = noise(i);
    if (i % 80 > 40) std::ranges::fill(value.data<float>(), static_cast<float>(i));
    recorder->iterationStarted(core::Iteration(i));
    recorder->tensorReady({core::Iteration(i), core::TensorId(0), value});
    recorder->iterationFinished(core::Iteration(i), {});
  }
  REQUIRE(recorder->finish({.state = "finished"}).ok());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  auto reader = openRun(folder / "run");
  CHECK(reader->storage().segments <= 1 + static_cast<std::int64_t>(2 * took.count()));  // about one a second
  CHECK(reader->verify({}, {}).empty());
  checkValue(*reader, 120, core::TensorId(0), noise(120));
}

TEST_CASE("A flipped byte is found in what went straight to the file, and in the room between") {
  const test::TempDir folder;
  const core::Graph graph = graphOf({"network/a", "network/b"});
  auto recorder = startRecorder(folder / "run", graph, kTeam);
  recorder->iterationStarted(core::Iteration(0));
  recorder->tensorReady({core::Iteration(0), core::TensorId(0), noise(1)});
  recorder->tensorReady({core::Iteration(0), core::TensorId(1), noise(2)});
  recorder->iterationFinished(core::Iteration(0), {});
  REQUIRE(recorder->finish({.state = "finished"}).ok());
  const fs::path segment = onlySegment(folder / "run");
  const std::string whole = test::readText(segment);
  // In the unused room after the superblock; in a whole block; in the last, partial one; between two chunks.
  for (const std::size_t at : {std::size_t{5000}, std::size_t{65536 + 70000}, std::size_t{65536 + 1'199'999},
                               std::size_t{65536 + 1'200'010}, whole.size() - 1}) {
    INFO(at);
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    test::writeText(segment, changed);
    CHECK_FALSE(openRun(folder / "run")->verify({}, {}).empty());
  }
}

TEST_CASE("A file of rows writes equal chunks once and takes none after it was taken") {
  const test::TempDir folder;
  auto file = dump::RowFile::create(folder.path(), "rows").orThrow();
  const core::Tensor value = noise(1);
  const std::vector<core::Hash128> blocks = core::observeTensor(value, {}).blocks;
  const dump::RowFile::Chunk chunk{value.byteSpan(), core::hashTensor(value), blocks};
  const auto first = file->append(chunk), second = file->append(chunk);
  REQUIRE((first.ok() && second.ok()));
  CHECK(**first == 65536);
  CHECK(**second == 65536);
  CHECK(file->end() == 65536 + kElements * 4);
  CHECK(file->knownBlocks().size() == kElements * 4 / 65536 + 1);  // the last one ends in zeros
  CHECK(file->take());
  CHECK_FALSE(file->take());
  CHECK_FALSE((*file->append(chunk)).has_value());
  std::vector<std::byte> back(kElements * 4);
  REQUIRE(file->read(65536, back).ok());
  CHECK(std::ranges::equal(back, value.byteSpan()));
  CHECK_FALSE(file->read(65536 + kElements * 4, back).ok());
  file.reset();
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("Bytes written before their hash is known are kept, or leave nothing behind") {
  const test::TempDir folder;
  auto file = dump::RowFile::create(folder.path(), "rows").orThrow();
  const core::Tensor value = noise(1), other = noise(2);
  const std::vector<core::Hash128> blocks = core::observeTensor(value, {}).blocks;
  const dump::RowFile::Chunk chunk{value.byteSpan(), core::hashTensor(value), blocks};
  const std::uint64_t end = 65536 + kElements * 4;
  for (const std::uint64_t grown : {end, std::uint64_t{0}}) {  // the second time it lies there already
    auto ahead = dump::RowFile::writeAhead(file, value.byteSpan());
    REQUIRE(ahead);
    const auto kept = ahead->keep(chunk);
    CHECK(kept.offset == 65536);
    CHECK(kept.grown == grown);
  }
  CHECK(dump::RowFile::writeAhead(file, other.byteSpan()));  // and not kept
  CHECK(file->end() == end);
  CHECK(file->knownBlocks().size() == kElements * 4 / 65536 + 1);
  CHECK(file->take());
  CHECK_FALSE(dump::RowFile::writeAhead(file, other.byteSpan()));
  REQUIRE(file->extend(end + 3 * 65536).ok());
  REQUIRE(file->commit(folder / "rows.h5").ok());
  const std::string text = test::readText(folder / "rows.h5");
  REQUIRE(text.size() == end + 3 * 65536);
  CHECK(std::memcmp(&text[65536], value.byteSpan().data(), value.bytes()) == 0);
  CHECK(text.find_first_not_of('\0', end) == std::string::npos);
}

TEST_CASE("A value that was written before its hash was known, and lies there already, is stored once") {
  const test::TempDir folder;
  const core::Graph graph = graphOf({"network/a", "network/b"});
  const core::Tensor value = noise(1), other = noise(2);
  auto recorder = startRecorder(folder / "run", graph, kTeam);
  for (std::int64_t i = 0; i < 3; ++i) {
    recorder->iterationStarted(core::Iteration(i));
    recorder->tensorReady({core::Iteration(i), core::TensorId(0), value});
    recorder->tensorReady({core::Iteration(i), core::TensorId(1), i == 1 ? other : value});
    recorder->iterationFinished(core::Iteration(i), {});
  }
  REQUIRE(recorder->finish({.state = "finished"}).ok());
  auto reader = openRun(folder / "run");
  const auto segments = static_cast<std::uint64_t>(reader->storage().segments);
  CHECK(reader->storage().storedBytes <= (1 + segments) * value.bytes());
  for (std::int64_t i = 0; i < 3; ++i) {
    checkValue(*reader, i, core::TensorId(0), value);
    checkValue(*reader, i, core::TensorId(1), i == 1 ? other : value);
  }
  CHECK(reader->verify({}, {}).empty());
}

TEST_CASE("The journal says where the time went, and readers that do not know the line skip it") {
  const test::TempDir folder;
  test::record(folder / "run", test::smallGraph(true), written(kTeam), {.iterations = 3});
  const std::string text = test::readText(folder / "run/rank_0/journal");
  const dump::Journal journal = dump::parseJournal(text);
  REQUIRE(journal.timing);
  CHECK(journal.badLines.empty());
  const dump::RecordingTimes& times = *journal.timing;
  CHECK(times.wallSeconds > 0);
  std::uint64_t raw = 0;
  const core::Graph graph = test::smallGraph(true);
  for (const auto& tensor : graph.tensors()) raw += test::valueOf(tensor, 0).bytes();
  CHECK(times[dump::Stage::kStatistics].bytes == 3 * raw);
  CHECK(times[dump::Stage::kWrite].bytes >= 3 * 1'200'000);
  CHECK(times[dump::Stage::kCompress].seconds > 0);
  CHECK(times[dump::Stage::kBuild].seconds > 0);
  CHECK(openRun(folder / "run")->timing(kRank0)->wallSeconds == times.wallSeconds);
}

TEST_CASE("However far training is ahead of the disk, what is not committed yet counts to --max-size") {
  const core::Graph graph = graphOf({"network/a", "network/b"});  // 2.4 MB an iteration
  const test::TempDir folder;
  dump::RecordOptions options;
  options.maxBytes = 24'000'000;
  const auto recorder = startRecorder(folder / "run", graph, kTeam, options);
  std::uint64_t most = 0;
  for (std::int64_t i = 0; i < 80; ++i) {
    recorder->iterationStarted(core::Iteration(i));
    for (const core::TensorInfo& tensor : graph.tensors())
      recorder->tensorReady({core::Iteration(i), tensor.id, noise(2 * i + tensor.id.value)});
    recorder->iterationFinished(core::Iteration(i), {});
    std::uint64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(folder / "run/rank_0")) {
      struct stat status = {};  // files come and go
      if (::stat(entry.path().c_str(), &status) == 0) bytes += static_cast<std::uint64_t>(status.st_size);
    }
    most = std::max(most, bytes);
  }
  REQUIRE(recorder->finish({.state = "finished"}).ok());
  CHECK(most <
        options.maxBytes + options.maxBytes / 8 + 500'000);  // and a file that is used again; statistics
  const auto reader = openRun(folder / "run");
  CHECK(reader->iterations(kRank0).size() == 80);
  checkValue(*reader, 79, core::TensorId(0), noise(158));
  checkValue(*reader, 75, core::TensorId(1), noise(151));
  CHECK(reader->verify({}, {}).empty());
}
