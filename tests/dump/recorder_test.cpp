#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <iterator>
#include <thread>

#include "dump/journal.h"
#include "tests/dump/recorded_run.h"

using namespace msdbg;
using namespace std::chrono_literals;
using test::openRun;
using test::segmentsIn;
using Clock = std::chrono::steady_clock;

namespace {

core::Iteration at(std::int64_t iteration) { return core::Iteration(iteration); }
const core::Rank kRank0{0};

std::unique_ptr<dump::Recorder> startRecorder(const std::filesystem::path& run, const core::Graph& graph,
                                              int threads = 2, const dump::RecordOptions& options = {}) {
  test::writeInfo(run);
  auto recorder = dump::Recorder::create({run, kRank0, 1, threads}, options);
  if (!recorder.ok()) throw std::runtime_error(recorder.error().message());
  (*recorder)->graphReady(graph);
  return std::move(*recorder);
}

std::size_t iterationsIn(const std::filesystem::path& run) {
  std::size_t count = 0;
  for (const auto& line : dump::parseJournal(test::readText(run / "rank_0/journal")).segments)
    count += line.iterations.size();
  return count;
}

}  // namespace

TEST_CASE(
    "What was recorded is read back bit for bit: every dtype, small and large tensors, all statistics") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph(true);
  test::record(folder / "run", graph, {}, {.iterations = 4});
  auto reader = openRun(folder / "run");
  REQUIRE(reader->iterations(kRank0).size() == 4);
  for (std::int64_t i = 0; i < 4; ++i) CHECK(test::firstDifference(*reader, 0, i) == "");
  for (const auto& tensor : graph.tensors()) CHECK(reader->stored(kRank0, at(2), tensor.id));
  CHECK(reader->damage().empty());
  CHECK(reader->scalar(kRank0, at(3), "loss") == 2.5 / 4);
  CHECK(reader->scalarNames() == std::vector<std::string>{"learning_rate", "loss"});
  CHECK_FALSE(reader->scalar(kRank0, at(3), "accuracy"));
  REQUIRE(reader->rankEnd(kRank0));
  CHECK(reader->rankEnd(kRank0)->state == "finished");
  CHECK_FALSE(reader->recording());
  CHECK(reader->storage().storedBytes < reader->storage().rawBytes);
  CHECK(reader->verify({}, {}).empty());
}

TEST_CASE("Statistics columns hold what the engine's own functions compute") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  test::record(folder / "run", graph);
  auto reader = openRun(folder / "run");
  const auto row = [&](const std::string& name) {
    return *reader->statistics(kRank0, at(3), test::tensorNamed(graph, name));
  };
  for (const auto& tensor : graph.tensors()) {
    const auto stored = row(tensor.fullName()).values;
    const auto expected = core::computeStatistics(test::valueOf(tensor, 3));
    CHECK(stored.count == expected.count);
    CHECK(stored.zero == expected.zero);
    CHECK(stored.negative == expected.negative);
    CHECK(stored.positive == expected.positive);
    CHECK(stored.min == expected.min);
    CHECK(stored.max == expected.max);
    CHECK(stored.mean == expected.mean);
    CHECK(stored.meanAbs == expected.meanAbs);
    CHECK(stored.std == expected.std);
    CHECK(stored.l1 == expected.l1);
    CHECK(stored.l2 == expected.l2);
  }
  const auto updated = row("update/network/a/Update-op1");
  const auto change = core::computeChange(
      test::valueOf(graph.tensor(test::tensorNamed(graph, "update/network/a/Update-op1:0")), 3),
      test::valueOf(graph.tensor(test::tensorNamed(graph, "network/a/weight:0")), 3));
  REQUIRE(updated.change);
  CHECK(updated.change->meanAbsChange == change.meanAbsChange);
  CHECK(updated.change->maxAbsChange == change.maxAbsChange);
  CHECK(updated.change->meanAbsPrevious == change.meanAbsPrevious);
  CHECK(updated.change->outsideTolerance == change.outsideTolerance);
  CHECK(updated.change->skipped == change.skipped);
  CHECK_FALSE(row("network/x").change);
  const auto relu = row("network/a/Relu-op1");
  REQUIRE(relu.activation);
  const auto active = core::computeActivation(
      test::valueOf(graph.tensor(test::tensorNamed(graph, "network/a/Relu-op1:0")), 3), -1, 0);
  CHECK(relu.activation->shareInRange == active.shareInRange);
  CHECK(relu.activation->shareDeadUnits == active.shareDeadUnits);
  CHECK(row("network/Tanh-op1").activation);
  CHECK_FALSE(row("network/a/Opaque-op1").activation);
}

