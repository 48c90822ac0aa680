// Old rows of statistics go so that a run stays within --max-size: which, what always stays, what a reader is
// told, and what a crash leaves.
#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "dump/iteration_digest.h"
#include "dump/journal.h"
#include "dump/policy/checkpoints.h"
#include "dump/reader/segment_reader.h"
#include "dump/writer/merge_plan.h"
#include "dump/writer/outliers.h"
#include "dump/writer/retention.h"
#include "dump/writer/segment_rewrite.h"
#include "dump/writer/thinning_plan.h"
#include "tests/dump/patched_run.h"
#include "tests/dump/recorded_run.h"

using namespace msdbg;
namespace fs = std::filesystem;

namespace {

const core::Rank kRank0{0};

core::Iteration at(std::int64_t iteration) { return core::Iteration(iteration); }

dump::KeptSegment segment(std::int64_t number, std::uint64_t bytes = 1000) {
  return {.segment = number, .first = number, .last = number, .iterations = 1, .bytes = bytes};
}

// All bytes of the run that are part of the recording.
std::uint64_t bytesIn(const fs::path& run) {
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(run)) {
    std::error_code gone;  // files come and go while a run is recorded
    if (entry.path().filename() == "status" || !entry.is_regular_file(gone)) continue;
    if (const std::uintmax_t size = entry.file_size(gone); !gone) bytes += size;
  }
  return bytes;
}

dump::RecordOptions statisticsWithin(std::uint64_t bytes) {
  dump::RecordOptions options = test::withoutReplay();
  options.policy = dump::Policy::kStats;
  options.maxBytes = bytes;
  return options;
}

// The hash of what was fed, where the rows of the iteration are those that were fed; else what is wrong.
std::string wrongRows(dump::RunReader& reader, std::int64_t iteration) {
  for (const core::TensorInfo& tensor : reader.graph().tensors()) {
    const auto row = reader.statistics(kRank0, at(iteration), tensor.id);
    if (!row.ok()) return row.error().message();
    if (row->values.hash != core::hashTensor(test::valueOf(tensor, iteration))) return tensor.fullName();
  }
  return "";
}

core::Hash128 fedDigest(const core::Graph& graph, std::int64_t iteration) {
  dump::IterationDigest digest;
  for (const core::TensorInfo& tensor : graph.tensors())
    digest.add(tensor.id.value, core::hashTensor(test::valueOf(tensor, iteration)));
  return digest.finish();
}

// Everything that stays for ever, of every iteration; "" if it is what was fed.
std::string wrongForEver(dump::RunReader& reader, std::int64_t iterations) {
  for (std::int64_t i = 0; i < iterations; ++i) {
    const std::string where = " of iteration " + std::to_string(i);
    if (reader.scalar(kRank0, at(i), "loss") != 2.5 / static_cast<double>(i + 1)) return "the loss" + where;
    const auto digest = reader.digest(kRank0, at(i));
    if (!digest.ok() || *digest != fedDigest(reader.graph(), i)) return "the digest" + where;
    for (const core::TensorInfo& tensor : reader.graph().tensors()) {
      if (!dump::inBatch(tensor)) continue;
      const auto hash = reader.hash(kRank0, at(i), tensor.id);
      if (!hash.ok() || *hash != core::hashTensor(test::valueOf(tensor, i)))
        return "the hash of " + tensor.fullName() + where;
    }
  }
  return "";
}

// Its files are committed and not listed.
std::vector<dump::SegmentLine> rewrite(const fs::path& run, std::int64_t number,
                                       std::vector<std::int64_t> old,
                                       std::vector<dump::MergeSelection> files) {
  dump::SegmentRewrite job(run / "rank_0", 0, number, std::move(old), std::move(files));
  while (true) {
    const auto done = job.step();
    if (!done.ok()) throw std::runtime_error(done.error().message());
    if (!*done) continue;
    std::vector<dump::SegmentLine> lines;
    for (const auto& written : job.written()) lines.push_back(written.line);
    job.listed();
    return lines;
  }
}

