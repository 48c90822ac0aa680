#include <catch2/catch.hpp>
#include <cmath>

#include "replay/describe.h"
#include "replay/findings.h"

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
