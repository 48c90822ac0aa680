// Programs of other frameworks, recorded through ForeignRecording: what they define and see, read back.
#include "dump/python/record/foreign_recording.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "core_engine/graph/graph_text.h"
#include "tests/dump/foreign_program.h"
#include "tests/support/environment.h"

using namespace msdbg;
using namespace msdbg::test::foreign;

TEST_CASE("What a foreign program saw is read back, with its lines, statistics and changes") {
  Program program;
  for (std::int64_t i = 0; i < 3; ++i) program.iterate(i, true);
  program.recording->finish({.state = "finished"});
  const auto reader = test::openRun(program.run);
  CHECK(reader->info().backend == "pytorch cpu");
  CHECK(reader->info().end.state == "finished");
  const core::Graph& graph = reader->graph();
  const core::Node& relu = graph.node(*graph.findNode("Net/relu-op1"));
  CHECK(core::qualifiedType(relu) == "aten.relu");
  CHECK(graph.userFrame(relu.frames)->line == 3);
  const TensorId y = *graph.findTensor("Net/relu-op1"), next = *graph.findTensor("update/Net/SGD-op1");
  const auto row = reader->statistics(Rank(0), Iteration(0), y).orThrow();
  CHECK(row.values.hash == core::hashTensor(filled({2, 3}, 0)));
  CHECK(row.values.zero == 6);
  REQUIRE(row.activation);  // relu is our Relu: a share of its elements is counted
  CHECK(row.activation->shareInRange == 1);
  const auto change = reader->statistics(Rank(0), Iteration(2), next).orThrow().change;
  REQUIRE(change);
  CHECK(change->meanAbsChange == 0.5);
  CHECK(reader->verify({}, {}).empty());
}

TEST_CASE("Where tensors lie and what modules are is read back; the first that is said counts") {
  Program program;
  dump::Definitions& all = program.recording->definitions();
  CHECK(all.setDevice(program.x, "cuda:0").ok());
  CHECK(all.setDevice(program.x, "cpu").ok());
  CHECK(all.setDevice(program.y, "cuda:1").ok());
  CHECK(all.setDevice(TensorId(99), "cpu").error().message() == "device: there is no tensor 99");
  all.module("Net", "Net");
  all.module("Net/fc", "Linear");
  CHECK(program.recording->setMesh({"dp", 0, 2}).ok());
  CHECK(program.recording->setMesh({"tp", 3, 4}).ok());
  CHECK(program.recording->setMesh({"dp", 1, 2}).ok());
  CHECK(program.recording->setMesh({"dp", 2, 2}).error().message() ==
        "mesh: there is no place 2 of 2 along 'dp'");
  program.iterate(0, true);
  program.recording->finish({.state = "finished"});
  const auto reader = test::openRun(program.run);
  const std::vector<dump::MeshAxis> mesh = reader->mesh(Rank(0));
  REQUIRE(mesh.size() == 2);
  CHECK((mesh[0].name == "dp" && mesh[0].index == 1 && mesh[0].size == 2));
  CHECK((mesh[1].name == "tp" && mesh[1].index == 3 && mesh[1].size == 4));
  CHECK(reader->mesh(Rank(1)).empty());
  const core::Graph& graph = reader->graph();
  CHECK(graph.tensor(*graph.findTensor("input/x:0")).device == "cuda:0");
  CHECK(graph.tensor(*graph.findTensor("Net/relu-op1:0")).device == "cuda:1");
  CHECK(graph.tensor(*graph.findTensor("Net/w:0")).device.empty());
  CHECK(graph.modules().at("Net/fc") == "Linear");
}

TEST_CASE("Iterations that leave out a part of the graph are of the same graph") {
  Program program;
  std::int64_t iteration = 0;
  for (const bool dropped : {false, true, false, true, false}) program.iterate(iteration++, dropped);
  CHECK(program.graphs() == 2);
}

