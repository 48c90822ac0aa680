// What goes when there is too much: values, old rows of statistics, every second checkpoint, batches. What is
// left can be computed again, within the budget and on a disk that fills, and after a crash at any step.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "dump/reader/segment_reader.h"
#include "dump/writer/replay_plan.h"
#include "dump/writer/segment_rewrite.h"
#include "tests/dump/patched_run.h"
#include "tests/dump/recorded_run.h"
#include "tests/support/sampling.h"

using namespace msdbg;
namespace fs = std::filesystem;

namespace {

const core::Rank kRank0{0};

core::Iteration at(std::int64_t iteration) { return core::Iteration(iteration); }

std::uint64_t bytesIn(const fs::path& run) {
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(run)) {
    std::error_code gone;  // files come and go while a run is recorded
    if (entry.path().filename() == "status" || !entry.is_regular_file(gone)) continue;
    if (const std::uintmax_t size = entry.file_size(gone); !gone) bytes += size;
  }
  return bytes;
}

dump::RecordOptions optionsOf(dump::Policy policy, std::int64_t checkpointEvery, std::uint64_t bytes) {
  dump::RecordOptions options;
  options.policy = policy;
  options.checkpointEvery = checkpointEvery;
  options.batches = true;
  options.maxBytes = bytes;
  return options;
}

bool sameBytes(const core::Tensor& a, const core::Tensor& b) {
  return core::hashTensor(a) == core::hashTensor(b);
}

// Whether each checkpoint and batch that is listed is what was fed; "" if so.
std::string wrongReplay(dump::RunReader& reader) {
  const core::Graph& graph = reader.graph();
  const auto wrong = [&](std::int64_t i, const auto& tensors) -> std::string {
    for (const auto& [name, value] : tensors)
      if (!sameBytes(value, test::valueOf(graph.tensor(test::tensorNamed(graph, name)), i)))
        return name + " of iteration " + std::to_string(i);
    return "";
  };
  for (const std::int64_t i : reader.checkpoints(kRank0)) {
    const auto state = reader.checkpoint(kRank0, at(i));
    if (!state.ok()) return state.error().message();
    if (const std::string text = wrong(i, state->tensors); !text.empty()) return "checkpoint: " + text;
  }
  for (const std::int64_t i : reader.batches(kRank0)) {
    const auto batch = reader.batch(kRank0, at(i));
    if (!batch.ok()) return batch.error().message();
    if (const std::string text = wrong(i, batch->tensors); !text.empty()) return "batch: " + text;
  }
  return "";
}

// Segments of a few iterations each, a batch in all of them (but for a gap, perhaps) and some checkpoints.
std::vector<dump::KeptSegment> drawnSegments(std::mt19937_64& random) {
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<>(low, high)(random); };
  std::vector<dump::KeptSegment> all;
  std::int64_t next = 0;
  const int every = draw(1, 9), gap = draw(0, 100), stateBytes = draw(1, 3000), batchBytes = draw(1, 300);
  for (int i = draw(3, 30); i > 0; --i) {
    dump::KeptSegment one = {.segment = static_cast<std::int64_t>(all.size()), .first = next};
    for (int k = draw(1, 12); k > 0; --k, ++next) {
      if (next != gap || next % every == 0) one.batches.push_back(next);
      if (next % every == 0) one.checkpoints.push_back(next);
    }
    one.last = next - 1;
    one.iterations = next - one.first;
    one.stateBytes = one.checkpoints.size() * static_cast<std::uint64_t>(stateBytes);
    one.batchBytes = one.batches.size() * static_cast<std::uint64_t>(batchBytes);
    one.replayBytes = one.stateBytes + one.batchBytes;
    one.bytes = one.replayBytes + 100;
    one.values = i <= draw(0, 2);
    all.push_back(one);
  }
  return all;
}

core::IterationSet reached(const std::vector<dump::KeptSegment>& segments,
                           const core::IterationSet& anew = {}) {
  core::IterationSet checkpoints, batches, all;
  for (const dump::KeptSegment& segment : segments) {
    checkpoints.append(segment.checkpoints);
    batches.append(segment.batches);
  }
  for (const std::int64_t i : batches)
    if (checkpoints.contains(i) || (all.contains(i - 1) && !anew.contains(i))) all.push_back(i);
  return all;
}

core::IterationSet without(const core::IterationSet& all, const core::IterationSet& those) {
  core::IterationSet rest;
  for (const std::int64_t i : all)
    if (!those.contains(i)) rest.push_back(i);
  return rest;
}