TEST_CASE("A NaN loss is a recorded value, not a missing one") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  auto recorder = startRecorder(folder / "run", graph);
  recorder->iterationStarted(at(0));
  const auto& x = graph.tensors()[0];
  core::Tensor value = test::valueOf(x, 0);
  value.data<float>()[3] = NAN;
  value.data<float>()[4] = -INFINITY;
  recorder->tensorReady({at(0), x.id, value});
  recorder->iterationFinished(at(0), {{"loss", NAN}});
  REQUIRE(recorder->finish({.state = "finished"}).ok());
  auto reader = openRun(folder / "run");
  REQUIRE(reader->scalar(kRank0, at(0), "loss"));
  CHECK(std::isnan(*reader->scalar(kRank0, at(0), "loss")));
  const auto row = reader->statistics(kRank0, at(0), x.id);
  REQUIRE(row.ok());
  CHECK(row->values.nan == 1);
  CHECK(row->values.negInf == 1);
}

TEST_CASE("A row of more than 16 MiB is cut into chunks and comes back whole") {
  const test::TempDir folder;
  core::Graph graph("network");
  core::TensorInfo huge;
  huge.name = "network/huge";
  huge.shape = {3, 1001, 1500};
  huge.role = core::TensorRole::kConstant;
  graph.addSource(huge);
  test::record(folder / "run", graph, {}, {.iterations = 2});
  auto reader = openRun(folder / "run");
  CHECK(test::firstDifference(*reader, 0, 0) == "");
  CHECK(test::firstDifference(*reader, 0, 1) == "");
  CHECK(reader->verify({}, {}).empty());
}

TEST_CASE("Globs choose by name, name with slot and alias; statistics are always of all") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  const auto storedWith = [&](const std::vector<std::string>& globs, const std::string& name) {
    std::filesystem::remove_all(folder / "run");
    dump::RecordOptions options;
    options.tensors = globs;
    test::record(folder / "run", graph, options, {.iterations = 1});
    auto reader = openRun(folder / "run");
    CHECK(reader->statistics(kRank0, at(0), test::tensorNamed(graph, name)).ok());
    return reader->stored(kRank0, at(0), test::tensorNamed(graph, name));
  };
  CHECK(storedWith({"*weight*"}, "network/a/weight:0"));
  CHECK_FALSE(storedWith({"*weight*"}, "network/x:0"));
  CHECK(storedWith({"network/Mask-op1"}, "network/Mask-op1:0"));  // a bare node name means slot 0
  CHECK_FALSE(storedWith({"network/Mask-op1"}, "network/Mask-op1:1"));
  CHECK(storedWith({"network/Mask-op1:1"}, "network/Mask-op1:1"));
  CHECK(storedWith({"nothing", "next(*"}, "update/network/a/Update-op1:0"));
}

TEST_CASE("Iteration lists, --every and policy stats leave out what they say") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  dump::RecordOptions options;
  options.iterations = *core::IndexList::parse("2-");
  options.every = 3;
  options.policy = dump::Policy::kStats;
  test::record(folder / "run", graph, options, {.iterations = 10});
  auto reader = openRun(folder / "run");
  std::vector<std::int64_t> recorded;
  for (const auto& state : reader->iterations(kRank0)) recorded.push_back(state.iteration);
  CHECK(recorded == std::vector<std::int64_t>{3, 6, 9});
  CHECK_FALSE(reader->stored(kRank0, at(3), graph.tensors()[0].id));
  const auto value = reader->tensor(kRank0, at(3), graph.tensors()[0].id);
  REQUIRE_FALSE(value.ok());
  CHECK(value.error().code() == core::ErrorCode::kUnavailable);
  CHECK_THAT(value.error().message(), Catch::Contains("--policy full"));
  CHECK(reader->statistics(kRank0, at(4), graph.tensors()[0].id).error().code() ==
        core::ErrorCode::kUnavailable);
}