TEST_CASE("A shape that changes costs one graph, and is unknown from then on") {
  Program program;
  for (std::int64_t i = 0; i < 6; ++i) program.iterate(i, true, 2 + i % 3);
  program.recording->finish({.state = "finished"});
  CHECK(program.graphs() == 2);
  const auto reader = test::openRun(program.run);
  const auto last = reader->recordedGraph(Rank(0), Iteration(5)).orThrow();
  CHECK(last.tensor(*last.findTensor("Net/relu-op1")).shape == core::Shape({-1, 3}));
  CHECK(reader->statistics(Rank(0), Iteration(4), *reader->graph().findTensor("Net/relu-op1"))
            .orThrow()
            .values.count == 9);
}

TEST_CASE("A node that reads something else stays that node, in another graph") {
  Program program;
  program.iterate(0, true);
  const NodeId other = program.node("Net/mul-op1", "mul", {program.x},
                                    {info("", {2, 3}, TensorRole::kActivation)}, {program.line});
  CHECK(other == program.drop);
  REQUIRE(program.recording->begin(Iteration(1)).ok());
  REQUIRE(program.recording->ran(program.relu).ok());
  REQUIRE(program.recording->ran(other).ok());
  const core::Status again = program.recording->ran(program.drop);
  REQUIRE_FALSE(again.ok());
  CHECK(again.error().message() == "Net/mul-op1 ran already in this iteration");
  REQUIRE(program.recording->end({}).ok());
  CHECK(program.graphs() == 2);
  program.recording->finish({.state = "finished"});
  const auto graph = test::openRun(program.run)->recordedGraph(Rank(0), Iteration(1)).orThrow();
  CHECK(graph.tensor(graph.node(*graph.findNode("Net/mul-op1")).inputs[0]).name == "input/x");
  CHECK(graph.findNode("update/Net/SGD-op1"));  // which did not run, and could have
}

TEST_CASE("An operator of the forward pass that another line calls is another node of that name") {
  Program program;
  program.iterate(0, true);
  const core::FrameId elsewhere =
      program.recording->definitions().frame({"train.py", 9, "play", "score = a * b", false});
  const NodeId other =
      program.node("Net/mul-op1", "mul", {program.x}, {info("", {4}, TensorRole::kActivation)}, {elsewhere});
  CHECK(other != program.drop);
  REQUIRE(program.recording->begin(Iteration(1)).ok());
  REQUIRE(program.recording->ran(other).ok());
  REQUIRE(program.recording->end({}).ok());
  program.recording->finish({.state = "finished"});
  const core::Graph graph = test::openRun(program.run)->graph();
  const core::Node &newest = graph.node(*graph.findNode("Net/mul-op1")),
                   &older = graph.node(*graph.findNode("Net/mul-op1@2"));
  CHECK(graph.frame(newest.frames.front()).line == 9);
  CHECK(graph.frame(older.frames.front()).line == 3);
  CHECK(graph.tensor(newest.outputs.front()).shape == core::Shape({4}));  // each has its own
}

TEST_CASE("A node that turns out to have run before one that ran already gives it what it reads") {
  Program program;
  dump::ForeignRecording& recording = *program.recording;
  program.iterate(0, true);
  const NodeId outside = program.node("Net/written_outside-op1", "written_outside", {program.y},
                                      {info("", {2, 3}, TensorRole::kActivation)}, {});
  const TensorId written = recording.definitions().node(outside).outputs[0];
  REQUIRE(recording.begin(Iteration(1)).ok());
  CHECK_FALSE(recording.isFinite(program.y));  // that was in another iteration
  program.saw(program.x, filled({2, 3}, 1));
  REQUIRE(recording.ran(program.relu).ok());
  program.saw(program.y, filled({2, 3}, 1));
  CHECK(recording.isFinite(program.y) == true);
  CHECK_FALSE(recording.ranBefore(outside, program.drop, {written}).ok());  // that has not run
  REQUIRE(recording.ran(program.drop).ok());
  program.saw(program.z, filled({2, 3}, NAN));
  CHECK(recording.isFinite(program.z) == false);
  REQUIRE(recording.ranBefore(outside, program.drop, {written}).ok());
  program.saw(written, filled({2, 3}, NAN));
  REQUIRE(recording.end({}).ok());
  recording.finish({.state = "finished"});
  const auto graph = test::openRun(program.run)->recordedGraph(Rank(0), Iteration(1)).orThrow();
  const core::Node& drop = graph.node(*graph.findNode("Net/mul-op1"));
  CHECK(graph.tensor(drop.inputs[0]).fullName() == "Net/written_outside-op1:0");
  CHECK(*graph.findNode("Net/written_outside-op1") < drop.id);
}

