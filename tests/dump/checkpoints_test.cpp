// Checkpoints and batches: when they are kept, what they hold, what is left of them within --max-size, and
// what damage costs.
#include "dump/policy/checkpoints.h"

#include <hdf5.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <set>

#include "core_engine/tensor/statistics.h"
#include "dump/journal.h"
#include "dump/policy/expected_size.h"
#include "dump/writer/checkpoint_schedule.h"
#include "tests/dump/recorded_run.h"
#include "tests/support/stderr_of.h"

using namespace msdbg;
using namespace msdbg::dump;
namespace fs = std::filesystem;

namespace {

RecordOptions recordPolicy(std::int64_t every) {
  RecordOptions options;
  options.policy = Policy::kRecord;
  options.checkpointEvery = every;
  return options;
}

bool sameBits(const core::Tensor& a, const core::Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

/// Pixels of network/x [8, 4] in an iteration, and the input that they make.
core::InputSource pixelsOf(std::int64_t iteration) {
  core::Tensor pixels(core::DType::UInt8, {8, 4});
  for (std::size_t i = 0; i < 32; ++i)
    pixels.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(
        2654435761u * static_cast<std::uint32_t>(i + 33 * static_cast<std::size_t>(iteration) + 1) >> 24);
  return {pixels, 255};
}

/// Records iterations whose x is made from pixels; everything else is what test::valueOf gives.
void recordFromPixels(const fs::path& run, const core::Graph& graph, const RecordOptions& options,
                      std::int64_t iterations) {
  test::writeInfo(run);
  auto recorder = Recorder::create({run, core::Rank(0), 1, 1}, options).orThrow();
  recorder->graphReady(graph);
  const core::TensorId x = test::tensorNamed(graph, "network/x");
  for (std::int64_t i = 0; i < iterations; ++i) {
    const core::Iteration now(i);
    const core::GivenSource given[] = {{x, pixelsOf(i)}};
    recorder->sourcesGiven(now, given);
    recorder->iterationStarted(now);
    for (const core::TensorInfo& tensor : graph.tensors()) {
      const core::Tensor value = tensor.id == x
                                     ? core::makeInput(pixelsOf(i), core::DType::Float32, {8, 4}).orThrow()
                                     : test::valueOf(tensor, i);
      recorder->tensorReady({now, tensor.id, value});
    }
    recorder->iterationFinished(now, {});
  }
  CHECK(recorder->finish({.state = "finished"}).ok());
}

/// What whoever wants to deceive would do: another byte in the first chunk, and the checksum that fits.
void deceive(const fs::path& segment, const std::string& dataset) {
  const hid_t file = H5Fopen(segment.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t values = H5Dopen2(file, dataset.c_str(), H5P_DEFAULT);
  const hid_t sums = H5Dopen2(file, ("/checksum" + dataset).c_str(), H5P_DEFAULT);
  const hsize_t offset[] = {0, 0, 0};
  unsigned mask = 0;
  haddr_t address = 0;
  hsize_t size = 0;
  REQUIRE(H5Dget_chunk_info_by_coord(values, offset, &mask, &address, &size) >= 0);
  const haddr_t sum = H5Dget_offset(sums);
  H5Dclose(sums);
  H5Dclose(values);
  H5Fclose(file);
  std::string text = test::readText(segment);
  text[address + 2] ^= 1;
  const core::Hash128 hash = core::hashBytes(std::as_bytes(std::span(text).subspan(address, size)));
  std::memcpy(&text[sum], &hash, sizeof hash);
  test::writeText(segment, text);
}

std::string firstMissing(RunReader& reader, std::int64_t iteration) {
  const auto state = reader.checkpoint(core::Rank(0), core::Iteration(iteration));
  if (!state.ok()) return state.error().message();
  std::set<std::string> names;
  for (const auto& [name, value] : state->tensors) {
    const core::TensorInfo& tensor = reader.graph().tensor(test::tensorNamed(reader.graph(), name));
    if (!sameBits(value, test::valueOf(tensor, iteration))) return name + " differs";
    names.insert(name);
  }
  const std::set<std::string> all = {"network/a/weight:0", "network/wide:0", "network/bytes:0"};
  return names == all ? "" : "other tensors than those that are carried";
}

}  // namespace

TEST_CASE("How many checkpoints there will be is what the schedule then keeps") {
  for (const std::string list : {"0-", "3-", "0-4,9-30,31,77-", "5,6,7", "200-"})
    for (const std::int64_t every : {1, 3, 10})
      for (const std::int64_t interval : {1, 2, 7, 10, 1000})
        for (const auto& [first, steps] :
             {std::pair{0, 1}, std::pair{0, 8}, std::pair{0, 100}, std::pair{6, 5}, std::pair{31, 90}}) {
          RecordOptions options = recordPolicy(interval);
          options.iterations = *core::IndexList::parse(list);
          options.every = every;
          CheckpointSchedule schedule;
          schedule.adopt(options, test::smallGraph(), 1);
          std::int64_t kept = 0;
          for (std::int64_t i = first; i < first + steps; ++i)
            if (options.records(core::Iteration(i))) kept += schedule.begin(core::Iteration(i));
          CAPTURE(list, every, interval, first, steps);
          CHECK(countCheckpoints(options, interval, steps, first) == kept);
        }
  RecordOptions odd = recordPolicy(RecordOptions::kLongestInterval);
  odd.every = INT64_MAX;
  CHECK(countCheckpoints(odd, RecordOptions::kLongestInterval, INT64_MAX) == 1);
}

TEST_CASE("A checkpoint that one rank asks for moves none of the others, which all ranks have in common") {
  CheckpointSchedule schedule;
  schedule.adopt(recordPolicy(4), test::smallGraph(), 1);
  std::vector<std::int64_t> kept;
  for (std::int64_t i = 0; i < 13; ++i) {
    if (i == 6) schedule.request();
    if (schedule.begin(core::Iteration(i))) kept.push_back(i);
  }
  CHECK(kept == std::vector<std::int64_t>{0, 4, 6, 8, 12});
}

TEST_CASE("auto spaces checkpoints as time allows, and what a slow rank keeps the others have too") {
  const core::Graph graph = test::smallGraph();
  const std::int64_t c = checkpointInterval(recordPolicy(RecordOptions::kAuto), graph, 1);
  const auto keptAt = [&](double cost, std::int64_t first) {
    CheckpointSchedule schedule;
    schedule.adopt(recordPolicy(RecordOptions::kAuto), graph, 1);
    std::vector<std::int64_t> kept;
    for (std::int64_t i = first; i < first + 64 * c; ++i)
      if (schedule.begin(core::Iteration(i), [&] { return cost; })) kept.push_back(i - first);
    return kept;
  };
  const auto apart = [&](std::int64_t iterations) {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < 64 * c; i += iterations) all.push_back(i);
    return all;
  };
  for (const std::int64_t first : {0, 5}) {
    CHECK(keptAt(0, first) == apart(c));  // not known yet
    CHECK(keptAt(0.01 * static_cast<double>(c), first) == apart(c));
    CHECK(keptAt(0.0101 * static_cast<double>(c), first) == apart(2 * c));
    CHECK(keptAt(0.05 * static_cast<double>(c), first) == apart(8 * c));
    CHECK(keptAt(1e9, first) == std::vector<std::int64_t>{0});
  }
}

TEST_CASE("A checkpoint that is more than a quarter of what a rank may keep is not kept, unless asked for") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  RecordOptions options;
  options.policy = Policy::kStats;
  options.maxBytes = 2 * 4 * checkpointBytes(graph);
  CHECK(checkpointInterval(options, graph, 2) > 0);
  CHECK(keepsBatches(options, graph, 2));
  --options.maxBytes;
  CHECK(checkpointInterval(options, graph, 2) == 0);
  CHECK_FALSE(keepsBatches(options, graph, 2));
  CHECK(expectedSize(graph, options, 2, 10)->batchBytes() == 0);
  const std::string said =
      test::stderrOf([&] { test::record(folder / "run", graph, options, {.iterations = 3, .ranks = 2}); });
  CHECK_THAT(said, Catch::Contains("more than a quarter of what a rank may keep"));
  const auto reader = test::openRun(folder / "run");
  CHECK(reader->checkpoints(core::Rank(0)).empty());
  CHECK(reader->batches(core::Rank(0)).empty());
  options.batches = true;
  CHECK(keepsBatches(options, graph, 2));
  options.checkpointEvery = 4;
  CHECK(checkpointInterval(options, graph, 2) == 4);
}