TEST_CASE("An interrupted iteration is recorded up to where it came, and marked incomplete") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  const auto tanh = test::tensorNamed(graph, "network/Tanh-op1:0");
  test::Recording recording{.iterations = 2};
  recording.interruptedBefore = tanh;
  recording.end = {.state = "failed", .message = "exception"};
  test::record(folder / "run", graph, {}, recording);
  auto reader = openRun(folder / "run");
  const auto states = reader->iterations(kRank0);
  REQUIRE(states.size() == 3);
  CHECK(states[1].complete);
  CHECK_FALSE(states[2].complete);
  CHECK(reader->stored(kRank0, at(2), test::tensorNamed(graph, "network/a/Relu-op1:0")));
  CHECK_FALSE(reader->stored(kRank0, at(2), tanh));
  CHECK(reader->stored(kRank0, at(1), tanh));
  CHECK_THAT(reader->statistics(kRank0, at(2), tanh).error().message(), Catch::Contains("interrupted"));
  CHECK(reader->rankEnd(kRank0)->message == "exception");
  CHECK(reader->verify({}, {}).empty());
}

TEST_CASE("A segment is committed while training is busy elsewhere, and read while it is recorded") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  auto recorder = startRecorder(folder / "run", graph);
  test::feed(*recorder, graph, 0);
  test::feed(*recorder, graph, 1);
  CHECK(test::waitUntil([&] { return openRun(folder / "run")->iterations(kRank0).size() == 2; }));
  CHECK(openRun(folder / "run")->recording());
}

// How fast the machine is does not matter: whatever time passes, training does not get further than a second
// beyond the end of the oldest iteration that is not committed.
TEST_CASE("Training waits for an iteration that has been uncommitted for a second") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  auto recorder = startRecorder(folder / "run", graph);
  std::vector<Clock::time_point> ended;
  for (std::int64_t i = 0; segmentsIn(folder / "run") < 3; ++i) {
    const Clock::time_point before = Clock::now();
    test::feed(*recorder, graph, i);
    ended.push_back(Clock::now());
    const std::size_t committed = iterationsIn(folder / "run");
    if (committed < ended.size()) CHECK(before <= ended[committed] + 1s);
    std::this_thread::sleep_for(1ms);
  }
}

TEST_CASE("requestCommit commits sooner than waiting does") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  auto recorder = startRecorder(folder / "run", graph);
  std::size_t segments = 0;
  const auto timeToCommit = [&](bool requested) {
    const Clock::time_point start = Clock::now();
    test::feed(*recorder, graph, static_cast<std::int64_t>(segments));
    if (requested) recorder->requestCommit();
    ++segments;
    CHECK(test::waitUntil([&] { return segmentsIn(folder / "run") == segments; }));
    return Clock::now() - start;
  };
  const auto waited = timeToCommit(false);
  auto requested = timeToCommit(true);
  for (int i = 0; i < 5; ++i) requested = std::min(requested, timeToCommit(true));
  CHECK(requested < waited);
}

TEST_CASE(
    "finish from another thread while training is stuck records the iteration in progress; a second one is "
    "harmless") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  auto recorder = startRecorder(folder / "run", graph);
  test::feed(*recorder, graph, 0);
  test::feed(*recorder, graph, 1, 0, graph.tensors()[3].id);
  std::thread watchdog([&] { CHECK(recorder->finish({.state = "killed", .message = "hung"}).ok()); });
  watchdog.join();
  test::feed(*recorder, graph, 2);  // too late: not recorded, no harm
  CHECK(recorder->finish({.state = "finished"}).ok());
  auto reader = openRun(folder / "run");
  CHECK(reader->iterations(kRank0).size() == 2);
  CHECK_FALSE(reader->iterations(kRank0)[1].complete);
  CHECK(reader->rankEnd(kRank0)->state == "killed");
}

TEST_CASE("Training waits instead of filling the memory, and nothing is lost") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph(true);
  dump::RecordOptions options;
  options.bufferBytes = 3u << 20;  // one and a half iterations
  test::record(folder / "run", graph, options, {.iterations = 12});
  auto reader = openRun(folder / "run");
  CHECK(reader->iterations(kRank0).size() == 12);
  CHECK(reader->storage().segments > 3);
  CHECK(test::firstDifference(*reader, 0, 0) == "");
  CHECK(test::firstDifference(*reader, 0, 11) == "");
}