TEST_CASE("A name whose output is of another kind is another node: one graph has one") {
  Program program;
  program.iterate(0, true);
  core::TensorInfo wide = info("", {2, 3}, TensorRole::kActivation);
  wide.dtype = core::DType::Float64;
  const NodeId other = program.node("Net/mul-op1", "mul", {program.y}, {wide}, {});
  CHECK(other != program.drop);
  REQUIRE(program.recording->begin(Iteration(1)).ok());
  REQUIRE(program.recording->ran(program.relu).ok());
  REQUIRE(program.recording->ran(other).ok());
  REQUIRE(program.recording->end({}).ok());
  CHECK(program.graphs() == 2);
}

TEST_CASE("A node that reads what nothing made is refused with its name, and the next iteration goes on") {
  Program program;
  REQUIRE(program.recording->begin(Iteration(0)).ok());
  REQUIRE(program.recording->ran(program.drop).ok());
  const core::Status ended = program.recording->end({});
  REQUIRE_FALSE(ended.ok());
  CHECK(ended.error().message() ==
        "Net/mul-op1 reads Net/relu-op1, which nothing made before it in this iteration");
  program.iterate(1, true);
  CHECK(program.recording->active());
}

TEST_CASE("An iteration in progress is recorded as incomplete, a failure with its text") {
  Program program;
  program.iterate(0, true);
  REQUIRE(program.recording->begin(Iteration(1)).ok());
  program.saw(program.x, filled({2, 3}, 4));
  program.recording->finish({.state = "failed", .message = "ValueError: no such thing"});
  const auto reader = test::openRun(program.run);
  CHECK(reader->incompleteIterations(Rank(0)) == std::vector<std::int64_t>{1});
  CHECK(reader->info().end.state == "failed");
  CHECK_THAT(reader->info().end.message, Catch::Contains("ValueError: no such thing"));
}

TEST_CASE("What a program that finished began to compute after its last step is no iteration") {
  Program program;
  program.iterate(0, true);
  REQUIRE(program.recording->begin(Iteration(1)).ok());
  program.saw(program.x, filled({2, 3}, 4));
  REQUIRE(program.recording->ran(program.relu).ok());
  SECTION("an evaluation") {
    program.recording->finish({.state = "finished"});
    CHECK(test::openRun(program.run)->incompleteIterations(Rank(0)).empty());
  }
  SECTION("but a backward pass is") {
    core::Node node;
    node.name = "grad/Net/relu-op1";
    node.opType = "relu";
    node.phase = core::Phase::kBackward;
    const NodeId backward = program.recording->definitions()
                                .node(std::move(node), {info("", {2, 3}, TensorRole::kGradient)})
                                .orThrow();
    REQUIRE(program.recording->ran(backward).ok());
    program.recording->finish({.state = "finished"});
    CHECK(test::openRun(program.run)->incompleteIterations(Rank(0)) == std::vector<std::int64_t>{1});
  }
}

