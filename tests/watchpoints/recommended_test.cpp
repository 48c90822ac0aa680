// What the recommended set makes of rows that a plain threshold would call wrong, and of those that it must.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/watchpoints/healthy_source.h"

using namespace msdbg::core;
using namespace msdbg::watch;
using msdbg::test::FakeSource;
using msdbg::test::healthySource;
using msdbg::test::only;
using msdbg::test::runRecommended;

namespace {

const std::string kNext = "next(network/fc/weight)", kGradient = "local_grad(network/fc/weight)",
                  kReduced = "grad(network/fc/weight)", kLoss = "network/ReduceMean-op1";

void setLosses(FakeSource& source, const std::vector<double>& losses) {
  for (std::size_t k = 0; k < losses.size(); ++k) {
    TensorStatistics& loss = source.row(0, static_cast<int>(k), source.id(kLoss)).values;
    loss.min = loss.max = loss.mean = losses[k];
  }
}

void allZero(StatisticsRow& row) {
  row.values.zero = row.values.count;
  row.values.min = row.values.max = row.values.mean = row.values.meanAbs = row.values.l1 = 0;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("A vanishing gradient is one that stays small beside others, not one that is small with them") {
  const auto spoil = [](FakeSource& source, std::initializer_list<int> iterations, double others) {
    for (const int k : iterations) {
      source.row(0, k, source.id(kGradient)).values.meanAbs = 1e-12;
      source.row(0, k, source.id(kReduced)).values.meanAbs = others;
    }
  };
  FakeSource stray = healthySource(1, 8);
  spoil(stray, {2, 3, 6}, 1);
  CHECK(runRecommended(stray, "gradient_vanishing").hits.empty());
  FakeSource lasting = healthySource(1, 8);
  spoil(lasting, {2, 3, 4, 5}, 1);
  CHECK(only(runRecommended(lasting, "gradient_vanishing").hits).iteration == Iteration(2));
  FakeSource fitted = healthySource(1, 8);
  spoil(fitted, {2, 3, 4, 5}, 1e-11);  // everything is small
  CHECK(runRecommended(fitted, "gradient_vanishing").hits.empty());
  FakeSource brief = healthySource(1, 2);  // all there is
  spoil(brief, {0, 1}, 1);
  CHECK(runRecommended(brief, "gradient_vanishing").hits.size() == 1);
}

TEST_CASE("An all-zero gradient is named where zeros begin") {
  FakeSource here = healthySource(1, 3);
  allZero(here.row(0, 1, here.id(kReduced)));
  CHECK(only(runRecommended(here, "tensor_all_zero").hits).tensor == here.id(kReduced));
  FakeSource data = healthySource(1, 3);
  for (const char* name : {"local_grad(network/fc/weight)", "grad(network/fc/weight)", "network/x"})
    allZero(data.row(0, 1, data.id(name)));
  CHECK(runRecommended(data, "tensor_all_zero").hits.empty());  // a mask may be, in one batch
  for (const int k : {0, 2})
    for (const char* name : {"local_grad(network/fc/weight)", "grad(network/fc/weight)", "network/x"})
      allZero(data.row(0, k, data.id(name)));
  const CheckReport report = runRecommended(data, "tensor_all_zero");
  CHECK(only(report.hits).tensor == data.id("network/x"));
  CHECK(contains(report.hits[0].detail, "where it enters the graph"));
  FakeSource dead = healthySource(1, 3);  // dead_relu's
  for (const char* name : {"local_grad(network/fc/weight)", "grad(network/fc/weight)", "network/fc/Relu-op1"})
    allZero(dead.row(0, 1, dead.id(name)));
  CHECK(runRecommended(dead, "tensor_all_zero").hits.empty());
}

TEST_CASE("An update is called standing only if not one bit changed and some had to") {
  const auto standing = [](FakeSource& source, double most) {
    source.row(0, 1, source.id(kNext)).change = ChangeStatistics{most, most, 1, 0, 0};
  };
  FakeSource slow = healthySource(1, 3);
  standing(slow, 1e-9);  // within the tolerance, but moving
  CHECK(runRecommended(slow, "weight_not_changed").hits.empty());
  FakeSource stale = healthySource(1, 3);
  standing(stale, 0);
  CHECK(only(runRecommended(stale, "weight_not_changed").hits).iteration == Iteration(1));
  FakeSource without = healthySource(1, 3);  // no gradient, so nothing to change
  standing(without, 0);
  allZero(without.row(0, 1, without.id(kReduced)));
  CHECK(runRecommended(without, "weight_not_changed").hits.empty());
}

TEST_CASE("A step that training recovered from is a fault only beside another one") {
  const auto recovering = [] {
    FakeSource large = healthySource(1, 20);
    large.row(0, 2, large.id(kNext)).change = ChangeStatistics{3, 4, 2, 6, 0};
    std::vector<double> losses(20, 1);
    losses[0] = 2, losses[1] = 2, losses[2] = 2;
    setLosses(large, losses);
    return large;
  };
  FakeSource source = recovering(), standing = recovering();
  CHECK(runRecommended(source, "weight_change_too_large").hits.empty());
  CHECK(check(source, recommendedSet(), {}).hits.empty());
  standing.row(0, 9, standing.id("next(network/fc/bias)")).change = ChangeStatistics{0, 0, 1, 0, 0};
  const CheckReport beside = check(standing, recommendedSet(), {});
  REQUIRE(beside.first);
  CHECK(beside.first->condition->id == "weight_change_too_large");
  // What the loss had recovered from did not make it NaN.
  source.row(0, 9, source.id("network/fc/Gemm-op1")).values.nan = 1;
  source.row(0, 9, source.id(kLoss)).values.nan = 1;
  const CheckReport sick = check(source, recommendedSet(), {});
  REQUIRE(sick.first);
  CHECK(sick.first->condition->id == "nonfinite_propagation");
  setLosses(source, std::vector<double>(20, 2));
  CHECK(runRecommended(source, "weight_change_too_large").hits.size() == 1);
}

TEST_CASE("The last losses before a NaN, already on their way there, do not undo what was recovered") {
  FakeSource source = healthySource(1, 20);
  source.row(0, 1, source.id(kNext)).change = ChangeStatistics{3, 4, 2, 6, 0};
  std::vector<double> losses(20, 1);
  losses[0] = losses[1] = 2, losses[16] = 1e6, losses[17] = 1e18;
  setLosses(source, losses);
  source.row(0, 18, source.id(kLoss)).values.nan = 1;
  const CheckReport sick = check(source, recommendedSet(), {});
  REQUIRE(sick.first);
  CHECK(sick.first->iteration > Iteration(10));
}

TEST_CASE("A NaN comes before what made no number NaN, and its own answer says nothing of that") {
  FakeSource source = healthySource(1, 20);
  for (int k = 3; k < 20; ++k)
    source.row(0, k, source.id("next(network/fc/bias)")).change = ChangeStatistics{0, 0, 1, 0, 0};
  REQUIRE(check(source, recommendedSet(), {}).first);
  const Iteration standing = check(source, recommendedSet(), {}).first->iteration;
  CHECK(standing == Iteration(3));
  source.row(0, 12, source.id("network/fc/Gemm-op1")).values.nan = 1;
  const CheckReport sick = check(source, recommendedSet(), {});
  REQUIRE(sick.first);
  CHECK(sick.first->condition->id == "nonfinite_propagation");
  CHECK(sick.first->iteration == Iteration(12));
  CHECK(sick.firstPerRank.front().condition->id == "nonfinite_propagation");
  CHECK(sick.hits.front().iteration == Iteration(3));  // the list stays in order
  // In the same iteration the order of the graph decides, as ever.
  source.row(0, 3, source.id("network/fc/Gemm-op1")).values.nan = 1;
  CHECK(check(source, recommendedSet(), {}).first->condition->id == "nonfinite_propagation");
}

TEST_CASE("Nothing moves: one hint a run, whatever the number of weights") {
  FakeSource source = healthySource(1, 5);
  for (int k = 0; k < 5; ++k)
    for (const char* name : {"next(network/fc/weight)", "next(network/fc/bias)"})
      source.row(0, k, source.id(name)).change = ChangeStatistics{1e-9, 1e-9, 1, 0, 0};
  CHECK(runRecommended(source, "weight_change_too_small").hints.size() == 1);
  source.row(0, 3, source.id(kNext)).change = ChangeStatistics{1e-4, 1e-4, 1, 6, 0};
  CHECK(runRecommended(source, "weight_change_too_small").hints.empty());
}

TEST_CASE("Ranks that read the same batch in every iteration are a fault, one batch for ever a hint") {
  const auto give = [](FakeSource& source, int rank, int iteration, std::uint64_t batch) {
    source.row(rank, iteration, source.id("network/x")).values.hash = {batch, 7};
  };
  FakeSource apart = healthySource(2, 12), together = healthySource(2, 12), repeated = healthySource(1, 12);
  for (int k = 0; k < 12; ++k) {
    for (std::uint64_t rank : {0, 1}) {
      give(apart, static_cast<int>(rank), k, 100 * rank + static_cast<std::uint64_t>(k));
      give(together, static_cast<int>(rank), k, static_cast<std::uint64_t>(k));
    }
    give(repeated, 0, k, 1);
  }
  CHECK(runRecommended(apart, "same_batch").hits.empty());
  CHECK(contains(only(runRecommended(together, "same_batch").hits).detail,
                 "rank 1 read the same batch as rank 0 in every one of 12 iterations"));
  give(together, 1, 4, 99);
  CHECK(runRecommended(together, "same_batch").hits.empty());
  CHECK(runRecommended(repeated, "same_batch").hits.empty());
  CHECK(contains(only(runRecommended(repeated, "same_batch").hints).detail,
                 "all the data are one batch, or one batch is trained on as a test; else the loader"));
}

TEST_CASE("Data of a huge scale are a fault where training does not recover") {
  FakeSource source = healthySource(1, 20);
  for (int k = 0; k < 20; ++k) source.row(0, k, source.id("network/x")).values.meanAbs = 1e6;
  setLosses(source, std::vector<double>(20, 2));
  CHECK(only(runRecommended(source, "batch_content").hits).actual == 1e6);
  std::vector<double> falling(20, 0.1);
  falling[0] = 2;
  setLosses(source, falling);
  CHECK(runRecommended(source, "batch_content").hits.empty());
}

TEST_CASE("A loss that ends far above its beginning, or below zero without bound, is named where it began") {
  FakeSource source = healthySource(1, 20);
  std::vector<double> losses(20, 1.0);
  for (int k = 12; k < 20; ++k) losses[static_cast<std::size_t>(k)] = 40;
  setLosses(source, losses);
  CHECK(only(runRecommended(source, "loss_diverging").hits).iteration == Iteration(11));
  losses[19] = losses[18] = 1.2;  // it came back
  setLosses(source, losses);
  CHECK(runRecommended(source, "loss_diverging").hits.empty());
  // About zero, as that of a policy gradient is, "so many times the first" means nothing.
  for (int k = 0; k < 20; ++k) losses[static_cast<std::size_t>(k)] = 0.05;
  losses[0] = 0.03, losses[1] = -0.02;
  setLosses(source, losses);
  CHECK(runRecommended(source, "loss_diverging").hits.empty());
  CHECK(runRecommended(source, "loss_diverging").hints.empty());
  for (int k = 0; k < 20; ++k) losses[static_cast<std::size_t>(k)] = -std::pow(3.0, k);
  setLosses(source, losses);
  CHECK(contains(only(runRecommended(source, "loss_diverging").hits).detail, "without bound"));
}

TEST_CASE("What is equal on all ranks is named once, what differs on its rank") {
  FakeSource source = healthySource(2, 3);
  for (const int rank : {0, 1})
    source.row(rank, 1, source.id(kNext)).change = ChangeStatistics{0, 0, 1, 0, 0};
  CHECK(only(runRecommended(source, "weight_not_changed").hits).rank == Rank(0));
  source.row(0, 1, source.id(kNext)).change = ChangeStatistics{0.01, 0.02, 1, 6, 0};
  source.row(1, 1, source.id(kNext)).values.hash = {98, 98};
  CHECK(only(runRecommended(source, "weight_not_changed").hits).rank == Rank(1));
}

namespace {

/// A bias that is used twice, each time summed to almost nothing, and clipped with another gradient.
FakeSource clippedNoise(double share) {
  Graph graph("net");
  const auto info = [](std::string name, Shape shape, TensorRole role) {
    TensorInfo made;
    made.name = std::move(name);
    made.shape = std::move(shape);
    made.role = role;
    return made;
  };
  TensorInfo parameter = info("Net/v/bias", {1}, TensorRole::kParameter);
  parameter.trainable = true;  // else nobody asks for its gradient
  const TensorId bias = graph.addSource(std::move(parameter));
  const auto backward = [&](std::string type, std::vector<TensorId> inputs, std::vector<TensorInfo> outputs) {
    return graph.addNode(std::move(type), "grad/Net/v", Phase::kBackward, std::move(inputs), {},
                         std::move(outputs), {}, {}, "aten");
  };
  std::vector<TensorId> sums;
  for (int use = 0; use < 2; ++use) {
    const NodeId softmax =
        backward("_softmax_backward_data", {bias}, {info("", {16, 8}, TensorRole::kGradient)});
    const NodeId sum = backward("sum", {graph.node(softmax).outputs[0]},
                                {info("", {1, 1}, TensorRole::kGradient)});  // over a view of it, [128, 1]
    sums.push_back(graph.node(sum).outputs[0]);
  }
  const NodeId both = backward("add", sums, {info("", {1}, TensorRole::kGradient)});
  const TensorId other = graph.addSource(info("other", {4}, TensorRole::kConstant));
  const NodeId clip = backward("_foreach_mul_", {other, graph.node(both).outputs[0]},
                               {info("", {4}, TensorRole::kGradient), info("", {1}, TensorRole::kGradient)});
  TensorInfo gradient = info("", {1}, TensorRole::kGradient);
  gradient.alias = "grad(Net/v/bias)";
  gradient.gradientOf = bias;
  graph.addNode("AccumulateGrad", "grad/Net/v", Phase::kBackward, {graph.node(clip).outputs[1]}, {},
                {gradient}, {}, {}, "autograd");
  FakeSource source(graph, 1, 6);
  for (int k = 0; k < 6; ++k)
    for (const TensorInfo& tensor : source.graph().tensors()) {
      StatisticsRow& row = source.row(0, k, tensor.id);
      row.values.count = tensor.shape.elements();
      const bool large = tensor.shape.elements() > 1;
      row.values.l1 = large ? 1 : share;
      row.values.meanAbs = row.values.l1 / static_cast<double>(row.values.count);
    }
  return source;
}

}  // namespace

TEST_CASE(
    "The gradient of a bias before a softmax is noise, also through sums of uses and clipping of many") {
  FakeSource noise = clippedNoise(2e-10);
  const CheckReport report = runRecommended(noise, "gradient_vanishing");
  CHECK(report.hits.empty());
  CHECK(report.evaluated > 0);
}

TEST_CASE("A loss that reads nothing, as where operators are not recorded, is judged like any other") {
  Graph graph("net");
  TensorInfo loss;
  loss.role = TensorRole::kLoss;
  const NodeId forward = graph.addNode("forward", "Net", Phase::kForward, {}, {}, {loss}, {}, {}, "torch");
  FakeSource source(graph, 1, 3);
  for (int k = 0; k < 3; ++k) {
    TensorStatistics& values = source.row(0, k, source.graph().node(forward).outputs[0]).values;
    values.count = 1;
    values.min = values.max = values.mean = 1.0 / (k + 1);
  }
  const CheckReport report = runRecommended(source, "tensor_all_zero");
  CHECK(report.hits.empty());
}