// One thinning of the first segments of a run, its files committed and not listed.
std::vector<dump::SegmentLine> thinFirst(const fs::path& run, std::int64_t count, std::int64_t number) {
  std::vector<std::int64_t> old;
  for (std::int64_t i = 0; i < count; ++i) old.push_back(i);
  dump::MergeSelection bare{.takes = [](std::int64_t iteration) { return iteration % 2 != 0; }, .thinned = 2};
  const auto reader = test::openRun(run);
  for (const core::TensorInfo& tensor : reader->graph().tensors())
    if (dump::inBatch(tensor)) bare.keptHashes.insert(tensor.fullName());
  return rewrite(run, number, old, {{.takes = [](auto iteration) { return iteration % 2 == 0; }}, bare});
}

void insertLines(const fs::path& run, const std::vector<dump::SegmentLine>& lines) {
  const fs::path file = run / "rank_0/journal";
  std::string text = test::readText(file), more;
  for (const dump::SegmentLine& line : lines) more += dump::formatSegment(line) + "\n";
  text.insert(text.rfind("{\"end\""), more);
  test::writeText(file, text);
  test::patchJournal(run / "rank_0", [](auto&) {});  // the lines behind follow another one now
}

// The digest of one row is another, and all hashes that cover it are right.
void changeDigest(const fs::path& file, std::size_t row) {
  const hid_t segment = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t digests = H5Dopen2(segment, "/iteration/digest", H5P_DEFAULT);
  const hid_t hashes = H5Dopen2(segment, "/checksum/iteration/digest", H5P_DEFAULT);
  REQUIRE((segment >= 0 && digests >= 0 && hashes >= 0));
  std::vector<core::Hash128> all(3);
  REQUIRE(H5Dread(digests, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()) >= 0);
  all[row].low ^= 1;
  const core::Hash128 hash = core::hashBytes(std::as_bytes(std::span(all)));
  REQUIRE(H5Dwrite(digests, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()) >= 0);
  REQUIRE(H5Dwrite(hashes, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &hash) >= 0);
  H5Dclose(hashes);
  H5Dclose(digests);
  H5Fclose(segment);
}

dump::IterationRecord recordOf(std::int64_t iteration, double loss,
                               const std::shared_ptr<const dump::GraphPlan>& plan, bool nan = false) {
  dump::IterationRecord record;
  record.iteration = iteration;
  record.plan = plan;
  record.scalars = {{"loss", loss}};
  record.statistics.resize(plan->graph.tensors().size());
  if (nan) record.statistics[2].values.nan = 1;
  return record;
}

}  // namespace

TEST_CASE("Old statistics go generation by generation, and never the newest segment") {
  std::vector<dump::KeptSegment> segments;
  for (std::int64_t i = 0; i < 10; ++i) segments.push_back(segment(i));
  CHECK(dump::planThinning(segments, 10000, 3000).segments.empty());
  const dump::ThinningPlan first = dump::planThinning(segments, 9500, 3000);
  CHECK(first.segments == std::vector<std::int64_t>{0, 1});  // half of what may go together
  CHECK(first.step == 1);
  CHECK(dump::planThinning(segments, 1000, 3000).segments == std::vector<std::int64_t>{0, 1, 2});
  for (std::int64_t i = 0; i < 5; ++i) segments[static_cast<std::size_t>(i)].step = 10;
  CHECK(dump::planThinning(segments, 9900, 1000).segments == std::vector<std::int64_t>{5});
  segments[0].values = segments[1].bare = segments[2].stays = true;
  for (std::int64_t i = 5; i < 9; ++i) segments[static_cast<std::size_t>(i)].stays = true;
  CHECK(dump::planThinning(segments, 0, 5000).segments == std::vector<std::int64_t>{3, 4});
  CHECK(dump::planThinning(std::vector{segment(0)}, 0, 5000).segments.empty());
}

TEST_CASE("Segments whose iterations lie between each other's do not become one: they ascend in a file") {
  // Found in a run of 3,000 iterations: checkpoints that were cut off became one file, around thinned
  // segments, and then one of their kind.
  std::vector<dump::KeptSegment> segments = {segment(0), segment(1), segment(2), segment(3)};
  segments[0].last = 2;
  dump::MergeLimits limits;
  limits.width = 2;
  CHECK(dump::planMerge(segments, limits) == std::vector<std::int64_t>{1, 2});
  CHECK(dump::planThinning(segments, 2000, 5000).segments == std::vector<std::int64_t>{0});
  segments[0].last = 0;
  CHECK(dump::planMerge(segments, limits) == std::vector<std::int64_t>{0, 1});
  CHECK(dump::planThinning(segments, 2000, 5000).segments == std::vector<std::int64_t>{0, 1, 2});
}