TEST_CASE("The norm of the gradients is of the last one of each parameter, unless the program told it") {
  Program program;
  core::TensorInfo of = info("", {2}, TensorRole::kGradient);
  of.gradientOf = program.w;
  const NodeId first = program.node("grad/Net/AccumulateGrad-op1", "AccumulateGrad", {}, {of}, {});
  const NodeId second = program.node("grad/Net#2/AccumulateGrad-op1", "AccumulateGrad", {}, {of}, {});
  const auto iterate = [&](std::int64_t number, float gradient, const core::Scalars& scalars) {
    REQUIRE(program.recording->begin(Iteration(number)).ok());
    for (const NodeId node : {first, second}) {
      REQUIRE(program.recording->ran(node).ok());
      program.saw(program.recording->definitions().node(node).outputs[0],
                  filled({2}, node == first ? 100.0F : gradient));
    }
    REQUIRE(program.recording->end(scalars).ok());
  };
  iterate(0, 3, {});
  iterate(1, 3, {{"gradient_norm", 7.0}});
  iterate(2, std::numeric_limits<float>::infinity(), {});
  program.recording->finish({.state = "finished"});
  const auto reader = test::openRun(program.run);
  const auto norm = [&](std::int64_t i) {
    return reader->scalar(Rank(0), Iteration(i), "gradient_norm").value_or(-1);
  };
  CHECK(norm(0) == Approx(std::sqrt(18.0)));
  CHECK(norm(1) == 7);
  CHECK(std::isinf(norm(2)));
}

TEST_CASE("A value that is another view of the bytes has the shape that its tensor was defined with") {
  const test::Environment variable("MSDBG_DUMP_OPTIONS", R"({"policy":"full"})");
  Program program;
  for (std::int64_t i = 0; i < 2; ++i) {
    REQUIRE(program.recording->begin(Iteration(i)).ok());
    program.saw(program.x, filled({1, 2}, 4));
    REQUIRE(program.recording->sawSame(program.w, program.x).ok());
    REQUIRE(program.recording->end({}).ok());
  }
  REQUIRE(program.recording->begin(Iteration(2)).ok());
  program.saw(program.x, filled({3}, 4));  // of another number of dimensions
  REQUIRE(program.recording->end({}).ok());
  REQUIRE(program.recording->begin(Iteration(3)).ok());
  program.saw(program.x, filled({2, 3}, 5));
  REQUIRE(program.recording->end({}).ok());
  program.recording->finish({.state = "finished"});
  const auto reader = test::openRun(program.run);
  CHECK(reader->verify({}, {}).empty());
  CHECK(reader->graph().tensor(*reader->graph().findTensor("Net/w")).shape == core::Shape({2}));
  const auto last = reader->tensor(Rank(0), Iteration(3), *reader->graph().findTensor("input/x")).orThrow();
  CHECK(core::TensorValue{last} == core::TensorValue{filled({6}, 5)});
}

TEST_CASE("Values are kept where the environment asks for them") {
  const test::Environment variable("MSDBG_DUMP_OPTIONS", R"({"policy":"full"})");
  Program program;
  program.iterate(0, true);
  program.iterate(1, false);
  program.recording->finish({.state = "finished"});
  const auto reader = test::openRun(program.run);
  const auto value = reader->tensor(Rank(0), Iteration(1), *reader->graph().findTensor("input/x")).orThrow();
  CHECK(core::TensorValue{value} == core::TensorValue{filled({2, 3}, 0)});
}