TEST_CASE("Beyond --max-size the newest tensors stay, statistics stay for ever") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph(true);
  dump::RecordOptions options;
  options.maxBytes = 8u << 20;
  test::record(folder / "run", graph, options, {.iterations = 20});
  auto reader = openRun(folder / "run");
  REQUIRE(reader->iterations(kRank0).size() == 20);
  const auto big = test::tensorNamed(graph, "network/Big-op1:0");
  CHECK_FALSE(reader->stored(kRank0, at(0), big));
  CHECK_THAT(reader->tensor(kRank0, at(0), big).error().message(), Catch::Contains("--max-size"));
  CHECK(reader->stored(kRank0, at(19), big));
  CHECK(reader->stored(kRank0, at(17), big));
  CHECK(test::firstDifference(*reader, 0, 19) == "");
  for (std::int64_t i = 0; i < 20; ++i) {
    const auto row = reader->statistics(kRank0, at(i), big);
    REQUIRE(row.ok());
    CHECK(row->values.hash == core::hashTensor(test::valueOf(graph.tensor(big), i)));
    CHECK(reader->scalar(kRank0, at(i), "loss"));
  }
  std::uint64_t bytes = 0, files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "run/rank_0")) {
    bytes += entry.file_size();
    ++files;
  }
  CHECK(bytes <= options.maxBytes);
  CHECK(files == static_cast<std::uint64_t>(reader->storage().segments) +
                     2);  // and the journal, and the copy of run.json
  CHECK(reader->verify({}, {}).empty());
}

TEST_CASE("With --keep-last the newest values stay, statistics stay for ever") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  dump::RecordOptions options = test::withoutReplay();
  options.keepLast = 3;
  test::record(folder / "run", graph, options, {.iterations = 9, .commitEach = true});
  auto reader = openRun(folder / "run");
  REQUIRE(reader->iterations(kRank0).size() == 9);
  for (std::int64_t i = 0; i < 9; ++i) {
    for (const auto& tensor : graph.tensors()) CHECK(reader->stored(kRank0, at(i), tensor.id) == (i >= 6));
    CHECK(reader->statistics(kRank0, at(i), graph.tensors()[0].id)->values.hash ==
          core::hashTensor(test::valueOf(graph.tensors()[0], i)));
  }
  CHECK(test::firstDifference(*reader, 0, 6) == "");
  CHECK_THAT(reader->tensor(kRank0, at(5), graph.tensors()[0].id).error().message(),
             Catch::Contains("--keep-last"));
  CHECK(reader->verify({}, {}).empty());
}

TEST_CASE("An iteration larger than --max-size keeps its statistics") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph(true);
  dump::RecordOptions options;
  options.maxBytes = 500000;
  test::record(folder / "run", graph, options, {.iterations = 3, .commitEach = true});
  auto reader = openRun(folder / "run");
  CHECK(reader->iterations(kRank0).size() == 3);
  for (const std::int64_t i : {0, 2}) {
    CHECK_FALSE(reader->stored(kRank0, at(i), graph.tensors()[0].id));
    const auto value = reader->tensor(kRank0, at(i), graph.tensors()[0].id);
    CHECK_THAT(value.error().message(), Catch::Contains("--max-size"));
    CHECK(reader->statistics(kRank0, at(i), graph.tensors()[0].id).ok());
  }
}

// For each iteration a line: when it began to be fed and when that had returned; killed from outside.
[[noreturn]] void recordUntilKilled(const std::filesystem::path& folder, const core::Graph& graph) {
  auto recorder =
      startRecorder(folder / "run", graph, 1);  // the parent's OpenMP threads are not in this process
  std::ofstream progress(folder / "progress");
  for (std::int64_t i = 0;; ++i) {
    const std::int64_t before = Clock::now().time_since_epoch().count();
    test::feed(*recorder, graph, i);
    progress << before << " " << Clock::now().time_since_epoch().count() << std::endl;
    std::this_thread::sleep_for(10ms);
  }
}

// What may be missing does not depend on the machine: an iteration is not fed on while one that ended over a
// second ago is uncommitted.
TEST_CASE("SIGKILL costs at most the last second of training and the iteration in progress") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph(true);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) recordUntilKilled(folder.path(), graph);
  CHECK(test::waitUntil([&] { return segmentsIn(folder / "run") >= 2; }));
  std::this_thread::sleep_for(300ms);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  std::ifstream progress(folder / "progress");
  const std::vector<std::int64_t> times{std::istream_iterator<std::int64_t>(progress), {}};
  const std::size_t fed = times.size() / 2;
  auto reader = openRun(folder / "run");
  const auto states = reader->iterations(kRank0);
  REQUIRE_FALSE(states.empty());
  CHECK(static_cast<std::int64_t>(states.size()) == states.back().iteration + 1);
  const std::int64_t second = Clock::duration(1s).count();
  if (states.size() < fed) CHECK(times[2 * fed - 2] <= times[2 * states.size() + 1] + second);
  for (const auto& state : states) CHECK(test::firstDifference(*reader, 0, state.iteration) == "");
  CHECK_FALSE(reader->rankEnd(kRank0));
  CHECK_FALSE(reader->recording());
  CHECK(reader->verify({}, {}).empty());
}

