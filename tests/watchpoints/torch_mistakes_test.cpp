// Mistakes that only programs of PyTorch can have, in graphs as its recorder gives them, beside the healthy
// programs that look like them.
#include <catch2/catch.hpp>

#include "tests/watchpoints/torch_program.h"

namespace msdbg::test {

using namespace core;
using namespace torch_program;
using watch::CheckReport;

namespace {

// Which of the two layers the optimizer was given, and how the other one's weights look.
FakeSource partlyTrained(const std::string& trained, double shift) {
  Program p;
  const TensorId a = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}),
                 b = p.source(TensorRole::kParameter, "Net/b/weight", {16, 16}),
                 rate = p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {});
  const TensorId h = p.layer("Net/a", p.x, a), y = p.layer("Net/b", h, b);
  const TensorId loss = p.node("mean", "main", Phase::kForward, {y}, floats(TensorRole::kLoss, "", {}));
  const TensorId ofB = p.gradient("Net/b", y, b, loss), ofA = p.gradient("Net/a", h, a, ofB);
  if (trained == "a") p.update("Net/a", a, ofA, rate);
  if (trained == "b") p.update("Net/b", b, ofB, rate);
  FakeSource source(p.graph, 1, 2);
  for (const int k : {0, 1})
    for (const TensorId weight : {a, b})
      source.record(Rank(0), Iteration(k), weight, numbers({16, 16}, 0.25, shift));
  return source;
}

}  // namespace

TEST_CASE("no_gradient says that an optimizer steps and finds no gradient, in any iteration") {
  FakeSource nothing = partlyTrained("", 0), one = partlyTrained("b", 0);
  CHECK(contains(said(nothing, "no_gradient", watch::Severity::kFault),
                 "computes gradients, and no step of the optimizer finds one"));
  CHECK_FALSE(contains(said(one, "no_gradient", watch::Severity::kFault), "no step of the optimizer"));
}

TEST_CASE("loss_input names a sigmoid before a loss of PyTorch that applies it itself") {
  for (const bool squashed : {false, true}) {
    Program p;
    const TensorId w = p.source(TensorRole::kParameter, "Net/weight", {16, 16});
    const TensorId target = p.source(TensorRole::kLabel, "y", {8, 16});
    TensorId scores = p.layer("Net", p.x, w);
    if (squashed)
      scores = p.node("sigmoid", "Net/sig", Phase::kForward, {scores},
                      floats(TensorRole::kActivation, "", {8, 16}));
    p.node("binary_cross_entropy_with_logits", "main", Phase::kForward, {scores, target},
           floats(TensorRole::kLoss, "", {}));
    FakeSource source(p.graph, 1, 1);
    source.record(Rank(0), Iteration(0), w, numbers({16, 16}, 0.25));
    CHECK(contains(said(source, "loss_input", watch::Severity::kFault), "sigmoid is applied twice") ==
          squashed);
  }
}

TEST_CASE("no_gradient names a layer that the optimizer was not given, where it was made") {
  FakeSource source = partlyTrained("a", 0);
  const CheckReport report = check(source, {watch::parseWatchpoint("no_gradient:recommended").value()}, {});
  REQUIRE(report.first);
  CHECK(contains(report.first->detail, "Net/b/weight gets a gradient, but no optimizer updates it"));
  CHECK(source.graph().tensor(report.first->writtenAt).name == "optimizer/learning_rate");
}

TEST_CASE("no_gradient does not call a backbone sick that is left out on purpose") {
  FakeSource backbone = partlyTrained("b", 0);  // under a new head
  CHECK(said(backbone, "no_gradient", watch::Severity::kFault).empty());
  CHECK(contains(said(backbone, "no_gradient", watch::Severity::kHint), "Net/a/weight"));
  FakeSource pretrained = partlyTrained("a", 0.2);  // behind a trained prompt, and not as it was drawn
  CHECK(said(pretrained, "no_gradient", watch::Severity::kFault).empty());
}