TEST_CASE("auto is the least interval with which checkpoints take a hundredth of everything") {
  const core::Graph graph = test::smallGraph(true);
  std::uint64_t full = 0;
  for (const core::TensorInfo& tensor : graph.tensors()) full += test::valueOf(tensor, 0).bytes();
  const std::uint64_t one = 80 + 24 + 16;  // weight, wide, bytes
  CHECK(checkpointBytes(graph) == one);
  const auto c = static_cast<std::uint64_t>(checkpointInterval(recordPolicy(RecordOptions::kAuto), graph, 1));
  CHECK(one * 100 <= c * full);
  CHECK(c == 1);
  const core::Graph small = test::smallGraph();
  full = 0;
  for (const core::TensorInfo& tensor : small.tensors()) full += test::valueOf(tensor, 0).bytes();
  const auto d = static_cast<std::uint64_t>(checkpointInterval(recordPolicy(RecordOptions::kAuto), small, 1));
  CHECK(one * 100 <= d * full);
  CHECK(one * 100 > (d - 1) * full);
  CHECK(checkpointInterval(recordPolicy(RecordOptions::kNoCheckpoints), small, 1) == 0);
  CHECK(checkpointInterval({}, small, 1) == static_cast<std::int64_t>(d));
  RecordOptions sparse;
  sparse.every = 2;
  CHECK(checkpointInterval(sparse, small, 1) == 0);
}

