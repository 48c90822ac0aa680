// Iterations that do otherwise than the graph says: what whoever computes them again builds on.
#include <catch2/catch.hpp>
#include <cstring>
#include <set>

#include "core_engine/runtime/executor.h"
#include "tests/support/small_models.h"

using namespace msdbg::core;

namespace {

struct Seen : Observer {
  std::set<TensorId> tensors;
  std::function<void(TensorId)> at = [](TensorId) {};
  void graphReady(const Graph&) override {}
  void iterationStarted(Iteration) override {}
  void tensorReady(const TensorReady& ready) override {
    tensors.insert(ready.tensor);
    at(ready.tensor);
  }
  void iterationFinished(Iteration, const Scalars&) override {}
};

struct Training {
  Graph graph;
  std::unique_ptr<Executor> executor;

  explicit Training(const std::vector<std::string>& replaceable = {}) : graph("network") {
    const Value loss = msdbg::test::smallClassifier(graph);
    REQUIRE(compileTraining(graph, loss.id(), Sgd{.lr = 0.1, .momentum = 0.9}, 1).ok());
    ExecutorOptions options;
    for (const std::string& name : replaceable) options.replaceable.push_back(*graph.findNode(name));
    executor = Executor::create(graph, options).orThrow();
  }
  Status run(Observer* observer, const Detour& detour) {
    return executor->run(Iteration(0), msdbg::test::smallFeeds(graph), observer, detour);
  }
  NodeId firstRelu() const {
    for (const Node& node : graph.nodes())
      if (node.opType == "Relu") return node.id;
    return {};
  }
};

bool sameBits(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

}  // namespace

TEST_CASE("An iteration stops after the node that it is told to stop at") {
  Training t;
  const NodeId last = t.firstRelu();
  REQUIRE(last.valid());
  Seen seen;
  REQUIRE(t.run(&seen, {.last = last}).ok());
  for (const Node& node : t.graph.nodes())
    for (const TensorId output : node.outputs) CHECK(seen.tensors.contains(output) == (node.id <= last));
}

TEST_CASE(
    "An iteration is cancelled between two kernels, and goes on as if nothing had been once all is set") {
  Training t, plain;
  Seen seen;
  CancelToken cancel;
  std::vector<std::pair<TensorId, Tensor>> carried;
  for (const TensorInfo& info : t.graph.tensors())
    if (info.role == TensorRole::kParameter || info.role == TensorRole::kOptimizerState)
      carried.emplace_back(info.id, t.executor->value(info.id).clone());
  const NodeId last = t.firstRelu();
  seen.at = [&](TensorId id) {
    if (t.graph.tensor(id).producer == last) cancel.cancel();
  };
  const Status status = t.run(&seen, {.cancel = cancel});
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code() == ErrorCode::kCancelled);
  CHECK_THAT(status.error().message(), Catch::Contains(t.graph.nodes()[last.index() + 1].name));
  for (const auto& [id, value] : carried) REQUIRE(t.executor->setValue(id, value).ok());
  REQUIRE(t.run(nullptr, {}).ok());
  REQUIRE(plain.run(nullptr, {}).ok());
  for (const auto& [id, value] : carried) CHECK(sameBits(t.executor->value(id), plain.executor->value(id)));
}

TEST_CASE("A value takes the place of what a node computes, and what follows is computed from it") {
  Training finder;
  const std::string name = finder.graph.node(finder.firstRelu()).name;
  Training t({name}), plain;
  const TensorId output = t.graph.node(t.firstRelu()).outputs.front();
  const TensorInfo& info = t.graph.tensor(output);
  const Tensor zeros = Tensor::zeros(info.dtype, info.shape);
  Seen seen;
  REQUIRE(t.run(&seen, {.values = {{output, zeros}}}).ok());
  CHECK(sameBits(t.executor->value(output), zeros));
  REQUIRE(plain.run(nullptr, {}).ok());
  const auto weight = *t.graph.findTensor("network/fc2/weight:0");
  // SGD's step is the gradient, and that of a weight behind zeros is zero but for nothing.
  CHECK_FALSE(sameBits(t.executor->value(weight), plain.executor->value(weight)));

  const Status unannounced = plain.run(nullptr, {.values = {{output, zeros}}});
  REQUIRE_FALSE(unannounced.ok());
  CHECK_THAT(unannounced.error().message(), Catch::Contains("was not announced"));
  const Status wrong = t.run(nullptr, {.values = {{output, Tensor::zeros(DType::Float32, {1})}}});
  REQUIRE_FALSE(wrong.ok());
  CHECK_THAT(wrong.error().message(), Catch::Contains("float32[1]"));
}