namespace {

// A gradient that is added to `old`, which is a source, or was made in the iteration. `another`: what it is
// equal to, if it is, a second backward pass left behind (a generator's, in its critic) after the update.
FakeSource accumulating(bool clearsItself, bool equal, bool another = false) {
  Program p;
  const TensorId a = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}),
                 rate = p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {});
  TensorId old = p.source(TensorRole::kConstant, "grad/Net/a/AccumulateGrad/add_-op1/self", {16, 16});
  const TensorId source = old;
  if (clearsItself)
    old = p.node("zero_", "main", Phase::kForward, {old}, floats(TensorRole::kActivation, "", {16, 16}));
  const TensorId y = p.layer("Net/a", p.x, a);
  const TensorId loss = p.node("mean", "main", Phase::kForward, {y}, floats(TensorRole::kLoss, "", {}));
  const TensorId fresh = p.node("mm", "grad/Net/a", Phase::kBackward, {loss},
                                floats(TensorRole::kGradient, "", {16, 16}), p.graph.tensor(y).producer);
  TensorInfo info = floats(TensorRole::kGradient, "", {16, 16});
  info.gradientOf = a;
  const TensorId sum = p.node("add_", "grad/Net/a/AccumulateGrad", Phase::kBackward, {old, fresh},
                              floats(TensorRole::kGradient, "", {16, 16}));
  const TensorId gradient =
      p.node("AccumulateGrad", "grad/Net/a", Phase::kBackward, {sum}, info, {}, "autograd");
  const TensorId next = p.update("Net/a", a, gradient, rate);
  const TensorId left = p.node("add_", "grad/Net#2/a/AccumulateGrad", Phase::kBackward, {gradient, fresh},
                               floats(TensorRole::kGradient, "", {16, 16}));
  FakeSource recorded(p.graph, 1, 4);
  for (int k = 0; k < 4; ++k) {
    recorded.record(Rank(0), Iteration(k), next, numbers({16, 16}, 1));
    recorded.record(Rank(0), Iteration(k), left, numbers({16, 16}, another ? k + 1 : 30 + k));
    recorded.record(Rank(0), Iteration(k), gradient, numbers({16, 16}, another ? 20 + k : k + 1));
    recorded.record(Rank(0), Iteration(k), source, numbers({16, 16}, equal ? k : 10 + k));
  }
  return recorded;
}

}  // namespace

TEST_CASE("weight_change_too_large knows a gradient that nobody set to zero, bit for bit") {
  FakeSource kept = accumulating(false, true), cleared = accumulating(true, true),
             other = accumulating(false, false);
  CHECK(contains(said(kept, "weight_change_too_large", watch::Severity::kFault),
                 "still holds that of iteration 1"));
  FakeSource critic = accumulating(false, true, true);
  CHECK(contains(said(critic, "weight_change_too_large", watch::Severity::kFault),
                 "still holds what another backward pass left of iteration 1"));
  CHECK(said(cleared, "weight_change_too_large", watch::Severity::kFault).empty());
  CHECK(said(other, "weight_change_too_large", watch::Severity::kFault).empty());
}

TEST_CASE("loss_input knows what is broadcast where the last batch is smaller than the others") {
  // Shapes vary, so that nobody knows them; how many elements there are the rows tell.
  const auto lossOf = [](bool oneOperator, std::int64_t result) {
    Program p;
    const TensorId w = p.source(TensorRole::kParameter, "Net/w", {16, 1}),
                   y = p.source(TensorRole::kLabel, "y", {-1});
    const auto kind = [](const Shape& shape, TensorRole role = TensorRole::kActivation) {
      return floats(role, "", shape);
    };
    const TensorId out = p.node("mm", "Net", Phase::kForward, {p.x, w}, kind({-1, 1}));
    TensorId compared = {}, loss = {};
    if (oneOperator) {
      loss = p.node("mse_loss", "main", Phase::kForward, {out, y}, kind({}, TensorRole::kLoss));
      compared = p.node("mse_loss_backward", "grad/main", Phase::kBackward, {out, y},
                        kind({-1, -1}, TensorRole::kGradient), p.graph.tensor(loss).producer);
    } else {
      compared = p.node("sub", "main", Phase::kForward, {out, y}, kind({-1, -1}));
      loss = p.node("mean", "main", Phase::kForward, {compared}, kind({}, TensorRole::kLoss));
    }
    p.update("Net", w, p.gradient("Net", out, w, loss),
             p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {}));
    FakeSource source(p.graph, 1, 1);
    source.record(Rank(0), Iteration(0), out, numbers({8, 1}, 1));
    source.record(Rank(0), Iteration(0), y, numbers({8}, 1));
    source.record(Rank(0), Iteration(0), compared, numbers({8, result}, 1));
    return said(source, "loss_input", watch::Severity::kFault);
  };
  for (const bool oneOperator : {false, true}) {
    CHECK(contains(lossOf(oneOperator, 8), "every prediction meets the target of every sample"));
    CHECK(lossOf(oneOperator, 1).empty());  // y[:, None]: the recorder leaves views out
  }
}

