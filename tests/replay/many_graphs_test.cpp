// A run whose ranks and iterations have graphs of their own, held in memory and recorded: the same answers.
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <iterator>

#include "core_engine/train/layers.h"
#include "core_engine/train/trainer.h"
#include "dump/run_info.h"
#include "dump/writer/recorder.h"
#include "replay/findings.h"
#include "replay/run.h"
#include "replay/search.h"
#include "tests/replay/recorded_stages.h"
#include "tests/support/temp_dir.h"
#include "tests/train/plain_run.h"
#include "watchpoints/check.h"

namespace msdbg::test {

using core::Iteration;
using core::Rank;

namespace {

// NaN begins on rank 2 in iteration 4, where its logarithm is of a negative number that rank 0 sent.
Stages sick() {
  Stages stages(5, 3);
  stages.record(Rank(0), Iteration(4), "net/mul.Tensor-op1", {-1, 1});
  stages.record(Rank(0), Iteration(4), "net/send-op1", {-1, 1});
  stages.record(Rank(2), Iteration(4), "net/recv_-op1", {-1, 1});
  stages.record(Rank(2), Iteration(4), "net/log-op1", {NAN, 0});
  stages.record(Rank(2), Iteration(4), "net/div.Tensor-op1", {NAN, 1});
  stages.record(Rank(2), Iteration(4), "net/mean-op1", {NAN});
  stages.record(Rank(2), Iteration(4), "grad/net/div_backward-op1", {NAN, 1});
  stages.record(Rank(0), Iteration(4), "grad/net/recv_-op1", {NAN, 1});
  return stages;
}

std::unique_ptr<replay::Run> open(const std::filesystem::path& folder) {
  return replay::Run::open(folder).orThrow();
}

std::vector<std::string> answersOf(watch::Source& source) {
  std::vector<std::string> answers;
  const auto report = watch::check(source, watch::recommendedSet(), {});
  for (const auto* hits : {&report.hits, &report.hints})
    for (const watch::Hit& hit : *hits)
      answers.push_back(
          std::string(hit.condition->id) + " rank " + std::to_string(hit.rank.value) + " iteration " +
          std::to_string(hit.iteration.value) + " order " + std::to_string(hit.order) + " " +
          (hit.tensor.valid() ? source.graph().tensor(hit.tensor).fullName() : "") + ": " + hit.detail);
  return answers;
}

std::string textOf(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("Stages that are recorded are read back as they were") {
  const TempDir folder;
  Stages stages = sick();
  recordStages(stages, folder / "run");
  const auto run = open(folder / "run");
  CHECK(run->damage().empty());
  CHECK(run->verifiable()->verify({}, {}).empty());
  // Six graphs: of each rank, and of two ranks a later one.
  CHECK(std::distance(std::filesystem::directory_iterator(folder / "run/graphs"), {}) == 6);
  const core::Graph &graph = run->graph(), &held = stages.source.graph();
  REQUIRE(graph.nodes().size() == held.nodes().size());
  std::int64_t values = 0;
  for (const Rank rank : run->ranks())
    for (const Iteration iteration : run->iterations(rank))
      for (const core::TensorInfo& info : held.tensors()) {
        const core::TensorId id = graph.findTensor(info.fullName()).value();
        const core::GraphPart *part = run->part(rank, iteration),
                              *there = stages.source.part(rank, iteration);
        REQUIRE(part);
        CHECK(part->has(id) == there->has(info.id));
        CHECK(graph.tensor(id).dtype == info.dtype);
        const auto value = run->value(rank, iteration, id),
                   expected = stages.source.value(rank, iteration, info.id);
        CHECK(value.ok() == expected.ok());
        if (!value.ok() || !expected.ok()) continue;
        ++values;
        CHECK(core::hashTensor(*value) == core::hashTensor(*expected));
        CHECK(value->shape() == expected->shape());
        REQUIRE(run->statistics(rank, iteration, id));
      }
  CHECK(values == 194);
}

TEST_CASE("Recorded stages are judged as those that are held, and the stage that went wrong is named") {
  const TempDir folder;
  Stages stages = sick();
  recordStages(stages, folder / "run");
  const auto run = open(folder / "run");
  CHECK(answersOf(*run) == answersOf(stages.source));
  const auto report = watch::check(*run, watch::recommendedSet(), {});
  REQUIRE(report.first);
  CHECK(run->graph().node(report.first->node).name == "net/log-op1");
  CHECK(report.first->rank == Rank(2));
  CHECK(report.first->iteration == Iteration(4));
  CHECK(run->graph().userFrame(run->graph().node(report.first->node).frames)->line == 9);
  // What is wrong in stage 0 leads back to stage 1, through what was sent.
  const auto received = std::ranges::find_if(report.hits, [&](const watch::Hit& hit) {
    return hit.rank == Rank(0) && hit.condition->id == "nonfinite_propagation";
  });
  REQUIRE(received != report.hits.end());
  const auto steps = replay::whyChain(*run, *received);
  REQUIRE(steps.size() >= 2);
  CHECK(run->graph().tensor(steps[0].tensor).name == "grad/net/div_backward-op1");
  CHECK(steps[0].rank == Rank(2));
}

TEST_CASE("What a hit was made of is what its rank read, and what others brought") {
  const TempDir folder;
  recordStages(sick(), folder / "run");
  const auto run = open(folder / "run");
  const auto report = watch::check(*run, watch::recommendedSet(), {});
  const auto inputsOf = [&](std::int64_t rank, const std::string& node) {
    watch::Hit hit;
    hit.rank = Rank(rank);
    hit.iteration = Iteration(4);
    hit.node = run->graph().findNode(node).value();
    std::vector<std::string> names;
    for (const replay::HitInput& input : replay::hitInputs(*run, hit))
      names.push_back(run->graph().tensor(input.tensor).name + " of " + std::to_string(input.rank.value));
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(inputsOf(0, "net/mul.Tensor-op1") == Names{"net/x of 0", "net/w of 0"});
  CHECK(inputsOf(2, "net/mul.Tensor-op1") == Names{"net/recv_-op1 of 2", "net/w of 2"});
  CHECK(inputsOf(0, "grad/net/recv_-op1") == Names{"grad/net/div_backward-op1 of 2"});
  CHECK(inputsOf(1, "grad/net/allreduce_-op1") ==
        Names{"grad/net/mul_backward-op1 of 0", "grad/net/mul_backward-op1 of 1"});
  const auto first = replay::nodeText(run->graph(), *report.first);
  CHECK_THAT(first,
             Catch::Contains("net/log-op1 (forward, order " + std::to_string(report.first->order) + ")"));
}

TEST_CASE("Where one of several graphs is lost or changed, the others are read, and it is said") {
  const TempDir folder;
  const std::filesystem::path path = folder / "run";
  recordStages(Stages(2), path);
  const std::string journal = textOf(path / "rank_3/journal");
  const std::size_t at = journal.find("graphs/");
  const std::string file = journal.substr(at, journal.find('"', at) - at);
  SECTION("lost") { std::filesystem::remove(path / file); }
  SECTION("changed") { std::ofstream(path / file, std::ios::app) << "x"; }
  const auto run = open(path);
  REQUIRE(run->damage().size() == 1);
  CHECK(run->damage()[0].where == file);
  const core::TensorId sent = run->graph().findTensor("net/send-op1").value();
  CHECK(run->value(Rank(1), Iteration(1), sent).ok());
  CHECK(run->part(Rank(1), Iteration(1)) != nullptr);
  CHECK(run->part(Rank(3), Iteration(1)) == nullptr);  // nobody knows
  CHECK(run->value(Rank(3), Iteration(1), run->graph().findTensor("net/abs-op1").value()).ok());
  CHECK_FALSE(run->verifiable()->verify({}, {}).empty());
}

// Twice the same program, the second time with another layer.
core::Graph network(bool deep) {
  core::Graph graph("net");
  const core::Value x = graph.input("x", {8, 3}), label = graph.input("label", {8}, core::DType::Int64);
  core::Value y = core::linear(x, {.out = 2});
  if (deep) y = core::linear(core::relu(y), {.out = 2});
  (void)core::softmaxCrossEntropy(y, label);
  return graph;
}

void train(core::RunContext& run, bool deep, int steps) {
  core::Graph graph = network(deep);
  core::Trainer trainer(run, graph, core::Value(graph, graph.nodes().back().outputs[0]),
                        core::Sgd{.lr = 0.1F});
  for (int i = 0; i < steps; ++i) {
    core::Tensor x(core::DType::Float32, {8, 3}), label(core::DType::Int64, {8});
    for (std::size_t k = 0; k < 24; ++k)
      x.data<float>()[k] = static_cast<float>((k * 7 + static_cast<std::size_t>(i) * 5) % 11) / 5 - 1;
    for (std::size_t k = 0; k < 8; ++k) label.data<std::int64_t>()[k] = x.data<float>()[3 * k] > 0;
    trainer.step({trainer.iteration(), {{"x", x}, {"label", label}}});
  }
}

TEST_CASE("Where a later Trainer builds another graph, the structure that is judged is the newest") {
  const TempDir folder;
  const std::filesystem::path path = folder / "run";
  std::filesystem::create_directories(path);
  dump::RunInfo info;
  info.end.state = "finished";
  REQUIRE(dump::writeRunInfo(path, info).ok());
  {
    PlainRun context;
    dump::RecordOptions options;
    options.policy = dump::Policy::kFull;
    const auto recorder = dump::Recorder::create({.run = path}, options).orThrow();
    context.watching = recorder.get();
    train(context, false, 12);
    train(context, true, 8);
    REQUIRE(recorder->finish({.state = "finished"}).ok());
  }
  const auto run = open(path);
  const core::Graph& graph = run->graph();
  const core::Node& loss = graph.node(*graph.findNode("net/SoftmaxCrossEntropyLoss-op1"));
  CHECK(graph.tensor(loss.inputs[0]).name == "net/Gemm-op2");
  CHECK(run->part(Rank(0), Iteration(3))->has(loss.id));
  CHECK_FALSE(run->part(Rank(0), Iteration(10))->has(*graph.findNode("net/Gemm-op2")));
  const auto report = watch::check(*run, watch::recommendedSet(), {});
  CHECK(report.hits.empty());
  for (const auto* hits : {&report.hits, &report.hints})
    for (const watch::Hit& hit : *hits) {
      CAPTURE(hit.detail);
      CHECK(hit.condition->id != "no_gradient");
    }
}

TEST_CASE("Lines and names of any rank's graph are found") {
  const TempDir folder;
  recordStages(sick(), folder / "run");
  const auto run = open(folder / "run");
  const auto names = [&](const std::string& query) {
    std::vector<std::string> all;
    for (const core::NodeId node : replay::search(run->graph(), query).orThrow().nodes)
      all.push_back(run->graph().node(node).name);
    return all;
  };
  CHECK(names("train.py:8") == std::vector<std::string>{"net/sin-op1", "net/sin-op2", "net/sin-op3"});
  CHECK(names("log") == std::vector<std::string>{"net/log-op1"});
  CHECK(names("train.py:3") == std::vector<std::string>{"net/mul.Tensor-op1", "grad/net/mul_backward-op1"});
}

}  // namespace msdbg::test