TEST_CASE("Each rank has its own folder, and the graph and sources are written once") {
  const test::TempDir folder;
  test::writeText(folder / "train.cpp", "int main() {\n  auto y = relu(x);\n}\n");
  const core::Graph graph = test::smallGraph(false, (folder / "train.cpp").string());
  for (const std::int64_t rank : {0, 1})
    test::record(folder / "run", graph, {}, {.iterations = 2, .rank = rank, .ranks = 2});
  auto reader = openRun(folder / "run");
  CHECK(reader->ranks().size() == 2);
  CHECK(test::firstDifference(*reader, 0, 1) == "");
  CHECK(test::firstDifference(*reader, 1, 1) == "");
  REQUIRE(reader->sourceFiles() == std::vector<std::string>{(folder / "train.cpp").string()});
  CHECK(reader->sourceText((folder / "train.cpp").string()) == "int main() {\n  auto y = relu(x);\n}\n");
  CHECK_FALSE(reader->sourceText("other.cpp"));
  CHECK(reader->verify({}, {}).empty());
}

TEST_CASE("A changed graph is a new version, and older iterations are still read") {
  const test::TempDir folder;
  const core::Graph first = test::smallGraph(), second = test::smallGraph(true);
  auto recorder = startRecorder(folder / "run", first);
  test::feed(*recorder, first, 0);
  recorder->graphReady(first);  // the same again: no new version
  recorder->graphReady(second);
  test::feed(*recorder, second, 1);
  REQUIRE(recorder->finish({.state = "finished"}).ok());
  CHECK(std::distance(std::filesystem::directory_iterator(folder / "run/graphs"), {}) == 2);
  auto reader = openRun(folder / "run");
  CHECK(test::firstDifference(*reader, 0, 1) == "");
  const auto label = test::tensorNamed(reader->graph(), "network/label:0");
  const auto value = reader->tensor(kRank0, at(0), label);
  REQUIRE(value.ok());
  CHECK(value->at(2) == test::valueOf(first.tensors()[1], 0).at(2));
  CHECK_FALSE(reader->stored(kRank0, at(0), test::tensorNamed(reader->graph(), "network/Big-op1:0")));
  CHECK(reader->verify({}, {}).empty());
}

TEST_CASE("A changed shape starts a new segment") {
  const test::TempDir folder;
  core::Graph graph("network");
  core::TensorInfo tensor;
  tensor.name = "network/x";
  tensor.shape = {-1, 3};
  graph.addSource(tensor);
  auto recorder = startRecorder(folder / "run", graph);
  for (std::int64_t i = 0; i < 4; ++i) {
    recorder->iterationStarted(at(i));
    recorder->tensorReady(
        {at(i), core::TensorId(0), core::Tensor::zeros(core::DType::Float32, {i / 2 + 1, 3})});
    recorder->iterationFinished(at(i), {});
  }
  REQUIRE(recorder->finish({.state = "finished"}).ok());
  CHECK(segmentsIn(folder / "run") == 2);
  auto reader = openRun(folder / "run");
  CHECK(reader->tensor(kRank0, at(1), core::TensorId(0))->shape() == core::Shape{1, 3});
  CHECK(reader->tensor(kRank0, at(2), core::TensorId(0))->shape() == core::Shape{2, 3});
}

TEST_CASE("--commit-every says how long what is finished may wait for the disk") {
  for (const double seconds : {1.0, 60.0}) {
    CAPTURE(seconds);
    const test::TempDir folder;
    const core::Graph graph = test::smallGraph();
    dump::RecordOptions options;
    options.commitSeconds = seconds;
    auto recorder = startRecorder(folder / "run", graph, 2, options);
    test::feed(*recorder, graph, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    test::feed(*recorder, graph, 1);  // who is late waits here
    CHECK((segmentsIn(folder / "run") > 0) == (seconds == 1));
    REQUIRE(recorder->finish({.state = "finished"}).ok());
    CHECK(openRun(folder / "run")->iterations(kRank0).size() == 2);
  }
}
