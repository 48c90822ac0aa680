// A reader of a run that is being recorded: refresh() brings it to where a new reader would be, whatever the
// recorder did meanwhile.
#include <catch2/catch.hpp>

#include "dump/reader/journal_tail.h"
#include "tests/dump/recorded_run.h"

namespace msdbg::test {

namespace fs = std::filesystem;
using core::ErrorCode;
using core::Iteration;
using core::Rank;

namespace {

/// A recorder that commits when it is told.
struct Live {
  explicit Live(const fs::path& folder, std::int64_t r = 0, int ranks = 1, dump::RecordOptions options = {})
      : run(folder), rank(r), graph(smallGraph()) {
    if (!fs::exists(run / "run.json")) writeInfo(run, ranks);
    auto made = dump::Recorder::create({run, Rank(rank), ranks, 1}, options);
    if (!made.ok()) throw std::runtime_error(made.error().message());
    recorder = std::move(*made);
    recorder->graphReady(graph);
  }
  void record(std::int64_t iterations) {
    for (std::int64_t i = 0; i < iterations; ++i) {
      const std::uint64_t before = recorder->bytesWritten();
      feed(*recorder, graph, next++, rank);
      recorder->requestCommit();
      REQUIRE(waitUntil([&] { return recorder->bytesWritten() > before; }));
    }
  }
  void finish() { REQUIRE(recorder->finish({.state = "finished"}).ok()); }

  fs::path run;
  std::int64_t rank, next = 0;
  core::Graph graph;
  std::unique_ptr<dump::Recorder> recorder;
};

// The journal's line is written a moment after the file: until the reader has it.
bool sees(dump::RunReader& reader, std::int64_t rank, std::size_t iterations) {
  return waitUntil([&] {
    REQUIRE(reader.refresh().ok());
    return reader.iterations(Rank(rank)).size() == iterations;
  });
}

// Everything that a reader which opens now would say.
void checkAsIfNew(dump::RunReader& reader) {
  const auto fresh = openRun(reader.folder());
  REQUIRE(reader.ranks() == fresh->ranks());
  for (const Rank rank : fresh->ranks()) {
    const auto a = reader.iterations(rank), b = fresh->iterations(rank);
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      CHECK(a[i].iteration == b[i].iteration);
      CHECK(a[i].complete == b[i].complete);
      CHECK(firstDifference(reader, rank.value, a[i].iteration) ==
            firstDifference(*fresh, rank.value, a[i].iteration));
    }
    CHECK(reader.rankEnd(rank).has_value() == fresh->rankEnd(rank).has_value());
  }
  CHECK(reader.storage().segments == fresh->storage().segments);
  CHECK(reader.storage().fileBytes == fresh->storage().fileBytes);
  CHECK(reader.damage().empty());
  CHECK(reader.verify({}, {}).empty());
}

}  // namespace

TEST_CASE("A reader sees each segment when it is committed, and the end") {
  const TempDir folder;
  Live live(folder / "run.msdbg");
  live.record(1);
  const auto reader = openRun(live.run);
  CHECK(reader->recording());
  REQUIRE(sees(*reader, 0, 1));
  for (std::int64_t i = 1; i < 5; ++i) {
    live.record(1);
    REQUIRE(sees(*reader, 0, static_cast<std::size_t>(i) + 1));
    CHECK(firstDifference(*reader, 0, i).empty());
  }
  checkAsIfNew(*reader);
  live.finish();
  const auto growth = reader->refresh();
  REQUIRE(growth.ok());
  CHECK(growth->ranks);
  CHECK(growth->iterations.empty());
  CHECK_FALSE(growth->runInfo);
  CHECK_FALSE(reader->recording());
  writeInfo(live.run, 1, "finished");
  CHECK(reader->refresh()->runInfo);
  CHECK(reader->info().end.state == "finished");
  CHECK_FALSE(reader->refresh()->any());
  checkAsIfNew(*reader);
}

TEST_CASE("What was not there when it was asked for is there after a refresh") {
  const TempDir folder;
  Live live(folder / "run.msdbg");
  live.record(1);
  const auto reader = openRun(live.run);
  const core::TensorId weight = tensorNamed(live.graph, "network/a/weight:0");
  CHECK(reader->statistics(Rank(0), Iteration(1), weight).error().code() == ErrorCode::kUnavailable);
  live.record(1);
  REQUIRE(sees(*reader, 0, 2));
  CHECK(reader->statistics(Rank(0), Iteration(1), weight).ok());
  CHECK(reader->tensor(Rank(0), Iteration(1), weight).ok());
}

