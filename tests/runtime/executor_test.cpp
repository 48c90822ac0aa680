#include "core_engine/runtime/executor.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <set>

#include "tests/support/small_models.h"

using namespace msdbg::core;

namespace {

class CountingObserver : public Observer {
 public:
  void graphReady(const Graph&) override {}
  void iterationStarted(Iteration) override { ++iterations; }
  void tensorReady(const TensorReady& ready) override {
    order.push_back(ready.tensor);
    copies.push_back(ready.value.clone());
    if (ready.previous) previousOf.insert(ready.tensor);
    if (ready.sameAs.valid()) same[ready.tensor] = ready.sameAs;
  }
  void kernelStarted(Iteration, KernelId) override { ++kernels; }
  void iterationFinished(Iteration, const Scalars&) override {}

  int iterations = 0, kernels = 0;
  std::vector<TensorId> order;
  std::vector<Tensor> copies;
  std::set<TensorId> previousOf;
  std::map<TensorId, TensorId> same;
};

struct Training {
  Graph graph;
  std::unique_ptr<Executor> executor;

  explicit Training(ExecutorOptions options = {}, DType dtype = DType::Float32) : graph("network", dtype) {
    const Value loss = msdbg::test::smallClassifier(graph);
    REQUIRE(compileTraining(graph, loss.id(), Sgd{.lr = 0.1, .momentum = 0.9}, 1).ok());
    auto created = Executor::create(graph, options);
    REQUIRE(created.ok());
    executor = std::move(*created);
  }
  void run(int iterations, Observer* observer = nullptr) {
    for (int i = 0; i < iterations; ++i)
      REQUIRE(executor->run(Iteration(i), msdbg::test::smallFeeds(graph), observer).ok());
  }
  const Tensor& value(const std::string& name) const { return executor->value(*graph.findTensor(name)); }
};

bool sameBits(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

}  // namespace

TEST_CASE("An observer sees every source before it is read, every node output in order, and changes no bit") {
  Training plain, observed;
  CountingObserver observer;
  plain.run(5);
  observed.run(5, &observer);
  for (const TensorInfo& t : plain.graph.tensors())
    CHECK(sameBits(plain.executor->value(t.id), observed.executor->value(t.id)));

  CHECK(observer.iterations == 5);
  CHECK(observer.kernels == 5 * static_cast<int>(plain.graph.nodes().size()));
  REQUIRE(observer.order.size() == 5 * plain.graph.tensors().size());
  NodeId last;
  std::set<TensorId> shown;
  for (std::size_t i = 0; i < plain.graph.tensors().size(); ++i) {
    const TensorInfo& t = plain.graph.tensor(observer.order[i]);
    CHECK(shown.insert(t.id).second);
    CHECK(t.updateOf.valid() == observer.previousOf.contains(t.id));
    if (t.isSource()) continue;
    CHECK(t.producer >= last);
    last = t.producer;
    for (const TensorId input : plain.graph.node(t.producer).inputs) CHECK(shown.contains(input));
  }
}

TEST_CASE("A parameter's value in an iteration is what the update of the one before made") {
  Training t;
  CountingObserver observer;
  t.run(3, &observer);
  const std::size_t n = t.graph.tensors().size();
  const TensorId weight = *t.graph.findTensor("network/fc1/weight"),
                 next = *t.graph.findTensor("next(network/fc1/weight)");
  const auto seen = [&](std::size_t iteration, TensorId id) -> const Tensor& {
    for (std::size_t i = iteration * n; i < (iteration + 1) * n; ++i)
      if (observer.order[i] == id) return observer.copies[i];
    FAIL("tensor not seen");
    return observer.copies[0];
  };
  CHECK(sameBits(seen(0, next), seen(1, weight)));
  CHECK(sameBits(seen(1, next), seen(2, weight)));
  CHECK_FALSE(sameBits(seen(0, weight), seen(1, weight)));
  CHECK(sameBits(seen(2, next), t.value("network/fc1/weight")));
}

TEST_CASE("A source has its update's bytes where the observer saw those and nothing was written since") {
  Training t;
  CountingObserver observer, other;
  const auto sameIn = [&](std::int64_t iteration, CountingObserver* watching) {
    if (watching) watching->same.clear();
    REQUIRE(t.executor->run(Iteration(iteration), msdbg::test::smallFeeds(t.graph), watching).ok());
    return watching ? watching->same : std::map<TensorId, TensorId>{};
  };
  std::map<TensorId, TensorId> updated;
  for (const TensorInfo& info : t.graph.tensors())
    if (info.updateOf.valid()) updated[info.updateOf] = info.id;
  REQUIRE(updated.size() > 4);
  CHECK(sameIn(0, &observer).empty());
  CHECK(sameIn(1, &observer) == updated);
  CHECK(sameIn(2, &other).empty());
  CHECK(sameIn(3, &observer).empty());
  CHECK(sameIn(4, &observer) == updated);
  sameIn(5, nullptr);
  CHECK(sameIn(6, &observer).empty());
  const TensorId weight = *t.graph.findTensor("network/fc1/weight");
  REQUIRE(t.executor->setValue(weight, t.executor->value(weight).clone()).ok());
  CHECK(sameIn(7, &observer).empty());
  REQUIRE(t.executor->evaluate(msdbg::test::smallFeeds(t.graph)).ok());
  CHECK(sameIn(8, &observer).empty());
  REQUIRE_FALSE(t.executor->run(Iteration(9), {}, &observer).ok());
  CHECK(sameIn(9, &observer) == updated);  // it failed before it began
}

TEST_CASE("SGD with momentum follows its formula") {
  Training t({.backend = BackendKind::kReference}, DType::Float64);
  std::vector<double> weight, velocity;
  for (int i = 0; i < 4; ++i) {
    const Tensor before = t.value("network/fc1/weight").clone();
    REQUIRE(t.executor->run(Iteration(i), msdbg::test::smallFeeds(t.graph), nullptr).ok());
    const Tensor& gradient = t.value("grad(network/fc1/weight)");
    const Tensor& after = t.value("network/fc1/weight");
    velocity.resize(static_cast<std::size_t>(before.elements()), 0.0);
    for (std::int64_t e = 0; e < before.elements(); ++e) {
      double& v = velocity[static_cast<std::size_t>(e)];
      v = 0.9 * v + gradient.at(e);
      CHECK(after.at(e) == Approx(before.at(e) - 0.1 * v).epsilon(1e-12));
    }
  }
}

TEST_CASE("Training lowers the loss, in both dtypes and on both backends alike") {
  double last[3];
  int at = 0;
  for (const auto& [backend, dtype] :
       {std::pair{BackendKind::kFast, DType::Float32}, std::pair{BackendKind::kReference, DType::Float32},
        std::pair{BackendKind::kReference, DType::Float64}}) {
    Training t({.backend = backend}, dtype);
    t.run(1);
    const std::string loss = "network/SoftmaxCrossEntropyLoss-op1";
    const double start = t.value(loss).at(0);
    t.run(60);
    last[at] = t.value(loss).at(0);
    CHECK(last[at] < 0.5 * start);
    ++at;
  }
  CHECK(last[0] == Approx(last[2]).epsilon(1e-3));
  CHECK(last[1] == Approx(last[2]).epsilon(1e-3));
}

TEST_CASE("A feed that is missing or does not fit is refused by name") {
  Training t;
  auto feeds = msdbg::test::smallFeeds(t.graph);
  const Status missing = t.executor->run(Iteration(0), {feeds[0]}, nullptr);
  REQUIRE_FALSE(missing.ok());
  CHECK_THAT(missing.error().message(), Catch::Contains("network/label (small_models.h:16) was not given"));
  feeds[0].second = Tensor::zeros(DType::Float32, {3, 3});
  const Status wrong = t.executor->run(Iteration(0), feeds, nullptr);
  REQUIRE_FALSE(wrong.ok());
  CHECK_THAT(
      wrong.error().message(),
      Catch::Contains("network/x (small_models.h:15) wants float32[4, 3] but was given float32[3, 3]"));
}

TEST_CASE("Evaluation updates nothing") {
  Training t;
  t.run(2);
  const Tensor before = t.value("network/fc1/weight").clone();
  REQUIRE(t.executor->evaluate(msdbg::test::smallFeeds(t.graph)).ok());
  CHECK(sameBits(before, t.value("network/fc1/weight")));
}
