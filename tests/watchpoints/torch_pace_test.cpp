// Optimizers of PyTorch that go at a pace of their own, gradients that are the residue of rounding, weights
// of 16 bits, and on which of two ranks a jump began.
#include <catch2/catch.hpp>

#include "tests/watchpoints/torch_program.h"

namespace msdbg::test {

using namespace core;
using namespace torch_program;
using watch::Severity;

namespace {

// One step of this optimizer that changes a weight by so many times its size.
std::string ofStep(const std::string& optimizer, double times) {
  Program p;
  const TensorId weight = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}),
                 rate = p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {}),
                 y = p.layer("Net/a", p.x, weight),
                 loss = p.node("mean", "main", Phase::kForward, {y}, floats(TensorRole::kLoss, "", {})),
                 gradient = p.gradient("Net/a", y, weight, loss);
  TensorInfo info = floats(TensorRole::kUpdated, "", {16, 16});
  info.updateOf = weight;
  const TensorId next =
      p.node(optimizer, "update/Net/a", Phase::kUpdate, {weight, gradient, rate}, info, {}, "torch.optim");
  FakeSource source(p.graph, 1, 3);
  const Tensor before = numbers({16, 16}, 1), after = numbers({16, 16}, 1 + times);
  for (int k = 0; k < 3; ++k) {
    source.record(Rank(0), Iteration(k), weight, before);
    source.record(Rank(0), Iteration(k), gradient, numbers({16, 16}, 1));
    source.record(Rank(0), Iteration(k), rate, numbers({}, 0, 0.1));
    source.record(Rank(0), Iteration(k), next, after, &before);
  }
  return said(source, "weight_change_too_large", Severity::kFault);
}

}  // namespace

TEST_CASE("weight_change_too_large lets L-BFGS search and Adagrad begin, up to a tenfold of what is usual") {
  CHECK_FALSE(ofStep("SGD", 3).empty());
  CHECK_FALSE(ofStep("Adam", 3).empty());
  for (const char* optimizer : {"LBFGS", "Adagrad"}) {
    CAPTURE(optimizer);
    CHECK(ofStep(optimizer, 3).empty());
    CHECK_FALSE(ofStep(optimizer, 30).empty());
  }
}

namespace {

// A bias that is used twice: its gradients are `part` each, and their sum is `sum`; so is a second layer's.
std::string ofTwoUses(double part, double sum) {
  Program p;
  const TensorId bias = p.source(TensorRole::kParameter, "Net/a/bias", {16}),
                 weight = p.source(TensorRole::kParameter, "Net/b/weight", {16, 16}),
                 rate = p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {}),
                 h = p.node("add", "Net/a", Phase::kForward, {p.x, bias},
                            floats(TensorRole::kActivation, "", {8, 16})),
                 y = p.layer("Net/b", h, weight),
                 loss = p.node("mean", "main", Phase::kForward, {y}, floats(TensorRole::kLoss, "", {})),
                 large = p.gradient("Net/b", y, weight, loss);
  std::vector<TensorId> parts;
  for (int use = 0; use < 2; ++use)  // of the layer's output, whose terms nobody sums here
    parts.push_back(p.node("select_backward", "grad/Net/a", Phase::kBackward, {loss},
                           floats(TensorRole::kGradient, "", {16})));
  TensorInfo info = floats(TensorRole::kGradient, "", {16});
  info.gradientOf = bias;
  const TensorId all = p.node("add", "grad/Net/a", Phase::kBackward, parts, info);
  p.update("Net/b", weight, large, rate);
  FakeSource source(p.graph, 1, 8);
  for (int k = 0; k < 8; ++k) {
    for (const TensorId each : parts) source.record(Rank(0), Iteration(k), each, numbers({16}, part));
    source.record(Rank(0), Iteration(k), all, numbers({16}, sum));
    source.record(Rank(0), Iteration(k), large, numbers({16, 16}, 1));
    source.record(Rank(0), Iteration(k), loss, numbers({}, 0, 2));
  }
  return said(source, "gradient_vanishing", Severity::kFault);
}

}  // namespace

TEST_CASE("gradient_vanishing says nothing of a bias whose uses cancel but for rounding") {
  CHECK(ofTwoUses(1e-3, 1e-10).empty());
  CHECK_FALSE(ofTwoUses(1e-10, 1e-10).empty());  // both parts are that small
}

namespace {

// Ten steps, each of so much of the weight, that leave the weight as it is.
std::string ofRounded(DType dtype, double gradient) {
  Program p;
  const auto of16 = [&](TensorRole role) {
    TensorInfo info = floats(role, role == TensorRole::kParameter ? "Net/a/weight" : "", {16, 16});
    info.dtype = dtype;
    info.trainable = role == TensorRole::kParameter;
    return info;
  };
  const TensorId weight = p.graph.addSource(of16(TensorRole::kParameter)),
                 rate = p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {}),
                 y = p.layer("Net/a", p.x, weight),
                 loss = p.node("mean", "main", Phase::kForward, {y}, floats(TensorRole::kLoss, "", {}));
  TensorInfo made = of16(TensorRole::kGradient), next = of16(TensorRole::kUpdated);
  made.gradientOf = next.updateOf = weight;
  const TensorId grad = p.node("mm", "grad/Net/a", Phase::kBackward, {loss}, made),
                 updated = p.node("SGD", "update/Net/a", Phase::kUpdate, {weight, grad, rate}, next, {},
                                  "torch.optim");
  FakeSource source(p.graph, 1, 10);
  const Tensor same = numbers({16, 16}, 0.1);
  for (int k = 0; k < 10; ++k) {
    source.record(Rank(0), Iteration(k), weight, same);
    source.record(Rank(0), Iteration(k), grad, numbers({16, 16}, gradient));
    source.record(Rank(0), Iteration(k), rate, numbers({}, 0, 1e-3));
    source.record(Rank(0), Iteration(k), updated, same, &same);
  }
  return said(source, "weight_not_changed", Severity::kFault);
}

}  // namespace