TEST_CASE("Policy record keeps checkpoints and batches from which the run can be computed again") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  const RecordOptions options = recordPolicy(4);
  recordFromPixels(folder / "run", graph, options, 10);
  const auto reader = test::openRun(folder / "run");
  const core::Rank rank(0);
  CHECK(reader->checkpoints(rank) == std::vector<std::int64_t>{0, 4, 8});
  CHECK(reader->batches(rank).size() == 10);
  CHECK(reader->recomputable().size() == 10);
  REQUIRE(reader->checkpointInterval(rank));
  CHECK(reader->checkpointInterval(rank)->iterations == 4);
  for (const std::int64_t i : {0, 4, 8}) CHECK(firstMissing(*reader, i) == "");
  CHECK(reader->checkpoint(rank, core::Iteration(5)).error().code() == core::ErrorCode::kUnavailable);
  for (std::int64_t i = 0; i < 10; ++i) {
    const auto batch = reader->batch(rank, core::Iteration(i));
    REQUIRE(batch.ok());
    CHECK(batch->iteration == core::Iteration(i));
    REQUIRE(batch->tensors.size() == 2);
    CHECK(batch->tensors[0].first == "network/x");
    const core::Tensor x = *core::makeInput(pixelsOf(i), core::DType::Float32, {8, 4});
    CHECK(sameBits(batch->tensors[0].second, x));
    CHECK(core::hashTensor(x) ==
          *reader->hash(rank, core::Iteration(i), test::tensorNamed(graph, "network/x")));
    REQUIRE(batch->sources.size() == 1);
    CHECK(sameBits(batch->sources[0].second.values, pixelsOf(i).values));
    CHECK(sameBits(batch->tensors[1].second,
                   test::valueOf(graph.tensor(test::tensorNamed(graph, "network/label")), i)));
  }
  CHECK(reader->damage().empty());
  CHECK(reader->verify({}, {}).empty());
  const core::Batch example{core::Iteration(0), {}, {{"x", pixelsOf(0)}}};
  const auto size = expectedSize(graph, options, 1, 10, {.batch = &example});
  CHECK(size->stateBytes() == reader->storage().stateBytes);
  CHECK(size->batchBytes() == reader->storage().batchBytes);
  CHECK(size->batchIterationBytes == 32 + 64);
  CHECK(size->valueBytes == reader->storage().rawBytes);
}

