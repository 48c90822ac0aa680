// Recording with --on-hit: which iterations keep their values, what ranks tell each other, what the journal
// says.
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <set>
#include <thread>

#include "core_engine/distributed/communicators.h"
#include "dump/hits/first_fault.h"
#include "dump/hits/hit_votes.h"
#include "dump/hits/hit_windows.h"
#include "tests/dump/recorded_run.h"

using namespace msdbg;
using namespace msdbg::dump;
using core::Iteration;
using core::Rank;

namespace {

using Numbers = std::set<std::int64_t>;

const std::string kPlace = "network/a/Opaque-op1:0";  // the tensor that gets a NaN

RecordOptions onHit(std::int64_t before, std::int64_t after) {
  RecordOptions options;
  options.onHit = {.conditions = {"tensor_overflow"}, .before = before, .after = after};
  return options;
}

/// One iteration whose tensor `kPlace` holds a NaN if told so.
void feedWith(Recorder& recorder, const core::Graph& graph, std::int64_t iteration, bool wrong) {
  recorder.iterationStarted(Iteration(iteration));
  for (const core::TensorInfo& tensor : graph.tensors()) {
    core::Tensor value = test::valueOf(tensor, iteration);
    if (wrong && tensor.fullName() == kPlace) value.data<float>()[3] = NAN;
    const core::Tensor previous =
        tensor.updateOf.valid() ? test::valueOf(graph.tensor(tensor.updateOf), iteration) : core::Tensor();
    recorder.tensorReady(
        {Iteration(iteration), tensor.id, value, tensor.updateOf.valid() ? &previous : nullptr});
  }
  recorder.iterationFinished(Iteration(iteration), {{"loss", 1.0}});
}

struct Run {
  RecordOptions options = {};
  std::int64_t iterations = 12;
  Numbers wrong = {};
  bool commitEach = false;
  bool large = false;  // with tensors that are encoded before their segment is built
  RunEnd end{.state = "finished"};
};

std::unique_ptr<Recorder> startRecorder(const std::filesystem::path& folder, const RecordOptions& options) {
  test::writeInfo(folder);
  auto recorder = Recorder::create({.run = folder, .rank = Rank(0), .ranks = 1, .threads = 1}, options);
  if (!recorder.ok()) throw std::runtime_error(recorder.error().message());
  return std::move(*recorder);
}

void train(Recorder& recorder, const core::Graph& graph, const Run& run) {
  recorder.graphReady(graph);
  for (std::int64_t i = 0; i < run.iterations; ++i) {
    const std::uint64_t before = recorder.bytesWritten();
    feedWith(recorder, graph, i, run.wrong.contains(i));
    if (!run.commitEach) continue;
    recorder.requestCommit();
    REQUIRE(test::waitUntil([&] { return recorder.bytesWritten() > before; }));
  }
}

void recordRun(const std::filesystem::path& folder, const Run& run) {
  const core::Graph graph = test::smallGraph(run.large);
  const auto recorder = startRecorder(folder, run.options);
  train(*recorder, graph, run);
  REQUIRE(recorder->finish(run.end).ok());
}

/// Iterations that have the values of all tensors; those with some only are a mistake.
Numbers withValues(RunReader& reader) {
  Numbers full;
  for (const IterationState& state : reader.iterations(Rank(0))) {
    const auto stored = [&](const core::TensorInfo& tensor) {
      return reader.stored(Rank(0), Iteration(state.iteration), tensor.id);
    };
    const auto& tensors = reader.graph().tensors();
    const auto count = std::ranges::count_if(tensors, stored);
    CHECK((count == 0 || count == static_cast<std::int64_t>(tensors.size())));
    if (count > 0) full.insert(state.iteration);
  }
  return full;
}

/// Those within `before` before and `after` after one of the hits.
Numbers near(const Numbers& hits, std::int64_t before, std::int64_t after, std::int64_t iterations) {
  Numbers kept;
  for (std::int64_t i = 0; i < iterations; ++i)
    if (std::ranges::any_of(hits, [&](std::int64_t h) { return i >= h - before && i <= h + after; }))
      kept.insert(i);
  return kept;
}

}  // namespace

