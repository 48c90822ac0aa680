#include "core_engine/autodiff/autodiff.h"

#include <catch2/catch.hpp>

#include "core_engine/graph/verify.h"
#include "core_engine/train/layers.h"
#include "tests/support/small_models.h"

using namespace msdbg::core;

namespace {

Value scalarParameter(Graph& g, const std::string& name, Shape shape) {
  return parameter(g, name, std::move(shape), DType::Float64, {Initializer::Kind::kKaimingNormal, 2},
                   std::source_location::current());
}

/// loss(parameters) by running the forward part only.
double lossAt(Executor& e, const Graph& g, TensorId loss) {
  REQUIRE(e.evaluate({}).ok());
  (void)g;
  return e.value(loss).at(0);
}

void checkAgainstDifferences(Graph& g, Value loss) {
  const auto gradients = addGradients(g, loss.id(), 1.0);
  if (!gradients) FAIL(gradients.error().message());
  REQUIRE(verify(g).ok());
  auto executor = Executor::create(g, {.backend = BackendKind::kReference});
  REQUIRE(executor.ok());
  REQUIRE((*executor)->run(Iteration(0), {}, nullptr).ok());
  for (const auto& [parameterId, gradientId] : *gradients) {
    const Tensor start = (*executor)->value(parameterId).clone();
    const Tensor gradient = (*executor)->value(gradientId).clone();
    REQUIRE(gradient.shape() == start.shape());
    for (std::int64_t i = 0; i < start.elements(); ++i) {
      const auto shifted = [&](double by) {
        Tensor moved = start.clone();
        moved.data<double>()[static_cast<std::size_t>(i)] += by;
        REQUIRE((*executor)->setValue(parameterId, moved).ok());
        return lossAt(**executor, g, loss.id());
      };
      const double h = 1e-5, difference = (shifted(h) - shifted(-h)) / (2 * h);
      CHECK(gradient.at(i) == Approx(difference).epsilon(1e-6).margin(1e-9));
    }
    REQUIRE((*executor)->setValue(parameterId, start).ok());
  }
}

}  // namespace

TEST_CASE("A value used several times gets the sum of all gradients") {
  Graph g("network", DType::Float64);
  const Value w = scalarParameter(g, "w", {3});
  const Value y = w * w + w * 2.0 - w / (w * w + 1.0);
  checkAgainstDifferences(g, reduceSum(tanh(y) * w, {}, false));
}

TEST_CASE("A parameter used by two layers is one parameter with one gradient") {
  Graph g("network", DType::Float64);
  const Value w = scalarParameter(g, "w", {3, 3}), x = scalarParameter(g, "x", {2, 3});
  const Value h = sigmoid(matmul(x, w));
  checkAgainstDifferences(g, reduceMean(matmul(h, w) * h, {}, false));
}

TEST_CASE("Broadcast operands get gradients of their own shape") {
  Graph g("network", DType::Float64);
  const Value row = scalarParameter(g, "row", {1, 4}), column = scalarParameter(g, "column", {3, 1}),
              scalar = scalarParameter(g, "scalar", {});
  checkAgainstDifferences(g, reduceSum((row * column + scalar) * (column - row) * scalar, {}, false));
}

TEST_CASE("No backward nodes are made for what leads to no parameter") {
  Graph g;
  const Value loss = msdbg::test::smallClassifier(g);
  REQUIRE(addGradients(g, loss.id(), 1.0).ok());
  const TensorId x = *g.findTensor("network/x");
  for (const TensorInfo& t : g.tensors()) CHECK(t.gradientOf != x);
}

TEST_CASE("The seed scales every gradient") {
  double first[2];
  int at = 0;
  for (const double seed : {1.0, 0.25}) {
    Graph g("network", DType::Float64);
    const Value w = scalarParameter(g, "w", {2});
    const Value loss = reduceSum(w * w, {}, false);
    const auto gradients = addGradients(g, loss.id(), seed);
    REQUIRE(gradients.ok());
    auto executor = Executor::create(g, {.backend = BackendKind::kReference});
    REQUIRE(executor.ok());
    REQUIRE((*executor)->run(Iteration(0), {}, nullptr).ok());
    first[at++] = (*executor)->value(gradients->at(w.id())).at(0);
  }
  CHECK(first[1] == 0.25 * first[0]);
}

TEST_CASE("A loss that is no scalar is refused") {
  Graph g("network", DType::Float64);
  const Value w = scalarParameter(g, "w", {2});
  const Value y = w * w;
  const auto result = addGradients(g, y.id(), 1.0);
  REQUIRE_FALSE(result.ok());
  CHECK_THAT(result.error().message(), Catch::Contains("must be one floating-point number"));
}