TEST_CASE("loss_input knows losses of one operator that are broadcast, negated or given no logarithms") {
  const auto lossOf = [](const Shape& target, const Shape& compared, bool negated) {
    Program p;
    const TensorId w = p.source(TensorRole::kParameter, "Net/w", {16, 1}),
                   y = p.source(TensorRole::kLabel, "y", target);
    const TensorId out =
        p.node("mm", "Net", Phase::kForward, {p.x, w}, floats(TensorRole::kActivation, "", {8, 1}));
    const TensorId loss = p.node("mse_loss", "main", Phase::kForward, {out, y},
                                 floats(negated ? TensorRole::kActivation : TensorRole::kLoss, "", {}));
    p.update("Net", w, p.gradient("Net", out, w, loss),
             p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {}));
    if (negated) p.node("neg", "main", Phase::kForward, {loss}, floats(TensorRole::kLoss, "", {}));
    p.node("mse_loss_backward", "grad/main", Phase::kBackward, {out, y},
           floats(TensorRole::kGradient, "", compared), p.graph.tensor(loss).producer);
    FakeSource source(p.graph, 1, 1);
    source.record(Rank(0), Iteration(0), p.x, numbers({8, 16}, 1));
    return said(source, "loss_input", watch::Severity::kFault);
  };
  CHECK(contains(lossOf({8}, {8, 8}, false), "broadcast to [8, 8]"));
  CHECK(lossOf({8}, {8, 1}, false).empty());  // y[:, None]: the recorder leaves views out
  CHECK(lossOf({8, 1}, {8, 1}, false).empty());
  CHECK(contains(lossOf({8, 1}, {8, 1}, true), "minus"));
}

TEST_CASE("rank_divergence knows copies that begin differently and train with one gradient") {
  const auto begun = [](double ofRank1, double gradientOfRank1) {
    Program p;
    const TensorId a = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}),
                   rate = p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {});
    const TensorId y = p.layer("Net/a", p.x, a);
    const TensorId loss = p.node("mean", "main", Phase::kForward, {y}, floats(TensorRole::kLoss, "", {}));
    const TensorId of = p.gradient("Net/a", y, a, loss);
    p.update("Net/a", a, of, rate);
    FakeSource source(p.graph, 2, 1);
    for (const int rank : {0, 1}) {
      source.record(Rank(rank), Iteration(0), a, numbers({16, 16}, rank == 0 ? 1 : ofRank1));
      source.record(Rank(rank), Iteration(0), of, numbers({16, 16}, rank == 0 ? 1 : gradientOfRank1));
    }
    return said(source, "rank_divergence", watch::Severity::kFault);
  };
  CHECK(contains(begun(2, 1), "the copies began differently"));
  CHECK(begun(1, 1).empty());
  CHECK(begun(2, 2).empty());  // shards, or models of their own
}

TEST_CASE("rank_divergence compares the ranks of a mesh that hold the same shards, and no others") {
  // Weights of rank r in the beginning and in iteration 1, of four ranks.
  const auto meshed = [](std::vector<double> begun, std::vector<double> later) {
    Program p;
    const TensorId a = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}),
                   norm = p.source(TensorRole::kParameter, "Net/norm/weight", {16}),
                   rate = p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {});
    const TensorId y = p.layer("Net/a", p.x, a);
    const TensorId loss = p.node("mean", "main", Phase::kForward, {y}, floats(TensorRole::kLoss, "", {}));
    const TensorId of = p.gradient("Net/a", y, a, loss);
    p.update("Net/a", a, of, rate);
    FakeSource source(p.graph, 4, 2);
    for (int rank = 0; rank < 4; ++rank)
      for (int k = 0; k < 2; ++k) {
        const double value = (k == 0 ? begun : later)[static_cast<std::size_t>(rank)];
        source.record(Rank(rank), Iteration(k), a, numbers({16, 16}, value));
        source.record(Rank(rank), Iteration(k), norm, numbers({16}, 1));  // a constant: alike everywhere
        source.record(Rank(rank), Iteration(k), of, numbers({16, 16}, value));
      }
    return said(source, "rank_divergence", watch::Severity::kFault);
  };
  CHECK(meshed({1, 2, 1, 2}, {3, 4, 3, 4}).empty());
  CHECK(contains(meshed({1, 2, 1, 2}, {3, 4, 3, 5}),
                 "ranks 1,3 hold the same shards, and differ; which rank is wrong cannot be told"));
  CHECK(contains(meshed({1, 1, 1, 1}, {3, 3, 3, 5}), "rank 3 "));
  CHECK(meshed({1, 2, 3, 4}, {5, 6, 7, 8}).empty());  // shards of one
  CHECK(meshed({1, 1, 1, 2}, {3, 3, 4, 5}).empty());  // no mesh: nobody knows
}

TEST_CASE("batch_content knows data of another scale wherever a weight meets them") {
  const auto read = [](double second) {
    Program p;
    const TensorId a = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}),
                   other = p.source(TensorRole::kConstant, "other", {8, 16});
    p.layer("Net/a", p.x, a);
    p.layer("Net/a#2", other, a);
    FakeSource source(p.graph, 1, 3);
    for (int k = 0; k < 3; ++k) {
      source.record(Rank(0), Iteration(k), p.x, numbers({8, 16}, 1));
      source.record(Rank(0), Iteration(k), other, numbers({8, 16}, second));
    }
    return said(source, "batch_content", watch::Severity::kFault);
  };
  CHECK(contains(read(1e6), "of another scale"));
  CHECK(read(100).empty());
  CHECK(read(0).empty());
}

}  // namespace msdbg::test