TEST_CASE("An iteration keeps its values when a hit is near, and that is decided as early as it can be") {
  std::mt19937 random(5);
  int wrong = 0;
  for (int round = 0; round < 300; ++round) {
    const std::int64_t before = random() % 5, after = random() % 5, iterations = 30, step = 1 + random() % 3;
    Numbers hits;
    for (std::int64_t i = 0; i < iterations; ++i)
      if (random() % 8 == 0) hits.insert(i);
    const Numbers kept = near(hits, before, after, iterations);
    HitWindows windows(before, after);
    CAPTURE(before, after, step, hits);
    for (std::int64_t now = 0; now < iterations; ++now) {
      windows.finished(Iteration(now * step), hits.contains(now));
      for (std::int64_t i = 0; i <= now; ++i) {
        const Numbers seen(hits.begin(), hits.upper_bound(now));
        const bool known = near(seen, before, after, iterations).contains(i);
        const Keep expected = known ? Keep::kYes : i + before <= now ? Keep::kNo : Keep::kUndecided;
        wrong += windows.keep(i * step) != expected;
      }
      wrong += windows.keep(now * step + 1) != Keep::kUndecided;
      const std::int64_t first = random() % (now * step + 1), last = first + random() % 6;
      Keep most = Keep::kNo;
      for (std::int64_t i = first; i <= last; ++i) most = std::max(most, windows.keep(i));
      wrong += windows.keep(first, last) != most;
    }
    windows.close();
    for (std::int64_t i = 0; i < iterations; ++i)
      wrong += windows.keep(i * step) != (kept.contains(i) ? Keep::kYes : Keep::kNo);
    REQUIRE(wrong == 0);
  }
}

TEST_CASE("Only iterations near a hit keep their values; all have statistics") {
  const Numbers hits = GENERATE(Numbers{}, Numbers{0}, Numbers{11}, Numbers{5}, Numbers{2, 9}, Numbers{4, 6},
                                Numbers{0, 3, 6, 9, 11});
  const auto [before, after] = GENERATE(table<int, int>({{1, 1}, {0, 0}, {3, 0}, {0, 2}, {50, 50}}));
  // Committed undecided and dropped later, or decided in memory: in turn, each case with both over the runs.
  static bool commitEach = true;
  commitEach = !commitEach;
  CAPTURE(hits, before, after, commitEach);
  const test::TempDir folder;
  const bool large = before == 1;
  recordRun(folder / "run",
            {.options = onHit(before, after), .wrong = hits, .commitEach = commitEach, .large = large});
  const auto reader = test::openRun(folder / "run");
  CHECK(withValues(*reader) == near(hits, before, after, 12));
  CHECK(reader->iterations(Rank(0)).size() == 12);
  for (std::int64_t i = 0; i < 12; ++i)
    for (const core::TensorInfo& tensor : reader->graph().tensors())
      CHECK(reader->statistics(Rank(0), Iteration(i), tensor.id).ok());
  CHECK(reader->damage().empty());
  CHECK(reader->verify({}, [](std::uint64_t, std::uint64_t) {}).empty());
  Numbers listed;
  for (const RecordedHit& hit : reader->hits()) {
    CHECK(hit.line.tensor == kPlace);
    CHECK(hit.line.condition == "tensor_overflow");
    CHECK(hit.line.count == 1);
    listed.insert(hit.line.iteration);
  }
  CHECK(listed == hits);  // each a beginning: no two of them are neighbours
}

TEST_CASE("Hits are counted in recorded iterations when only every third is recorded") {
  const test::TempDir folder;
  RecordOptions options = onHit(1, 1);
  options.every = 3;
  recordRun(folder / "run", {.options = options, .iterations = 20, .wrong = {9}});
  CHECK(withValues(*test::openRun(folder / "run")) == Numbers{6, 9, 12});
}

