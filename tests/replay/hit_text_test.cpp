#include <catch2/catch.hpp>
#include <cmath>

#include "replay/describe.h"
#include "replay/findings.h"
#include "tests/watchpoints/fake_source.h"

using namespace msdbg;

namespace {

core::Graph graphOf(const core::Shape& shape) {
  core::Graph graph("network");
  core::TensorInfo tensor;
  tensor.name = "network/x";
  tensor.shape = shape;
  tensor.role = core::TensorRole::kInput;
  graph.addSource(tensor);
  return graph;
}

watch::Hit hitAt(std::optional<std::int64_t> element) {
  watch::Hit hit;
  hit.tensor = core::TensorId(0);
  hit.count = 3;
  hit.element = element;
  return hit;
}

}  // namespace

TEST_CASE("The first wrong element is named by its index, not by how many lie before it") {
  const core::Graph matrix = graphOf({32, 48});
  CHECK(replay::valuesText(matrix, hitAt(336)) == "3 elements wrong, the first is [7, 0]");
  CHECK(replay::wrongIndex(matrix, hitAt(336)) == std::vector<std::int64_t>{7, 0});
  CHECK(replay::valuesText(matrix, hitAt({})) == "3 elements wrong");
  CHECK(replay::wrongIndex(matrix, hitAt({})) == std::nullopt);
  CHECK(replay::valuesText(graphOf({}), hitAt(0)) == "3 elements wrong, the first is []");
}

TEST_CASE("An element that does not fit the graph's shape keeps its number") {
  for (const core::Shape& shape : {core::Shape{2, 2}, core::Shape{-1, 48}}) {
    CHECK(replay::valuesText(graphOf(shape), hitAt(1336)) == "3 elements wrong, the first is element 1,336");
    CHECK(replay::wrongIndex(graphOf(shape), hitAt(1336)) == std::nullopt);
  }
}

TEST_CASE("Values of a hit are written short, a NaN of either sign as nan") {
  watch::Hit hit = hitAt({});
  hit.parameter = "abs_mean_lt";
  hit.preset = 1e-9;
  hit.actual = std::copysign(NAN, -1.0);
  CHECK(replay::valuesText(graphOf({4}), hit) == "nan against abs_mean_lt = 1e-09, 3 elements wrong");
}

TEST_CASE("A gradient of which only its loss is known has the line of backward()") {
  using core::Phase;
  core::Graph graph("network");
  const core::FrameId line = graph.addFrame({"/train.py", 7, "main", "loss.backward()", false});
  core::TensorInfo loss, gradient;
  loss.role = core::TensorRole::kLoss;
  gradient.role = core::TensorRole::kGradient;
  const core::NodeId forward =
      graph.addNode("forward", "Net", Phase::kForward, {}, {}, {loss}, {line}, {}, "torch");
  const core::NodeId backward =
      graph.addNode("AccumulateGrad", "grad/Net", Phase::kBackward, {graph.node(forward).outputs[0]}, {},
                    {gradient}, {}, {}, "autograd");
  const core::NodeId other =
      graph.addNode("AccumulateGrad", "grad/Net", Phase::kBackward, {graph.node(backward).outputs[0]}, {},
                    {gradient}, {}, {}, "autograd");
  const auto lineOf = [&](core::NodeId node) {
    return replay::placeOf(graph.userFrame(replay::framesOf(graph, graph.node(node).outputs[0])));
  };
  CHECK(lineOf(backward) == "train.py:7");
  CHECK(lineOf(other).empty());
}

TEST_CASE("What a fault did to the loss counts the iterations in which it is finite again") {
  const auto after = [](const std::vector<double>& losses) {
    test::FakeSource source(graphOf({4}), 1, static_cast<int>(losses.size()));
    for (std::size_t k = 0; k < losses.size(); ++k) {
      source.row(0, static_cast<int>(k), core::TensorId(0));
      source.setScalar(0, static_cast<int>(k), "loss", losses[k]);
    }
    watch::CheckReport report;
    watch::Hit hit = hitAt({});
    hit.iteration = core::Iteration(1);
    hit.rank = core::Rank(0);
    hit.condition = watch::findCondition("tensor_overflow");
    report.first = hit;
    std::string all;
    for (const std::string& line : replay::consequences(source, report)) all += line + "\n";
    return all;
  };
  const double nan = std::nan("");
  CHECK(after({1, 1, nan, nan}) == "the loss of rank 0 is nan from iteration 2 on\n");
  CHECK(after({1, nan, 2, nan}) == "the loss of rank 0 is nan in 2 of the 3 iterations from 1 on\n");
  CHECK(after({1, nan, 2, 2}) ==
        "the loss of rank 0 is nan in 1 of the 3 iterations from 1 on, and finite in the end\n");
  CHECK(after({nan, 1, 2, 2}).empty());
}