TEST_CASE("Parts of checkpoints and batches are values of their iterations") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  recordFromPixels(folder / "run", graph, recordPolicy(4), 6);
  auto reader = test::openRun(folder / "run");
  const core::Rank rank(0);
  const core::TensorId weight = test::tensorNamed(graph, "network/a/weight"),
                       x = test::tensorNamed(graph, "network/x"),
                       relu = test::tensorNamed(graph, "network/a/Relu-op1");
  for (std::int64_t i = 0; i < 6; ++i) {
    const core::Iteration now(i);
    CHECK(reader->origin(rank, now, x) == ValueOrigin::kBatch);
    CHECK(
        sameBits(*reader->tensor(rank, now, x), *core::makeInput(pixelsOf(i), core::DType::Float32, {8, 4})));
    CHECK_FALSE(reader->origin(rank, now, relu));
    const auto value = reader->tensor(rank, now, weight);
    CHECK(reader->origin(rank, now, weight).has_value() == (i % 4 == 0));
    CHECK_FALSE(reader->stored(rank, now, weight));
    REQUIRE(value.ok() == (i % 4 == 0));
    if (value.ok()) {
      CHECK(reader->origin(rank, now, weight) == ValueOrigin::kCheckpoint);
      CHECK(sameBits(*value, test::valueOf(graph.tensor(weight), i)));
    } else {
      CHECK(value.error().code() == core::ErrorCode::kUnavailable);
    }
  }
  CHECK(reader->damage().empty());
  reader.reset();
  deceive(folder / "run" / "rank_0" / "segment_000000.h5", "/batch/network/x:0");
  reader = test::openRun(folder / "run");
  CHECK(reader->tensor(rank, core::Iteration(0), x).error().code() == core::ErrorCode::kDamaged);
  CHECK(reader->damage().size() == 1);
}

TEST_CASE(
    "Checkpoints and batches are kept with any policy but none, unless iterations or they are left out") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  const auto recorded = [&](const std::string& name, const RecordOptions& options) {
    test::record(folder / name, graph, options, {.iterations = 3});
    return test::openRun(folder / name);
  };
  for (const Policy policy : {Policy::kFull, Policy::kStats, Policy::kRecord}) {
    RecordOptions options;
    options.policy = policy;
    const std::string name(policyName(policy));
    CHECK(recorded(name, options)->recomputable().size() == 3);
    CHECK(recorded(name + " without", test::withoutReplay(options))->recomputable().empty());
    options.every = 2;
    CHECK(recorded(name + " sparse", options)->batches(core::Rank(0)).empty() == (policy != Policy::kRecord));
  }
  RecordOptions options;
  options.policy = Policy::kNone;
  CHECK(recorded("none", options)->batches(core::Rank(0)).empty());
  options.policy = Policy::kStats;
  options.rules = {*parseRule("network/Tanh*=none")};
  CHECK(recorded("no activation", options)->recomputable().size() == 3);
  options.rules = {*parseRule("network/x=none")};  // the data is not to be seen
  const auto noInput = recorded("no input", options);
  CHECK(noInput->batches(core::Rank(0)).empty());
  CHECK(noInput->checkpoints(core::Rank(0)).empty());
  options.batches = true;
  CHECK(recorded("asked for", options)->batches(core::Rank(0)).size() == 3);
  options = {};
  options.checkpointEvery = 2;
  const auto both = recorded("both", options);
  CHECK(both->checkpoints(core::Rank(0)) == std::vector<std::int64_t>{0, 2});
  CHECK(both->batches(core::Rank(0)).size() == 3);
  for (std::int64_t i = 0; i < 3; ++i) CHECK(test::firstDifference(*both, 0, i) == "");
  CHECK(both->verify({}, {}).empty());
}