TEST_CASE("A condition that keeps firing is one hit: what it makes wrong later is not kept") {
  const test::TempDir folder;
  recordRun(folder / "run", {.options = onHit(1, 1), .wrong = {4, 5, 6, 7, 8, 9, 10, 11}});
  const auto reader = test::openRun(folder / "run");
  CHECK(withValues(*reader) == Numbers{3, 4, 5});
  CHECK(reader->hits().size() == 1);
}

TEST_CASE("After an end that is no good one, the newest iterations stay; they may be what matters") {
  const test::TempDir folder;
  recordRun(folder / "run", {.options = onHit(2, 1), .end = {.state = "failed", .message = "thrown"}});
  CHECK(withValues(*test::openRun(folder / "run")) == Numbers{10, 11});
}

TEST_CASE("After SIGKILL the flight recorder holds the newest iterations, and hits before it their windows") {
  const test::TempDir folder;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const core::Graph graph = test::smallGraph(true);
    const auto recorder = startRecorder(folder / "run", onHit(2, 1));
    train(*recorder, graph, {.iterations = 12, .wrong = {4}, .commitEach = true});
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(WIFSIGNALED(status));
  const auto reader = test::openRun(folder / "run");
  Numbers full = withValues(*reader);
  full.erase(9);  // was about to go
  CHECK(full == Numbers{2, 3, 4, 5, 10, 11});
  CHECK(reader->hits().size() == 1);
  CHECK(reader->damage().empty());
}

TEST_CASE("Statistics alone are enough to evaluate conditions") {
  const test::TempDir folder;
  RecordOptions options = onHit(1, 1);
  options.policy = Policy::kStats;
  recordRun(folder / "run", {.options = options, .wrong = {5}});
  const auto reader = test::openRun(folder / "run");
  CHECK(withValues(*reader).empty());
  CHECK(reader->hits().size() == 1);
}

TEST_CASE("A recording with many hits lists and tells a bounded number of them") {
  const test::TempDir folder;
  Numbers wrong;
  for (std::int64_t i = 0; i < 2200; i += 2) wrong.insert(i);
  RecordOptions options = onHit(0, 0);
  options.policy = Policy::kStats;
  recordRun(folder / "run", {.options = options, .iterations = 2200, .wrong = wrong});
  CHECK(test::openRun(folder / "run")->hits().size() == 1000);
}

TEST_CASE("Ranks know each other's hits, and refuse to start with different ones") {
  const auto ranks = core::makeThreadCommunicators(3);
  std::vector<std::vector<std::optional<HitVote>>> heard(3);
  std::vector<std::string> refused(3);
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < 3; ++r)
    threads.emplace_back([&, r] {
      std::optional<HitVote> mine;
      if (r > 0) mine = HitVote{static_cast<std::int64_t>(r - 1), 16'000'001};
      heard[r] = exchangeVotes(ranks[r].get(), mine).value();
      const bool same = agreeOnText(*ranks[r], "{\"before\":1}", "on_hit").ok();
      const core::Status other = agreeOnText(*ranks[r], r == 1 ? "{\"before\":2}" : "{}", "on_hit");
      refused[r] = same && !other.ok() ? other.error().message() : "";
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t r = 0; r < 3; ++r) {
    CHECK(heard[r][0] == std::nullopt);
    CHECK(heard[r][1] == HitVote{0, 16'000'001});
    CHECK(heard[r][2] == HitVote{1, 16'000'001});
    CHECK(refused[r] == "rank " + std::to_string(r) + ": on_hit is not the same on all ranks");
  }
}

TEST_CASE("What one rank says of its own graph every rank hears") {
  auto ranks = core::makeThreadCommunicators(3);
  std::vector<std::string> heard(3);
  {
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < 3; ++r)
      threads.emplace_back([&, r] {
        const std::string own = "rank " + std::to_string(r) + std::string(r * 1000, 'x');
        heard[r] = textOfRank(ranks[r].get(), core::Rank(1), own).value();
      });
  }
  for (const std::string& text : heard) CHECK(text == "rank 1" + std::string(1000, 'x'));
  CHECK(textOfRank(nullptr, core::Rank(1), "alone").value() == "alone");
}

