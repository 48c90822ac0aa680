#include "core_engine/passes/pipeline.h"

#include <catch2/catch.hpp>

#include "core_engine/graph/verify.h"
#include "tests/support/small_models.h"

using namespace msdbg::core;

namespace {

struct Compiled {
  Graph graph;
  TrainingGraph training;
  std::vector<PassLog> log;
  explicit Compiled(int ranks) {
    const Value loss = msdbg::test::smallClassifier(graph);
    auto result = compileTraining(graph, loss.id(), Sgd{.lr = 0.1, .momentum = 0.9}, ranks, &log);
    REQUIRE(result.ok());
    training = *result;
  }
};

}  // namespace

TEST_CASE("The training graph is forward, backward, collectives, updates") {
  const Compiled c(2);
  Phase last = Phase::kForward;
  const auto rankOf = [](Phase p) {
    return p == Phase::kForward ? 0 : p == Phase::kBackward ? 1 : p == Phase::kCollective ? 2 : 3;
  };
  int perPhase[4] = {};
  for (const Node& node : c.graph.nodes()) {
    CHECK(rankOf(node.phase) >= rankOf(last));
    last = node.phase;
    ++perPhase[rankOf(last)];
  }
  CHECK(perPhase[0] == 4);
  CHECK(perPhase[2] == 4);
  CHECK(perPhase[3] == 4);
  CHECK(verify(c.graph).ok());
  REQUIRE(c.log.size() == 7);
  CHECK(c.log[1].changed == "added 4 nodes");
}

TEST_CASE("One rank gets no collectives") {
  const Compiled c(1);
  for (const Node& node : c.graph.nodes()) CHECK(node.phase != Phase::kCollective);
  CHECK(c.log[1].changed == "(unchanged)");
}

TEST_CASE("Gradients of the last layer come first, and grad() names the reduced one") {
  const Compiled c(2);
  const auto& g = c.training.gradients;
  REQUIRE(g.size() == 4);
  CHECK(c.graph.tensor(g.front().parameter).name.find("network/fc2/") == 0);
  CHECK(c.graph.tensor(g.back().parameter).name.find("network/fc1/") == 0);
  for (const auto& [parameter, gradient] : g) {
    const std::string name = c.graph.tensor(parameter).name;
    CHECK(c.graph.findTensor("grad(" + name + ")") == gradient);
    CHECK(c.graph.node(c.graph.tensor(gradient).producer).opType == "Allreduce");
    CHECK(c.graph.tensor(gradient).replicated);
    const TensorId local = *c.graph.findTensor("local_grad(" + name + ")");
    CHECK_FALSE(c.graph.tensor(local).replicated);
    CHECK(c.graph.tensor(local).gradientOf == parameter);
  }
}

TEST_CASE("Derived nodes keep the frames of their forward node") {
  const Compiled c(2);
  for (const Node& node : c.graph.nodes()) {
    CHECK(node.derivedFrom.valid() == (node.phase != Phase::kForward));
    if (!node.derivedFrom.valid()) continue;
    const Node& forward = c.graph.node(node.derivedFrom);
    CHECK(forward.phase == Phase::kForward);
    CHECK(node.frames == forward.frames);
    CHECK_FALSE(node.frames.empty());
  }
}

TEST_CASE("Momentum and updates are tied to their parameter") {
  const Compiled c(1);
  const TensorId weight = *c.graph.findTensor("network/fc1/weight");
  const TensorId momentum = *c.graph.findTensor("momentum(network/fc1/weight)");
  const TensorId next = *c.graph.findTensor("next(network/fc1/weight)");
  CHECK(c.graph.tensor(next).updateOf == weight);
  CHECK(c.graph.tensor(next).role == TensorRole::kUpdated);
  CHECK(c.graph.tensor(momentum).role == TensorRole::kOptimizerState);
  const Node& update = c.graph.node(c.graph.tensor(next).producer);
  CHECK(update.inputs[0] == weight);
  CHECK(update.scope == "update/network/fc1");
  CHECK(c.graph.tensor(update.outputs[1]).updateOf == momentum);
}

TEST_CASE("A loss that depends on no parameter is refused") {
  Graph g;
  auto x = g.input("x", {4, 3});
  auto label = g.input("label", {4}, DType::Int64);
  const Value loss = softmaxCrossEntropy(x, label);
  const auto result = compileTraining(g, loss.id(), Sgd{}, 1);
  REQUIRE_FALSE(result.ok());
  CHECK_THAT(result.error().message(), Catch::Contains("no trainable parameter"));
}