TEST_CASE("Checkpoints are values of parameters here, batches are the inputs") {
  const test::Environment variable("MSDBG_DUMP_OPTIONS", R"({"checkpoint_every":2,"batches":true})");
  Program program;
  for (int i = 0; i < 4; ++i) {
    REQUIRE(program.recording->begin(Iteration(i)).ok());
    program.saw(program.x, filled({2, 3}, static_cast<float>(i) - 1));
    program.saw(program.w, filled({2}, static_cast<float>(i)));
    REQUIRE(program.recording->ran(program.relu).ok());
    program.saw(program.y, filled({2, 3}, 1));
    REQUIRE(program.recording->end({{"loss", 1.0}}).ok());
  }
  program.recording->finish({.state = "finished"});
  const auto reader = test::openRun(program.run);
  const auto valueOf = [&](const char* name, int iteration) {
    return reader->tensor(Rank(0), Iteration(iteration), *reader->graph().findTensor(name));
  };
  CHECK(reader->iterationSet(Rank(0)).size() == 4);
  for (int i = 0; i < 4; ++i) {
    CHECK(valueOf("Net/w", i).ok() == (i % 2 == 0));
    CHECK(core::TensorValue{valueOf("input/x", i).orThrow()} ==
          core::TensorValue{filled({2, 3}, static_cast<float>(i) - 1)});
  }
}