TEST_CASE("What is recomputable begins at a checkpoint and ends where a batch is missing") {
  const test::TempDir folder;
  RecordOptions options = recordPolicy(3);
  options.iterations = *core::IndexList::parse("1-4,6-8");
  test::record(folder / "run", test::smallGraph(), options, {.iterations = 10});
  const auto reader = test::openRun(folder / "run");
  CHECK(reader->checkpoints(core::Rank(0)) == std::vector<std::int64_t>{1, 4, 7});
  CHECK(reader->recomputable() == std::vector<std::int64_t>{1, 2, 3, 4, 7, 8});
}

TEST_CASE("An iteration that is interrupted while its sources are copied has no half checkpoint") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  test::record(folder / "early", graph, recordPolicy(1),
               {.iterations = 2, .interruptedBefore = test::tensorNamed(graph, "network/wide")});
  const auto early = test::openRun(folder / "early");
  CHECK(early->iterations(core::Rank(0)).size() == 3);
  CHECK(early->checkpoints(core::Rank(0)) == std::vector<std::int64_t>{0, 1});
  CHECK(early->batches(core::Rank(0)).size() == 3);  // x and label come before
  CHECK(early->verify({}, {}).empty());
  test::record(folder / "late", graph, recordPolicy(1),
               {.iterations = 2, .interruptedBefore = test::tensorNamed(graph, "network/a/Relu-op1")});
  CHECK(test::openRun(folder / "late")->recomputable().size() == 3);
}

TEST_CASE(
    "Within --max-size the newest checkpoints and batches are kept, and the window begins with a "
    "checkpoint") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  RecordOptions options = recordPolicy(1000);  // rarer than what the budget holds
  const auto bytesWithin = [&](const std::string& name, std::uint64_t budget) {
    options.maxBytes = budget;
    test::record(folder / name, graph, options, {.iterations = 60, .commitEach = true});
    return test::openRun(folder / name)->storage().fileBytes;
  };
  const std::uint64_t all = bytesWithin("all", 1 << 30);
  RecordOptions alone = options;
  alone.checkpointEvery = RecordOptions::kNoCheckpoints;
  alone.batches = false;
  std::swap(alone, options);
  const std::uint64_t hashes = bytesWithin("hashes", 1 << 30);
  std::swap(alone, options);
  REQUIRE(all > hashes);
  bytesWithin("run", hashes / 2);  // hashes thin first
  const auto reader = test::openRun(folder / "run");
  CHECK(reader->iterations(core::Rank(0)).size() == 60);
  const auto batches = reader->batches(core::Rank(0));
  REQUIRE_FALSE(batches.empty());
  CHECK(batches.size() < 60);
  CHECK(batches.back() == 59);
  const auto recomputable = reader->recomputable();
  REQUIRE_FALSE(recomputable.empty());
  CHECK(recomputable.back() == 59);
  CHECK(firstMissing(*reader, reader->checkpoints(core::Rank(0)).back()) == "");
  for (std::int64_t i = 0; i < 60; ++i) {  // hashes stay, or thin as statistics do; digests stay
    const core::Iteration iteration(i);
    const auto hash = reader->hash(core::Rank(0), iteration, test::tensorNamed(graph, "network/Tanh-op1"));
    CHECK(hash.ok() != reader->thinned(core::Rank(0), iteration));
    CHECK(reader->digest(core::Rank(0), iteration).ok());
  }
  CHECK(reader->verify({}, {}).empty());
}