TEST_CASE("Tensors that are dropped while a reader is open cost their values only") {
  const TempDir folder;
  dump::RecordOptions options = withoutReplay();
  options.maxBytes = 150'000;
  Live live(folder / "run.msdbg", 0, 1, options);
  live.record(2);
  const auto reader = openRun(live.run);
  const core::TensorId weight = tensorNamed(live.graph, "network/a/weight:0");
  REQUIRE(reader->tensor(Rank(0), Iteration(0), weight).ok());
  live.record(10);
  REQUIRE(sees(*reader, 0, 12));
  const auto gone = reader->tensor(Rank(0), Iteration(0), weight);
  REQUIRE_FALSE(gone.ok());
  CHECK(gone.error().code() == ErrorCode::kUnavailable);
  CHECK_THAT(gone.error().message(), Catch::Contains("--max-size"));
  CHECK(reader->statistics(Rank(0), Iteration(0), weight).ok());
  CHECK(reader->tensor(Rank(0), Iteration(11), weight).ok());
  checkAsIfNew(*reader);
}

TEST_CASE("A run whose segments are replaced while it is verified is not called damaged") {
  const TempDir folder;
  dump::RecordOptions options = withoutReplay();
  options.maxBytes = 150'000;
  Live live(folder / "run.msdbg", 0, 1, options);
  live.record(4);
  const auto reader = openRun(live.run);
  REQUIRE(sees(*reader, 0, 4));
  bool first = true;
  const auto damage = reader->verify({}, [&](std::uint64_t done, std::uint64_t all) {
    CHECK(done <= all);
    if (std::exchange(first, false)) live.record(8);  // takes the tensors of all four
  });
  for (const dump::Damage& found : damage) FAIL_CHECK(found.where + ": " + found.what);
  CHECK_FALSE(fs::exists(live.run / "rank_0" / "segment_000003.h5"));
}

TEST_CASE("A rank that starts after the run was opened, and a newer graph, are told") {
  const TempDir folder;
  Live live(folder / "run.msdbg", 0, 2);
  live.record(1);
  const auto reader = openRun(live.run);
  CHECK(reader->ranks().size() == 1);
  CHECK(reader->damage().empty());
  Live second(live.run, 1, 2);
  second.record(1);
  const auto joined = reader->refresh();
  REQUIRE(joined.ok());
  CHECK(joined->ranks);
  CHECK_FALSE(joined->newerGraph);  // it has the one that was read already
  REQUIRE(sees(*reader, 1, 1));
  CHECK(reader->ranks().size() == 2);
  live.graph = smallGraph(true);
  live.recorder->graphReady(live.graph);
  const auto growth = reader->refresh();
  REQUIRE(growth.ok());
  CHECK(growth->newerGraph);
  live.record(1);
  REQUIRE(sees(*reader, 0, 2));
  // The old graph still reads what is newer, by name.
  const core::TensorId weight = tensorNamed(reader->graph(), "network/a/weight:0");
  CHECK(reader->tensor(Rank(0), Iteration(1), weight).ok());
  CHECK(openRun(live.run)->graph().tensors().size() > reader->graph().tensors().size());
}

TEST_CASE("A line that is still being written is read when it is whole") {
  const TempDir folder;
  const fs::path file = folder / "journal";
  writeText(file, "one\ntwo\nthr");
  dump::JournalTail tail;
  CHECK(*tail.readOn(file) == "one\ntwo\nthr");
  CHECK(tail.lines == 2);
  CHECK(tail.bytes == 8);
  const auto append = [&](const std::string& text) {
    FILE* out = fopen(file.c_str(), "a");
    fputs(text.c_str(), out);
    fclose(out);
  };
  append("ee\n");
  CHECK(*tail.readOn(file) == "three\n");
  CHECK(tail.readOn(file)->empty());
  append("four");
  CHECK(*tail.readOn(file) == "four");
  fs::resize_file(file, 14);  // taken back by a recorder whose disk was full
  CHECK(tail.readOn(file)->empty());
  append("five\n");
  CHECK(*tail.readOn(file) == "five\n");
  CHECK(tail.lines == 4);
  writeText(folder / "other", "another file\n");
  fs::rename(folder / "other", file);
  CHECK(tail.readOn(file).error().code() == ErrorCode::kDamaged);
  fs::remove(file);
  CHECK(tail.readOn(file).error().code() == ErrorCode::kMissing);
}

TEST_CASE("A damaged line is told once, with its number, and costs nothing else") {
  const TempDir folder;
  Live live(folder / "run.msdbg");
  live.record(1);
  const auto reader = openRun(live.run);
  FILE* journal = fopen((live.run / "rank_0" / "journal").c_str(), "a");
  fputs("{\"segment\":7,\"check\":\"0000000000000000\"}\n", journal);
  fclose(journal);
  live.record(1);
  REQUIRE(sees(*reader, 0, 2));
  REQUIRE(reader->damage().size() == 1);
  CHECK(reader->damage()[0].what == "line 5 does not match its check");
  REQUIRE(reader->refresh().ok());
  CHECK(reader->damage().size() == 1);
}