TEST_CASE("weight_not_changed says that steps are less than what 16 bits tell apart") {
  CHECK(contains(ofRounded(DType::BFloat16, 1e-2), "bfloat16"));
  CHECK_FALSE(contains(ofRounded(DType::Float32, 1e-2), "bfloat16"));
}

namespace {

// Two ranks with one averaged gradient; in iteration 8 that of rank 1 alone is a thousand times as large.
std::string ofJump(bool ownGradients) {
  Program p;
  const TensorId weight = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}),
                 rate = p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {}),
                 y = p.layer("Net/a", p.x, weight),
                 loss = p.node("mean", "main", Phase::kForward, {y}, floats(TensorRole::kLoss, "", {})),
                 own = p.gradient("Net/a", y, weight, loss);
  TensorInfo averaged = floats(TensorRole::kGradient, "", {16, 16});
  averaged.gradientOf = weight;
  const TensorId all = p.node("allreduce_", "grad/Net/a", Phase::kCollective, {own}, averaged, {}, "c10d"),
                 next = p.update("Net/a", weight, all, rate);
  FakeSource source(p.graph, 2, 9);
  for (int rank = 0; rank < 2; ++rank)
    for (int k = 0; k < 9; ++k) {
      const double jump = k == 8 ? 1e4 : 1;
      const Tensor before = numbers({16, 16}, 0.1), after = numbers({16, 16}, 0.1 * (1 + 1e-3 * jump));
      source.record(Rank(rank), Iteration(k), weight, before);
      if (ownGradients) source.record(Rank(rank), Iteration(k), own, numbers({16, 16}, rank == 1 ? jump : 1));
      source.record(Rank(rank), Iteration(k), all, numbers({16, 16}, jump / 2));
      source.record(Rank(rank), Iteration(k), next, after, &before);
      source.record(Rank(rank), Iteration(k), rate, numbers({}, 0, 0.1));
    }
  return said(source, "weight_change_too_large", Severity::kFault);
}

}  // namespace

TEST_CASE("weight_change_too_large says on which rank a jump of averaged gradients began") {
  CHECK(contains(ofJump(true), " on rank 1, usually "));
  CHECK_FALSE(contains(ofJump(false), " on rank 1, usually "));
}

namespace {

// A weight that a step changes in each of 20 iterations; in every tenth the average of it is copied into it
// before. `lookahead`: which moves only then. `restored`: the step goes on from what was there before.
std::string ofAverage(bool lookahead, bool restored) {
  Program p;
  const TensorId weight = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}),
                 old = p.source(TensorRole::kConstant, "average", {16, 16}),
                 rate = p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {});
  const auto plain = [&](const char* type, std::vector<TensorId> inputs) {
    return p.node(type, "main/no_grad", Phase::kForward, std::move(inputs),
                  floats(TensorRole::kActivation, "", {16, 16}));
  };
  const TensorId average = plain("add_", {plain("mul_", {old}), weight});
  TensorInfo next = floats(TensorRole::kUpdated, "", {16, 16});
  next.updateOf = weight;
  const TensorId copied = p.node("copy_", "main/no_grad", Phase::kForward, {average}, next),
                 begin = restored ? weight : copied, y = p.layer("Net/a", p.x, begin),
                 loss = p.node("mean", "main", Phase::kForward, {y}, floats(TensorRole::kLoss, "", {}));
  const TensorId stepped =
      p.node("SGD", "update/Net/a", Phase::kUpdate, {begin, p.gradient("Net/a", y, weight, loss), rate}, next,
             {}, "torch.optim");
  FakeSource source(p.graph, 1, 20);
  for (int k = 0; k < 20; ++k) {
    const Tensor before = numbers({16, 16}, 1 + 0.01 * k), after = numbers({16, 16}, 1.01 + 0.01 * k);
    source.record(Rank(0), Iteration(k), weight, before);
    source.record(Rank(0), Iteration(k), stepped, after, &before);
    const bool copies = k % 10 == 9;
    if (copies || !lookahead) source.record(Rank(0), Iteration(k), average, numbers({16, 16}, 0.9));
    if (copies) source.record(Rank(0), Iteration(k), copied, numbers({16, 16}, 0.9), &before);
  }
  return said(source, "weight_overwritten", Severity::kHint);
}

}  // namespace

TEST_CASE("weight_overwritten hints at a running average that stays in the weights") {
  CHECK(contains(ofAverage(false, false),
                 "Net/a/weight is set to a running average of itself in 2 iterations, and training goes on"));
  CHECK(ofAverage(true, false).empty());  // Lookahead
  CHECK(ofAverage(false, true).empty());
}

}  // namespace msdbg::test