TEST_CASE("Where values are dropped, a checkpoint is the first iteration of its segment") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  RecordOptions options = recordPolicy(4);
  options.maxBytes = 60'000;
  test::writeInfo(folder / "run");
  const auto recorder = Recorder::create({.run = folder / "run", .rank = core::Rank(0)}, options).orThrow();
  recorder->graphReady(graph);
  for (std::int64_t i = 0; i < 60; ++i) {  // three iterations a segment, a checkpoint every four
    test::feed(*recorder, graph, i);
    if (i % 3 != 2) continue;
    recorder->requestCommit();
    REQUIRE(test::waitUntil([&] {
      const auto iterations = test::openRun(folder / "run")->iterations(core::Rank(0));
      return !iterations.empty() && iterations.back().iteration == i;
    }));
  }
  REQUIRE(recorder->finish({.state = "finished"}).ok());
  int before = 0, since = 0;
  bool dropped = false;
  for (const SegmentLine& line : parseJournal(test::readText(folder / "run/rank_0/journal")).segments) {
    dropped = dropped || line.replaces.size() == 1;
    const bool asWritten = line.replaces.empty();  // not merged
    if (!asWritten || line.checkpoints.empty() || line.iterations.size() == 1) continue;
    const bool isFirst = line.checkpoints.front() == line.iterations.front();
    if (line.iterations.front() < 12) before += !isFirst;
    if (line.iterations.front() >= 30) since += !isFirst;
  }
  CHECK(dropped);
  CHECK(before > 0);  // else nothing is shown
  CHECK(since == 0);
}

TEST_CASE("A segment that the journal does not list tells its checkpoints and batches itself") {
  const test::TempDir folder;
  test::record(folder / "run", test::smallGraph(), recordPolicy(2), {.iterations = 5});
  const fs::path journal = folder / "run/rank_0/journal";
  std::string text = test::readText(journal);
  const std::size_t at = text.find("{\"segment\"");
  text.erase(at, text.find('\n', at) + 1 - at);
  test::writeText(journal, text);
  const auto reader = test::openRun(folder / "run");
  CHECK(reader->checkpoints(core::Rank(0)) == std::vector<std::int64_t>{0, 2, 4});
  CHECK(reader->batches(core::Rank(0)).size() == 5);
  CHECK(firstMissing(*reader, 4) == "");
}

TEST_CASE("A journal that claims checkpoints of other iterations than its segment's is damage") {
  SegmentLine line;
  line.file = "segment_000000.h5";
  line.iterations = {3, 4};
  line.bytes = 1000;
  line.checkpoints = {3};
  line.batches = {3, 4};
  line.stateBytes = 7;
  line.batchBytes = 8;
  const Journal good = parseJournal(formatSegment(line) + "\n" + formatCheckpoints({25, 1000}) + "\n");
  REQUIRE(good.segments.size() == 1);
  CHECK(good.segments[0].checkpoints == line.checkpoints);
  CHECK(good.segments[0].batches == line.batches);
  CHECK(good.segments[0].stateBytes == 7);
  CHECK(good.segments[0].batchBytes == 8);
  REQUIRE(good.checkpoints);
  CHECK(good.checkpoints->every == 25);
  CHECK(good.checkpoints->bytes == 1000);
  line.checkpoints = {2, 3};
  CHECK(parseJournal(formatSegment(line) + "\n").badLines == std::vector<std::size_t>{1});
}

TEST_CASE("A changed source of an input, or part of a checkpoint, is found even where every checksum fits") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  recordFromPixels(folder / "run", graph, recordPolicy(4), 6);
  const fs::path segment = folder / "run/rank_0/segment_000000.h5";
  const std::string group = GENERATE("/state/network/a/weight:0", "/batch/network/x:0");
  deceive(segment, group);
  const auto reader = test::openRun(folder / "run");
  if (group.starts_with("/batch")) {
    const auto batch = reader->batch(core::Rank(0), core::Iteration(0));
    REQUIRE_FALSE(batch.ok());
    CHECK(batch.error().code() == core::ErrorCode::kDamaged);
    CHECK_THAT(batch.error().message(), Catch::Contains("rank_0/segment_000000.h5: /batch/network/x:0") &&
                                            Catch::Contains("recorded hash"));
  }
  std::string told;
  for (const Damage& damage : reader->verify({}, {})) told += damage.where + ": " + damage.what + "\n";
  CHECK_THAT(told, Catch::Contains(group) && Catch::Contains("recorded hash"));
}