void apply(std::vector<dump::KeptSegment>& segments, const dump::ReplayPlan& plan) {
  dump::KeptSegment& one = *std::ranges::find(segments, plan.segment, &dump::KeptSegment::segment);
  REQUIRE(one.checkpoints.contains(plan.checkpoints));
  REQUIRE(one.batches.contains(plan.batches));
  const std::uint64_t state = one.checkpoints.empty() ? 0 : one.stateBytes / one.checkpoints.size(),
                      batch = one.batches.empty() ? 0 : one.batchBytes / one.batches.size();
  one.checkpoints = without(one.checkpoints, plan.checkpoints);
  one.batches = without(one.batches, plan.batches);
  one.stateBytes = state * one.checkpoints.size();
  one.batchBytes = batch * one.batches.size();
  one.replayBytes = one.stateBytes + one.batchBytes;
  one.bytes = one.replayBytes + 100;
}

std::uint64_t replayBytes(const std::vector<dump::KeptSegment>& segments) {
  std::uint64_t bytes = 0;
  for (const dump::KeptSegment& segment : segments) bytes += segment.replayBytes;
  return bytes;
}

}  // namespace

TEST_CASE("Checkpoints that go cost nothing that could be computed again, batches the oldest of it") {
  std::mt19937_64 random(test::drawnSeed("leaving checkpoints"));
  for (int round = 0; round < (test::testAll() ? 3000 : 200); ++round) {
    CAPTURE(round);
    std::vector<dump::KeptSegment> segments = drawnSegments(random);
    const std::uint64_t room = replayBytes(segments) / 2;
    core::IterationSet anew;  // with a checkpoint, as the recorder has it, or where that was lost
    for (const dump::KeptSegment& segment : segments)
      if (random() % 8 == 0) anew.push_back(segment.last);
    const core::IterationSet whole = reached(segments, anew);
    for (int steps = 0;; ++steps) {
      REQUIRE(steps < 1000);
      const core::IterationSet before = reached(segments, anew);
      const dump::ReplayPlan plan = dump::planReplay(segments, {.bytes = 1, .room = room, .anew = anew});
      if (plan.empty()) break;
      REQUIRE_FALSE((plan.checkpoints.empty() && plan.batches.empty()));
      CHECK(plan.segment != segments.back().segment);
      const bool useless = plan.checkpoints.empty() && !before.contains(plan.batches);
      apply(segments, plan);
      const core::IterationSet after = reached(segments, anew);
      if (plan.batches.empty() || useless) {
        CHECK(after == before);  // checkpoints alone, or batches that nothing led to
      } else {                   // the oldest stretch
        CHECK(before.contains(after));
        if (!after.empty()) CHECK(after.back() == before.back());
      }
    }
    // What is left of what may go is what the newest checkpoint needs.
    const core::IterationSet left = reached(segments, anew);
    REQUIRE(left.empty() == whole.empty());
    if (!whole.empty()) CHECK(left.back() == whole.back());
  }
}

TEST_CASE("What the first fault is computed from stays, where there is room for it") {
  std::mt19937_64 random(test::drawnSeed("pinned stretches"));
  for (int round = 0; round < (test::testAll() ? 1000 : 100); ++round) {
    std::vector<dump::KeptSegment> segments = drawnSegments(random);
    const core::IterationSet whole = reached(segments);
    if (whole.empty()) continue;
    const std::vector<std::int64_t> all = whole.numbers();
    const std::int64_t fault = all[random() % all.size()];
    CAPTURE(round, fault);
    const bool roomy = random() % 2 == 0;
    const std::uint64_t room = roomy ? 3 * replayBytes(segments) : 2;
    for (int steps = 0;; ++steps) {
      REQUIRE(steps < 1000);
      const dump::ReplayPlan plan = dump::planReplay(segments, {.bytes = 1, .room = room, .fault = fault});
      if (plan.empty()) break;
      apply(segments, plan);
      if (roomy) REQUIRE(reached(segments).contains(fault));
    }
    if (!roomy) CHECK(reached(segments).size() <= whole.size());
  }
}