TEST_CASE("A hit line of the journal is read back as it was written") {
  HitLine line;
  line.iteration = 7;
  line.condition = "gradient_vanishing:abs_mean_lt=1e-09";
  line.tensor = "a \"b\":0";
  line.node = "n";
  line.order = 3;
  line.parameter = "abs_mean_lt";
  line.preset = 1e-9;
  line.actual = -INFINITY;
  line.detail = "d";
  const Journal journal = parseJournal(formatHit(line) + "\n");
  REQUIRE(journal.hits.size() == 1);
  CHECK(journal.badLines.empty());
  CHECK(formatHit(journal.hits[0]) == formatHit(line));
  CHECK(std::isinf(journal.hits[0].actual));
}

TEST_CASE("Conditions see all tensors whatever is recorded of them, and what policy record keeps stays") {
  for (const Policy policy : {Policy::kRecord, Policy::kNone}) {
    const test::TempDir folder;
    RecordOptions options = onHit(1, 0);
    options.policy = policy;
    options.checkpointEvery = 4;
    options.batches = true;
    const core::Graph graph = test::smallGraph();
    const auto recorder = startRecorder(folder / "run", options);
    train(*recorder, graph, {.wrong = {7}});
    REQUIRE(recorder->firstHit().has_value());
    CHECK(recorder->firstHit()->iteration == 7);
    REQUIRE(recorder->finish({.state = "finished"}).ok());
    const auto reader = test::openRun(folder / "run");
    CHECK(!reader->hits().empty());
    CHECK(reader->checkpoints(Rank(0)) == std::vector<std::int64_t>{0, 4, 8});
    CHECK(reader->batches(Rank(0)).size() == 12);
    const core::TensorId watched = test::tensorNamed(graph, kPlace);
    CHECK_FALSE(reader->statistics(Rank(0), Iteration(7), watched).ok());  // they were only looked at
    CHECK(reader->hash(Rank(0), Iteration(7), watched).ok() == (policy == Policy::kRecord));
  }
}

TEST_CASE("Within --max-size the values of the first fault stay, whatever comes after them") {
  const test::TempDir folder;
  const Numbers wrong = GENERATE(Numbers{3, 4, 5, 9}, Numbers{0}, Numbers{});
  RecordOptions options;
  options.maxBytes = 9u << 20;  // of iterations of about 2 MB
  options.compress = false;
  recordRun(folder.path(),
            {.options = options, .iterations = 14, .wrong = wrong, .commitEach = true, .large = true});
  const auto reader = test::openRun(folder.path());
  const Numbers kept = withValues(*reader);
  CAPTURE(kept, wrong);
  CHECK(kept.contains(13));
  CHECK(kept.size() < 8);
  CHECK(kept.contains(3) == wrong.contains(3));
  CHECK(kept.contains(2) == wrong.contains(3));
  CHECK(kept.contains(0) == wrong.contains(0));
  CHECK_FALSE(kept.contains(8));
}

TEST_CASE("The first fault keeps its iteration, the recorded one before it and the one after") {
  const core::Graph graph = test::smallGraph();
  FirstFault fault(Rank(0), 1);
  IterationRecord record;
  record.plan = std::make_shared<const GraphPlan>(graph, 0, Decisions::make(graph, {}, Rank(0)).value(),
                                                  RecordOptions(), 1);
  record.statistics.resize(graph.tensors().size());
  record.seen.assign(graph.tensors().size(), true);
  for (watch::StatisticsRow& row : record.statistics) row.values.count = 4;
  record.iteration = 2;
  fault.finished(record);
  CHECK(fault.keep(2, 2) == Keep::kYes);
  record.iteration = 6;
  record.statistics[test::tensorNamed(graph, kPlace).index()].values.nan = 1;
  fault.finished(record);
  record.iteration = 8;
  fault.finished(record);
  CHECK(fault.keep(6, 6) == Keep::kLast);
  CHECK((fault.keep(2, 2) == Keep::kLate && fault.keep(7, 7) == Keep::kLate));
  CHECK((fault.keep(5, 5) == Keep::kYes && fault.keep(8, 8) == Keep::kYes));
}