TEST_CASE("Lines of every kind are taken in while a run is recorded") {
  const TempDir folder;
  Live live(folder / "run.msdbg");
  live.record(1);
  const auto reader = openRun(live.run);
  dump::HitLine hit;
  hit.condition = "tensor_overflow";
  hit.tensor = "network/a/weight:0";
  FILE* journal = fopen((live.run / "rank_0" / "journal").c_str(), "a");
  fputs((dump::formatHit(hit) + "\n").c_str(), journal);
  fclose(journal);
  live.record(1);
  REQUIRE(sees(*reader, 0, 2));
  REQUIRE(reader->hits().size() == 1);
  CHECK(reader->hits()[0].line.tensor == hit.tensor);
  REQUIRE(reader->damage().size() == 1);  // the recorder knows nothing of the line that was put in
  CHECK_THAT(reader->damage()[0].what, Catch::Contains("does not follow the line before it"));
}

TEST_CASE("Metrics stand beside their iteration, recorded or not, also when it was read before they came") {
  const TempDir folder;
  dump::RecordOptions options;
  options.every = 2;
  Live live(folder / "run.msdbg", 0, 1, options);
  live.recorder->metricsGiven(Iteration(), {{"val_loss", 9}});  // there is no iteration yet
  live.record(1);
  const auto reader = openRun(live.run);
  REQUIRE(sees(*reader, 0, 1));
  CHECK_FALSE(reader->scalar(Rank(0), Iteration(0), "val_loss"));
  live.recorder->metricsGiven(Iteration(0), {{"val_loss", 0.5}, {"other", 1}});
  live.recorder->metricsGiven(Iteration(0), {{"val_loss", 0.25}});
  feed(*live.recorder, live.graph, live.next++);  // is not recorded
  live.recorder->metricsGiven(Iteration(1), {{"val_loss", 0.125}});
  live.record(1);
  REQUIRE(sees(*reader, 0, 2));
  CHECK(reader->scalar(Rank(0), Iteration(0), "val_loss") == 0.25);
  CHECK(reader->scalar(Rank(0), Iteration(1), "val_loss") == 0.125);
  CHECK(reader->scalar(Rank(0), Iteration(0), "other") == 1);
  CHECK_FALSE(reader->scalar(Rank(0), Iteration(2), "val_loss"));
  CHECK(reader->lastScalar(Rank(0), "val_loss") == 0.125);
  const std::vector<std::string> names = reader->scalarNames();
  CHECK(std::ranges::count(names, "val_loss") == 1);
  CHECK(std::ranges::count(names, "loss") == 1);
  live.recorder->metricsGiven(Iteration(2), {{"val_loss", 2}});  // after the last iteration
  live.finish();
  const auto growth = reader->refresh();
  REQUIRE(growth.ok());
  CHECK(growth->metrics);
  CHECK(reader->scalar(Rank(0), Iteration(2), "val_loss") == 2);
  CHECK(openRun(live.run)->scalar(Rank(0), Iteration(2), "val_loss") == 2);
  CHECK(reader->damage().empty());
}

TEST_CASE("A run that is gone, or replaced by another one, is told; what is open stays readable") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  record(run, smallGraph(), {}, {.iterations = 2});
  const auto reader = openRun(run);
  SECTION("replaced") {
    dump::RunInfo other = reader->info();
    other.command = {"another"};
    REQUIRE(dump::writeRunInfo(run, other).ok());
    CHECK_THAT(reader->refresh().error().message(), Catch::Contains("another run was recorded here"));
    CHECK(reader->info().command == std::vector<std::string>{"train", "--steps", "5"});
  }
  SECTION("gone") {
    fs::remove_all(run);
    CHECK_THAT(reader->refresh().error().message(), Catch::Contains("moved or removed"));
  }
  CHECK(reader->refresh().error().code() == ErrorCode::kMissing);
  CHECK(reader->iterations(Rank(0)).size() == 2);
}

TEST_CASE("A run that has just begun says so, and one that ended before its graph was there is damaged") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  writeInfo(run);
  const auto early = dump::RunReader::open(run);
  CHECK(early.error().code() == ErrorCode::kUnavailable);
  CHECK_THAT(early.error().message(), Catch::Contains("--follow waits"));
  writeInfo(run, 1, "failed");
  CHECK(dump::RunReader::open(run).error().code() == ErrorCode::kDamaged);
}

}  // namespace msdbg::test