TEST_CASE("Values keep a quarter of the budget, statistics that thin have the rest") {
  dump::Retention retention({.maxBytes = 4'000'000, .keep = {}});
  for (std::int64_t i = 0; i < 30; ++i) retention.add(segment(i, 100'000));
  retention.setOtherBytes(900'000);
  CHECK(retention.nextThinning({}).segments.empty());
  CHECK(retention.nextThinning({.incoming = 200'000}).segments.size() > 0);
  dump::KeptSegment values = segment(30, 100'000);
  values.values = true;
  retention.add(values);
  CHECK(retention.nextThinning({}).segments.size() > 0);
}

TEST_CASE("Segments that were thinned are merged with those of their kind, though others lie between") {
  dump::Retention retention({.keep = {}});
  std::int64_t number = 0;
  for (std::int64_t i = 0; i < 8; ++i) {
    const std::int64_t old = number++;
    retention.add(
        {.segment = old, .first = 100 * i, .last = 100 * i + 99, .iterations = 100, .bytes = 10000});
    dump::KeptSegment kept = {.segment = number++,
                              .first = 100 * i,
                              .last = 100 * i + 90,
                              .iterations = 10,
                              .bytes = 1000,
                              .step = 10};
    dump::KeptSegment bare = {.segment = number++,
                              .first = 100 * i + 1,
                              .last = 100 * i + 99,
                              .iterations = 90,
                              .bytes = 500,
                              .step = 10,
                              .bare = true};
    retention.thin({{old}}, std::vector{kept, bare});
  }
  CHECK(retention.bytes() == 8 * 1500);
  std::vector<std::int64_t> plan = retention.nextMerge();
  REQUIRE(plan.size() == 8);
  const bool bare = retention.segment(plan[0]).bare;
  for (const std::int64_t each : plan) CHECK(retention.segment(each).bare == bare);
  dump::KeptSegment merged = retention.segment(plan[0]);
  merged.segment = number++;
  merged.level = 1;
  retention.replace(plan, merged);
  plan = retention.nextMerge();
  REQUIRE(plan.size() == 8);
  CHECK(retention.segment(plan[0]).bare != bare);
  CHECK(retention.segments().size() == 9);
}

TEST_CASE("Outliers are where NaN begins, where the loss jumps, and hits, within their room") {
  const core::Graph graph = test::smallGraph();
  const dump::RecordOptions options = statisticsWithin(1 << 20);
  const auto plan = std::make_shared<const dump::GraphPlan>(
      graph, 0, dump::Decisions::make(graph, options, kRank0).orThrow(), options, 1);
  const std::uint64_t rows = dump::statisticsBytesOf(*plan);
  dump::Outliers outliers(4 * rows);
  for (std::int64_t i = 0; i < 100; ++i)
    outliers.add(recordOf(i, i == 50 ? 5 : 1 + 0.1 * static_cast<double>(i % 7), plan, i >= 30 && i < 40));
  outliers.addHit(77);
  std::vector<std::int64_t> kept;
  for (std::int64_t i = 0; i < 100; ++i)
    if (outliers.contains(i)) kept.push_back(i);
  CHECK(kept == std::vector<std::int64_t>{30, 50, 77});
  for (std::int64_t i = 100; i < 120; i += 2) {
    outliers.add(recordOf(i, 1, plan, true));
    outliers.add(recordOf(i + 1, 1, plan));
  }
  CHECK(outliers.contains(100));
  CHECK_FALSE(outliers.contains(102));  // no room is left
}

TEST_CASE("A run of statistics stays within --max-size, and what is left of it is right") {
  const test::TempDir folder;
  const fs::path run = folder / "run";
  constexpr std::int64_t kIterations = 700;
  constexpr std::uint64_t kBudget = 600'000;  // all of it takes 1.6 MB
  test::record(run, test::smallGraph(), statisticsWithin(kBudget), {.iterations = kIterations});
  CHECK(bytesIn(run) <= kBudget);
  const auto reader = test::openRun(run);
  CHECK(reader->verify({}, {}).empty());
  CHECK(reader->iterationSet(kRank0).size() == kIterations);
  CHECK(wrongForEver(*reader, kIterations) == "");
  const dump::RunReader::Thinning thinning = reader->thinning(kRank0);
  REQUIRE_FALSE(thinning.parts.empty());
  CHECK(thinning.parts.front().step == 10);
  CHECK(thinning.whole > 20);
  CHECK(thinning.parts.front().last == kIterations - thinning.whole - 1);
  CHECK(thinning.parts.back().first == 0);
  std::size_t part = thinning.parts.size() - 1, thinned = 0;
  for (std::int64_t i = 0; i < kIterations; ++i) {
    CAPTURE(i);
    while (part > 0 && thinning.parts[part].last < i) --part;
    const bool stays = i > thinning.parts.front().last || i % thinning.parts[part].step == 0;
    CHECK(reader->thinned(kRank0, at(i)) != stays);
    if (stays) CHECK(wrongRows(*reader, i) == "");
    thinned += !stays;
  }
  CHECK(thinned > 200);
}

TEST_CASE("Thousands of tensors of which each iteration is an outlier stay within --max-size") {
  const test::TempDir folder;
  const fs::path run = folder / "run";
  core::Graph graph("network");
  for (int i = 0; i < 1500; ++i) {
    core::TensorInfo tensor;
    tensor.name = "network/x" + std::to_string(i);
    tensor.shape = {2};
    tensor.role = core::TensorRole::kConstant;
    graph.addSource(tensor);
  }
  test::writeInfo(run);
  constexpr std::uint64_t kBudget = 4'000'000;  // 14 iterations, if it were for rows alone
  auto recorder = dump::Recorder::create({run, kRank0, 1, 1}, statisticsWithin(kBudget)).orThrow();
  recorder->graphReady(graph);
  std::uint64_t largest = 0;
  for (std::int64_t i = 0; i < 120; ++i) {
    recorder->iterationStarted(at(i));
    const float values[] = {static_cast<float>(i), i % 2 == 0 ? 1.0f : NAN};
    const core::Tensor value = core::Tensor::of<float>({2}, values);
    for (const core::TensorInfo& tensor : graph.tensors()) recorder->tensorReady({at(i), tensor.id, value});
    recorder->iterationFinished(at(i), {{"loss", static_cast<double>(i * i)}});
    largest = std::max(largest, bytesIn(run));
  }
  REQUIRE(recorder->finish({.state = "finished"}).ok());
  test::writeInfo(run, 1, "finished");
  CHECK(bytesIn(run) <= kBudget);
  CHECK(largest <= kBudget + kBudget / 4);  // a segment in progress, and what a thinning makes
  const auto reader = test::openRun(run);
  CHECK(reader->verify({}, {}).empty());
  for (std::int64_t i = 0; i < 120; ++i)
    CHECK(reader->scalar(kRank0, at(i), "loss") == static_cast<double>(i * i));
  const core::TensorId first(0);
  CHECK(reader->statistics(kRank0, at(119), first).ok());
  CHECK(reader->statistics(kRank0, at(1), first).ok());  // where NaN begins
}

// Seven segments of an iteration each: eight would be merged in a quiet moment.
void recordSeven(const fs::path& run) {
  test::record(run, test::smallGraph(), statisticsWithin(1 << 30), {.iterations = 7, .commitEach = true});
}

TEST_CASE("A thinned iteration says so and names the nearest one that is whole") {
  const test::TempDir folder;
  const fs::path run = folder / "run";
  recordSeven(run);
  insertLines(run, thinFirst(run, 6, 90));
  const auto reader = test::openRun(run);
  const core::TensorId weight = test::tensorNamed(reader->graph(), "network/a/weight:0");
  const auto row = reader->statistics(kRank0, at(3), weight);
  REQUIRE_FALSE(row.ok());
  CHECK(row.error().code() == core::ErrorCode::kUnavailable);
  CHECK(row.error().message().find("was thinned to keep within --max-size; the nearest is iteration 2") !=
        std::string::npos);
  CHECK(reader->row(kRank0, at(3), weight).thinned);
  CHECK_FALSE(reader->row(kRank0, at(2), weight).thinned);
  CHECK(reader->nearestWhole(kRank0, at(1)) == at(0));  // the older of two
  CHECK(reader->nearestWhole(kRank0, at(6)) == at(6));
  CHECK(reader->hash(kRank0, at(3), weight).error().code() == core::ErrorCode::kUnavailable);
  CHECK(reader->thinning(kRank0).whole == 1);
}

TEST_CASE("A crash while statistics are thinned leaves every iteration readable, as it was or thinned") {
  const test::TempDir folder;
  const fs::path thinned = folder / "thinned";
  recordSeven(thinned);
  const std::vector<dump::SegmentLine> lines = thinFirst(thinned, 6, 90);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].iterations == std::vector<std::int64_t>{0, 2, 4});
  CHECK(lines[1].iterations == std::vector<std::int64_t>{1, 3, 5});
  CHECK(lines[1].thinned == 2);
  const auto check = [&](const fs::path& run, bool isThinned) {
    const auto reader = test::openRun(run);
    CHECK(reader->damage().empty());
    CHECK(reader->iterationSet(kRank0).size() == 7);
    CHECK(wrongForEver(*reader, 7) == "");
    for (std::int64_t i = 0; i < 7; ++i) {
      CAPTURE(i);
      const bool gone = isThinned && i % 2 != 0;
      CHECK(reader->thinned(kRank0, at(i)) == gone);
      CHECK((wrongRows(*reader, i) == "") == !gone);
    }
  };
  SECTION("both files are there, no line") { check(thinned, false); }
  SECTION("the second file is not there yet") {
    fs::remove(thinned / "rank_0" / lines[1].file);
    check(thinned, false);
  }
  SECTION("the second line was torn off") {
    insertLines(thinned, {lines[0]});
    check(thinned, true);
  }
  SECTION("the first line was torn off") {
    insertLines(thinned, {lines[1]});
    check(thinned, true);
  }
  SECTION("the old files are still there, some, or none") {
    insertLines(thinned, lines);
    check(thinned, true);
    for (std::int64_t i = 0; i < 6; ++i) {
      fs::remove(thinned / "rank_0" / dump::segmentFileName(i));
      check(thinned, true);
    }
    CHECK(test::openRun(thinned)->verify({}, {}).empty());
  }
}

TEST_CASE("What an older reader finds of thinned iterations: no statistics, and the hashes of batches") {
  const test::TempDir folder;
  const fs::path run = folder / "run";
  recordSeven(run);
  const std::vector<dump::SegmentLine> lines = thinFirst(run, 6, 90);
  const auto segment = dump::SegmentReader::open(run / "rank_0" / lines[1].file, lines[1].bytes);
  REQUIRE(segment.ok());
  const auto table = (*segment)->statistics();
  REQUIRE(table.ok());
  CHECK(table->names() == std::vector<std::string>{"network/x:0", "network/label:0"});
  std::vector<watch::StatisticsRow> rows;
  dump::StatisticsTable::Scratch scratch;
  for (std::size_t piece = 0; piece < table->pieces(); ++piece) {
    REQUIRE(table->read(piece, scratch, rows).ok());
    for (const watch::StatisticsRow& row : rows) CHECK(row.values.count == -1);
  }
  CHECK((*segment)->describe(0)->thinned == 2);
}

TEST_CASE("Verify finds a digest that is not that of the hashes") {
  const test::TempDir folder;
  const fs::path run = folder / "run";
  test::record(run, test::smallGraph(), statisticsWithin(1 << 30), {.iterations = 3});
  CHECK(test::openRun(run)->verify({}, {}).empty());
  changeDigest(run / "rank_0/segment_000000.h5", 1);
  test::relistSegments(run / "rank_0");
  const auto reader = test::openRun(run);
  const std::vector<dump::Damage> damage = reader->verify({}, {});
  REQUIRE(damage.size() == 1);
  CHECK(damage[0].where == "rank_0/segment_000000.h5: /iteration/digest");
  CHECK(damage[0].iterations == std::vector<std::int64_t>{1});
}

TEST_CASE("A run of values thins its statistics only when they are three quarters of the budget") {
  const test::TempDir folder;
  const fs::path run = folder / "run";
  dump::RecordOptions options;
  options.maxBytes = 700'000;
  test::record(run, test::smallGraph(), options, {.iterations = 500});
  CHECK(bytesIn(run) <= options.maxBytes);
  const auto reader = test::openRun(run);
  CHECK(reader->verify({}, {}).empty());
  CHECK(wrongForEver(*reader, 500) == "");
  CHECK_FALSE(reader->thinning(kRank0).parts.empty());
  CHECK(test::firstDifference(*reader, 0, 499) == "");  // the newest value is there
}
