// What the loops and layers of PyTorch programs are set to: settings of layers, the order of batches,
// optimizers that are made anew. Each mistake is named, and the healthy program that looks like it is not.
#include <catch2/catch.hpp>

#include "tests/watchpoints/torch_program.h"

namespace msdbg::test {

using namespace core;
using namespace torch_program;
using watch::Severity;

namespace {

std::string saidOf(Program& p, const char* condition, Severity severity) {
  FakeSource source(p.graph, 1, 1);
  source.record(Rank(0), Iteration(0), p.x, numbers({8, 16}, 1));
  return said(source, condition, severity);
}

// As PyTorch drops on the CPU: it draws what is kept, with probability `kept`, and divides by that.
std::string ofDropout(double kept, double divisor) {
  Program p;
  const auto forward = [&](const char* type, std::vector<TensorId> inputs, Attributes attributes = {}) {
    return p.node(type, "Net/drop", Phase::kForward, std::move(inputs),
                  floats(TensorRole::kActivation, "", {8, 16}), {}, "aten", std::move(attributes));
  };
  const TensorId mask = forward(
      "div_", {forward("bernoulli_", {forward("empty_like", {p.x})}, {{"p", kept}})}, {{"other", divisor}});
  forward("mul", {p.x, mask});
  return saidOf(p, "hyperparameter_range", Severity::kFault);
}

std::string ofNorm(double epsilon, double momentum) {
  Program p;
  const TensorId scale = p.source(TensorRole::kParameter, "Net/b/weight", {16}),
                 mean = p.source(TensorRole::kConstant, "Net/b/running_mean", {16});
  p.node("native_batch_norm", "Net/b", Phase::kForward, {p.x, scale, scale, mean, mean},
         floats(TensorRole::kActivation, "", {8, 16}), {}, "aten",
         {{"training", true}, {"momentum", momentum}, {"eps", epsilon}});
  CHECK(saidOf(p, "hyperparameter_range", Severity::kFault).empty());
  return saidOf(p, "hyperparameter_range", Severity::kHint);
}

// 24 iterations; `batch`: which one each reads.
template <typename F>
std::string ofOrder(F batch) {
  Program p;
  p.layer("Net/a", p.x, p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}));
  FakeSource source(p.graph, 1, 24);
  for (int k = 0; k < 24; ++k) source.record(Rank(0), Iteration(k), p.x, numbers({8, 16}, 1.0 + batch(k)));
  return said(source, "same_batch", Severity::kHint);
}

}  // namespace

TEST_CASE("Why nodes of PyTorch are not computed again is said in the words of who would") {
  struct Refusing : FakeSource {
    using FakeSource::FakeSource;
    Result<Recheck> recheck(Rank, Iteration) override {
      return Error(ErrorCode::kUnsupported, "operators of another framework");
    }
  };
  Program p;
  p.layer("Net/a", p.x, p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}));
  Refusing source(p.graph, 1, 1);
  source.record(Rank(0), Iteration(0), p.x, numbers({8, 16}, 1));
  const CheckReport report = watch::check(source, {*watch::parseWatchpoint("kernel_mismatch")}, {});
  REQUIRE(report.notEvaluable.size() == 1);
  CHECK(report.notEvaluable.front().detail == "operators of another framework");
}

TEST_CASE("hyperparameter_range knows a dropout that PyTorch draws as a mask") {
  CHECK(contains(ofDropout(0.05, 0.05), "it drops 95 % of its input"));
  CHECK(ofDropout(0.5, 0.5).empty());
  CHECK(ofDropout(0.05, 1.0).empty());  // rare events that the program draws
}

TEST_CASE("hyperparameter_range hints at settings of a normalisation of PyTorch") {
  CHECK(ofNorm(1e-5, 0.1).empty());
  CHECK(contains(ofNorm(1.0, 0.1), "an epsilon of 1 is added"));
  CHECK(contains(ofNorm(1e-5, 0.99), "with a momentum of 0.99"));
}

TEST_CASE("same_batch hints at epochs of PyTorch that come in one order") {
  CHECK(contains(ofOrder([](int k) { return k % 8; }), "its 8 batches come in the same order"));
  CHECK(contains(ofOrder([](int k) { return k % 10; }), "its 10 batches"));
  CHECK_FALSE(contains(ofOrder([](int k) { return k % 3; }), "same order"));  // written down one by one
  CHECK_FALSE(contains(ofOrder([](int k) { return k < 8 ? k : (3 * k + 1) % 8; }), "same order"));
  CHECK_FALSE(contains(ofOrder([](int k) { return k % 15; }), "same order"));  // no second whole epoch
  CHECK(ofOrder([](int k) { return k; }).empty());
}

TEST_CASE("gradients_dropped names passes that no step is made of") {
  Program p;
  const TensorId mark =
      p.node("dropped_gradients", "main", Phase::kUpdate, {}, floats(TensorRole::kActivation, "", {}), {},
             "torch", {{"passes", std::int64_t{4}}});
  FakeSource source(p.graph, 1, 1);
  source.record(Rank(0), Iteration(0), mark, numbers({}, 1));
  CHECK(contains(said(source, "gradients_dropped", Severity::kFault),
                 "each step comes after 4 backward passes"));
}

TEST_CASE("optimizer_reset names an optimizer that is made for each step") {
  Program p;
  const TensorId mark =
      p.node("new_optimizer", "update/main", Phase::kUpdate, {}, floats(TensorRole::kActivation, "", {}), {},
             "torch", {{"optimizer", std::string("Adam")}, {"steps", std::int64_t{6}}});
  FakeSource source(p.graph, 1, 2);
  source.record(Rank(0), Iteration(0), p.x, numbers({8, 16}, 1));
  source.record(Rank(0), Iteration(1), mark, numbers({}, 1));
  CHECK(contains(said(source, "optimizer_reset", Severity::kFault),
                 "each of the last 6 steps was the first of a new Adam"));
}

}  // namespace msdbg::test