TEST_CASE("A forked child leaves the journal to its parent") {
  Program program;
  program.iterate(0, true);
  const pid_t child = fork();
  if (child == 0) {
    program.recording->leaveToParent();
    pause();
    _exit(0);
  }
  program.recording->finish({.state = "finished"});
  CHECK(test::waitUntil([&] { return !test::openRun(program.run)->recording(); }));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_CASE("What an iteration reads is what the update before made, unless its bytes say otherwise") {
  Program program;
  for (std::int64_t i = 0; i < 3; ++i) {
    REQUIRE(program.recording->begin(Iteration(i)).ok());
    const float now = i == 2 ? 7 : static_cast<float>(i);  // the third was set from outside
    program.saw(program.w, filled({2}, now));
    REQUIRE(program.recording->ran(program.update).ok());
    program.saw(program.next, filled({2}, static_cast<float>(i + 1)));
    REQUIRE(program.recording->end({}).ok());
  }
  program.recording->finish({.state = "finished"});
  const auto reader = test::openRun(program.run);
  const TensorId w = *reader->graph().findTensor("Net/w");
  for (const auto& [iteration, mean] : {std::pair{0, 0.0}, {1, 1.0}, {2, 7.0}})
    CHECK(reader->statistics(Rank(0), Iteration(iteration), w).orThrow().values.mean == mean);
}

namespace {

core::Node backwardNode(const std::string& name, TensorId reads, NodeId derivedFrom) {
  core::Node node;
  node.name = name;
  node.opType = "mul";
  node.domain = "aten";
  node.phase = core::Phase::kBackward;
  node.inputs = {reads};
  node.derivedFrom = derivedFrom;
  return node;
}

}  // namespace

TEST_CASE(
    "The backward pass of a backward pass leads to the forward node, and nowhere if it leads in a ring") {
  Program program;
  dump::Definitions& all = program.recording->definitions();
  const auto define = [&](const std::string& name, TensorId reads, NodeId of) {
    return all.node(backwardNode(name, reads, of), {info("", {2, 3}, TensorRole::kGradient)}).orThrow();
  };
  const NodeId first = define("grad/Net/mul-op1", program.y, program.relu);
  const NodeId second = define("grad/grad/Net/mul-op1", all.node(first).outputs[0], first);
  const auto iterate = [&](std::int64_t iteration) {
    REQUIRE(program.recording->begin(Iteration(iteration)).ok());
    for (const NodeId node : {program.relu, first, second}) {
      REQUIRE(program.recording->ran(node).ok());
      program.saw(all.node(node).outputs[0], filled({2, 3}, 1));
    }
    REQUIRE(program.recording->end({}).ok());
  };
  iterate(0);
  CHECK(define("grad/Net/mul-op1", program.y, second) == first);  // as another iteration had it
  iterate(1);
  program.recording->finish({.state = "finished"});
  const auto reader = test::openRun(program.run);
  for (const std::int64_t iteration : {0, 1}) {
    const auto graph = reader->recordedGraph(Rank(0), Iteration(iteration)).orThrow();
    const NodeId from = graph.node(*graph.findNode("grad/grad/Net/mul-op1")).derivedFrom;
    CHECK(from.valid() == (iteration == 0));
    if (iteration == 0) CHECK(graph.node(from).name == "Net/relu-op1");
  }
}

TEST_CASE("A folder that is there is refused, and nothing of it changes") {
  const test::TempDir folder;
  const auto run = folder / "run";
  std::filesystem::create_directory(run);
  test::writeText(run / "precious", "mine");
  dump::ForeignSettings settings;
  settings.run = run;
  settings.create = true;
  const auto refused = dump::ForeignRecording::open(settings);
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(refused.error().message(), Catch::Contains("is there already; name another folder"));
  CHECK(std::distance(std::filesystem::directory_iterator(run), {}) == 1);
}

TEST_CASE("A recorder that cannot begin leaves a run that says so") {
  const test::TempDir folder;
  const auto run = folder / "run";
  test::writeInfo(run);
  test::writeText(run / "rank_0", "no folder");
  dump::ForeignSettings settings;
  settings.run = run;
  settings.create = false;
  CHECK_FALSE(dump::ForeignRecording::open(settings).ok());
  const auto info = dump::readRunInfo(run).orThrow();
  CHECK(info.end.state == "failed");
  CHECK_THAT(info.end.message, Catch::Contains("rank_0"));
}

TEST_CASE("Some iterations of another level do not widen the rows of all that follow") {
  Program program;
  std::vector<NodeId> wide;
  for (int i = 0; i < 40; ++i)
    wide.push_back(program.node("Net/exp-op" + std::to_string(i), "exp", {program.x},
                                {info("", {2, 3}, TensorRole::kActivation)}, {}));
  const auto iterate = [&](std::int64_t first, std::int64_t last, bool isWide) {
    for (std::int64_t i = first; i <= last; ++i) {
      REQUIRE(program.recording->begin(Iteration(i)).ok());
      program.saw(program.x, filled({2, 3}, 1));
      REQUIRE(program.recording->ran(program.relu).ok());
      program.saw(program.y, filled({2, 3}, static_cast<float>(i)));
      for (const NodeId node : isWide ? wide : std::vector<NodeId>()) {
        REQUIRE(program.recording->ran(node).ok());
        program.saw(program.recording->definitions().node(node).outputs[0], filled({2, 3}, 2));
      }
      REQUIRE(program.recording->end({{"loss", 1.0}}).ok());
    }
  };
  iterate(0, 4, false);
  iterate(5, 7, true);
  iterate(8, 60, false);
  iterate(61, 62, true);
  for (std::int64_t i = 63; i < 90; ++i) iterate(i, i, i % 10 == 0);  // in turns: it stays
  program.recording->finish({.state = "finished"});
  const auto reader = test::openRun(program.run);
  const auto tensorsIn = [&](std::int64_t iteration) {
    return reader->recordedGraph(Rank(0), Iteration(iteration)).orThrow().tensors().size();
  };
  CHECK(tensorsIn(4) == 2);
  CHECK(tensorsIn(7) == 42);
  CHECK(tensorsIn(60) == 2);
  CHECK(tensorsIn(62) == 42);
  CHECK(tensorsIn(89) == 42);
  CHECK(program.graphs() == 2);  // equal ones are one
  const TensorId y = *reader->graph().findTensor("Net/relu-op1"),
                 exp = *reader->graph().findTensor("Net/exp-op7");
  for (const std::int64_t i : {0, 6, 20, 60, 61, 89})
    CHECK(reader->statistics(Rank(0), Iteration(i), y)->values.max == static_cast<double>(i));
  CHECK(reader->statistics(Rank(0), Iteration(6), exp).ok());
  CHECK_FALSE(reader->statistics(Rank(0), Iteration(60), exp).ok());
  CHECK(reader->damage().empty());
}