TEST_CASE("Checkpoints stay the further apart the older they are") {
  std::vector<dump::KeptSegment> segments;
  for (std::int64_t i = 0; i < 1000; i += 10) {
    dump::KeptSegment one = {.segment = i, .first = i, .last = i + 9, .iterations = 10, .bytes = 1000};
    one.checkpoints = {i};
    one.batches.add({i, i + 9});
    one.stateBytes = 800, one.batchBytes = 100, one.replayBytes = 900;
    segments.push_back(one);
  }
  while (replayBytes(segments) > 40'000) {
    const auto plan = dump::planReplay(segments, {.bytes = 1, .room = 40'000});
    REQUIRE_FALSE(plan.empty());
    CHECK(plan.batches.empty());
    apply(segments, plan);
  }
  std::vector<std::int64_t> left;
  for (const auto& segment : segments)
    if (!segment.checkpoints.empty()) left.push_back(segment.first);
  CHECK(left.front() == 0);
  CHECK(left.back() == 990);
  CHECK(left[1] - left[0] >= 40);
  CHECK(left.back() - left[left.size() - 2] == 10);
  CHECK(reached(segments).size() == 1000);
}

TEST_CASE("Within any --max-size values go before checkpoints and batches, and what is left is right",
          "[slow]") {
  std::mt19937_64 random(test::drawnSeed("budgets of values, checkpoints and batches"));
  const core::Graph graph = test::smallGraph();
  constexpr std::int64_t kIterations = 150;
  for (int round = 0; round < (test::testAll() ? 60 : 6); ++round) {
    const auto policy = round % 3 == 0   ? dump::Policy::kRecord
                        : round % 3 == 1 ? dump::Policy::kFull
                                         : dump::Policy::kStats;
    const std::int64_t every = std::uniform_int_distribution<>(1, 30)(random);
    const std::uint64_t budget = std::uniform_int_distribution<std::uint64_t>(400'000, 900'000)(random);
    const bool commitEach = std::bernoulli_distribution(0.5)(random);
    CAPTURE(round, every, budget, commitEach);
    const test::TempDir folder;
    const fs::path run = folder / "run";
    test::record(run, graph, optionsOf(policy, every, budget),
                 {.iterations = kIterations, .commitEach = commitEach});
    CHECK(bytesIn(run) <= budget);
    const auto reader = test::openRun(run);
    CHECK(reader->verify({}, {}).empty());
    CHECK(reader->iterationSet(kRank0).size() == kIterations);
    CHECK(wrongReplay(*reader) == "");
    const auto again = reader->recomputable();
    REQUIRE_FALSE(again.empty());
    CHECK(again.back() == kIterations - 1);
    CHECK(again.size() == reader->batches(kRank0).size());  // none is of no use
    for (std::int64_t i = 1; i < static_cast<std::int64_t>(again.size()); ++i)
      CHECK(again[static_cast<std::size_t>(i)] == again.front() + i);
    if (policy != dump::Policy::kFull) continue;
    const core::TensorId relu = test::tensorNamed(graph, "network/a/Relu-op1");
    std::int64_t oldestValue = kIterations;
    for (std::int64_t i = kIterations; i-- > 0;)
      if (reader->stored(kRank0, at(i), relu)) oldestValue = i;
    CHECK(again.front() <= oldestValue);
  }
}

TEST_CASE("Batches stay when values and statistics have gone, as far as there is room", "[slow]") {
  const test::TempDir folder;
  const fs::path run = folder / "run";
  test::record(run, test::smallGraph(), optionsOf(dump::Policy::kFull, 10, 400'000),
               {.iterations = 120, .commitEach = true});
  CHECK(bytesIn(run) <= 400'000);
  const auto reader = test::openRun(run);
  CHECK_FALSE(reader->thinning(kRank0).parts.empty());
  CHECK(reader->batches(kRank0).size() == 120);
  CHECK(reader->recomputable().size() == 120);
  CHECK(wrongReplay(*reader) == "");
  const core::TensorId relu = test::tensorNamed(reader->graph(), "network/a/Relu-op1");
  CHECK_FALSE(reader->stored(kRank0, at(0), relu));
  CHECK(reader->verify({}, {}).empty());
}

TEST_CASE("On a disk that fills, the same goes in the same order, and what is left is right", "[slow]") {
  std::mt19937_64 random(test::drawnSeed("disks"));
  for (int round = 0; round < (test::testAll() ? 30 : 4); ++round) {
    const auto policy = round % 2 == 0 ? dump::Policy::kStats : dump::Policy::kRecord;
    const std::uint64_t disk = std::uniform_int_distribution<std::uint64_t>(450'000, 650'000)(random);
    CAPTURE(round, disk);
    const test::TempDir folder;
    const fs::path run = folder / "run";
    test::writeInfo(run);
    const core::Graph graph = test::smallGraph();
    dump::RecordOptions options = optionsOf(policy, 10, 1u << 30);
    options.keepFree = 0;
    const auto space = [&run, disk](const fs::path&) -> core::Result<dump::DiskSpace> {
      return dump::DiskSpace{disk, disk - std::min(disk, bytesIn(run))};
    };
    auto recorder =
        dump::Recorder::create(
            {.run = run, .rank = kRank0, .patience = std::chrono::milliseconds(300), .disk = space}, options)
            .orThrow();
    recorder->graphReady(graph);
    for (std::int64_t i = 0; i < 400; ++i) {
      test::feed(*recorder, graph, i);
      if (i % 8 != 7) continue;
      const std::uint64_t before = recorder->bytesWritten();
      recorder->requestCommit();
      REQUIRE(test::waitUntil([&] { return recorder->bytesWritten() > before; }));
    }
    REQUIRE(recorder->finish({.state = "finished"}).ok());
    test::writeInfo(run, 1, "finished");
    CHECK(bytesIn(run) <= disk + disk / 8);
    const auto reader = test::openRun(run);
    CHECK(reader->verify({}, {}).empty());
    CHECK(reader->iterationSet(kRank0).size() == 400);
    CHECK(reader->gaps().empty());
    if (policy == dump::Policy::kStats) CHECK_FALSE(reader->thinning(kRank0).parts.empty());
    CHECK(wrongReplay(*reader) == "");
    const auto again = reader->recomputable();
    REQUIRE_FALSE(again.empty());
    CHECK(again.back() == 399);  // newer ones take the place of older ones
  }
}

namespace {

// Seven segments of an iteration each, a checkpoint in every second one.
void recordSeven(const fs::path& run) {
  test::record(run, test::smallGraph(), optionsOf(dump::Policy::kFull, 2, 1u << 30),
               {.iterations = 7, .commitEach = true});
}

// Segment 2 without values and checkpoint, and with its batch.
dump::SegmentLine withoutCheckpoint(const fs::path& run) {
  dump::MergeSelection rest{.values = false};
  rest.checkpoints = [](std::int64_t) { return false; };
  dump::SegmentRewrite job(run / "rank_0", 0, 90, {2}, {rest});
  while (true) {
    const auto done = job.step();
    if (!done.ok()) throw std::runtime_error(done.error().message());
    if (!*done) continue;
    dump::SegmentLine line = job.written()[0].line;
    line.tensorsDropped = true;
    job.listed();
    return line;
  }
}

}  // namespace

TEST_CASE("A crash while a checkpoint is given up leaves it, or the run without it") {
  const test::TempDir folder;
  const fs::path run = folder / "run";
  recordSeven(run);
  const dump::SegmentLine line = withoutCheckpoint(run);
  CHECK(line.checkpoints.empty());
  CHECK(line.batches == std::vector<std::int64_t>{2});
  CHECK(line.tensors == 0);
  const auto check = [&](bool gone) {
    const auto reader = test::openRun(run);
    CHECK(reader->damage().empty());
    using List = std::vector<std::int64_t>;
    CHECK(reader->checkpoints(kRank0) == (gone ? List{0, 4, 6} : List{0, 2, 4, 6}));
    CHECK(reader->recomputable().size() == 7);
    CHECK(wrongReplay(*reader) == "");
    CHECK((test::firstDifference(*reader, 0, 2) == "") == !gone);
    for (const core::TensorInfo& tensor : reader->graph().tensors())
      CHECK(reader->statistics(kRank0, at(2), tensor.id).ok());
  };
  const fs::path journal = run / "rank_0/journal";
  SECTION("the new file is there, no line") { check(false); }
  SECTION("the line is there, and the old file") {
    std::string text = test::readText(journal);
    text.insert(text.rfind("{\"end\""), dump::formatSegment(line) + "\n");
    test::writeText(journal, text);
    test::patchJournal(run / "rank_0", [](auto&) {});
    check(true);
    fs::remove(run / "rank_0/segment_000002.h5");
    check(true);
    CHECK(test::openRun(run)->verify({}, {}).empty());
  }
}

TEST_CASE("A file without some of its checkpoints says itself which it has, for readers of every version") {
  const test::TempDir folder;
  const fs::path run = folder / "run";
  test::record(run, test::smallGraph(), optionsOf(dump::Policy::kRecord, 2, 1u << 30), {.iterations = 7});
  dump::MergeSelection rest;
  rest.checkpoints = [](std::int64_t iteration) { return iteration % 4 == 0; };
  rest.batches = [](std::int64_t iteration) { return iteration >= 3; };
  dump::SegmentRewrite job(run / "rank_0", 0, 90, {0}, {rest});
  core::Result<bool> done = false;
  do done = job.step();
  while (done.ok() && !*done);
  REQUIRE(done.ok());
  const dump::SegmentLine line = job.written()[0].line;
  const auto segment = dump::SegmentReader::open(run / "rank_0" / line.file, line.bytes);
  REQUIRE(segment.ok());
  const auto told = (*segment)->describe(0);
  REQUIRE(told.ok());
  CHECK(told->checkpoints == std::vector<std::int64_t>{0, 4});
  CHECK(told->batches == std::vector<std::int64_t>{3, 4, 5, 6});
  CHECK(line.checkpoints == told->checkpoints);
  CHECK(line.batches == told->batches);
  CHECK(job.written()[0].replayBytes > 0);
}
