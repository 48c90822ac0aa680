// Optimizers, schedules and clipping against a few lines of plain double arithmetic.
#include "core_engine/passes/optimizer.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "core_engine/runtime/executor.h"
#include "core_engine/train/layers.h"
#include "core_engine/train/trainer.h"
#include "tests/train/plain_run.h"

using namespace msdbg::core;
using Catch::Matchers::Contains;
using msdbg::test::PlainRun;

namespace {

/// loss = sum(x * p * p) / 2, so that the gradient is x * p.
struct Bowl {
  Graph g{"bowl", DType::Float64};
  Value x = g.input("x", {2}), p, loss;

  Bowl() {
    p = parameter(g, "p", {2}, DType::Float64, {Initializer::Kind::kConstant, 3}, Where::current());
    loss = reduceSum(x * p * p * 0.5, {}, false);
  }
};

constexpr double kCurvature[] = {1, -4};

/// p after `steps` steps of the engine.
std::vector<double> trained(const Optimizer& optimizer, int steps, std::vector<double>* norms = nullptr) {
  PlainRun run;
  Bowl bowl;
  Trainer trainer(run, bowl.g, bowl.loss, optimizer);
  const Batch batch{Iteration{0}, {{"x", Tensor::of<double>({2}, kCurvature)}}};
  for (int i = 0; i < steps; ++i) {
    trainer.step(batch);
    if (norms) norms->push_back(trainer.executor().value(*bowl.g.findTensor("grad_norm")).at(0));
  }
  const Tensor& p = trainer.executor().value(bowl.p.id());
  return {p.at(0), p.at(1)};
}

/// The same by a rule that changes one number.
using Step = std::function<void(double& p, double gradient, int t, double (&state)[2])>;
std::vector<double> expected(const Step& step, int steps) {
  std::vector<double> all;
  for (double curvature : kCurvature) {
    double p = 3, state[2] = {};
    for (int t = 1; t <= steps; ++t) step(p, curvature * p, t, state);
    all.push_back(p);
  }
  return all;
}

void check(const std::vector<double>& got, const std::vector<double>& wanted) {
  for (std::size_t i = 0; i < 2; ++i) CHECK(got[i] == Approx(wanted[i]).epsilon(1e-13));
}

void adamStep(double& p, double g, int t, double (&s)[2], double lr) {
  s[0] = 0.9 * s[0] + 0.1 * g;
  s[1] = 0.999 * s[1] + 0.001 * g * g;
  p -= lr * (s[0] / (1 - std::pow(0.9, t))) / (std::sqrt(s[1] / (1 - std::pow(0.999, t))) + 1e-8);
}

}  // namespace

TEST_CASE("Sgd with Nesterov's momentum and weight decay follows PyTorch's formula") {
  check(trained(Sgd{.lr = 0.1, .momentum = 0.9, .weightDecay = 0.01, .nesterov = true}, 5),
        expected(
            [](double& p, double g, int, double(&v)[2]) {
              g += 0.01 * p;
              v[0] = 0.9 * v[0] + g;
              p -= 0.1 * (g + 0.9 * v[0]);
            },
            5));
}

TEST_CASE("Adam adds its decay to the gradient, AdamW scales the parameter") {
  check(trained(Adam{.lr = 0.05, .weightDecay = 0.1}, 5),
        expected([](double& p, double g, int t, double(&s)[2]) { adamStep(p, g + 0.1 * p, t, s, 0.05); }, 5));
  check(trained(AdamW{.lr = 0.05, .weightDecay = 0.1}, 5), expected(
                                                               [](double& p, double g, int t, double(&s)[2]) {
                                                                 p *= 1 - 0.05 * 0.1;
                                                                 adamStep(p, g, t, s, 0.05);
                                                               },
                                                               5));
}

TEST_CASE("Adam's states and step count are states of the graph, named by their parameter") {
  Bowl bowl;
  PlainRun run;
  Trainer trainer(run, bowl.g, bowl.loss, Adam{});
  const Batch batch{Iteration{0}, {{"x", Tensor::of<double>({2}, kCurvature)}}};
  for (int i = 0; i < 3; ++i) trainer.step(batch);
  for (const char* name : {"exp_avg(bowl/p)", "exp_avg_sq(bowl/p)", "optimizer/step"}) {
    INFO(name);
    const auto state = bowl.g.findTensor(name);
    REQUIRE(state);
    CHECK(bowl.g.tensor(*state).role == TensorRole::kOptimizerState);
    CHECK(bowl.g.tensor(*state).replicated);
  }
  CHECK(trainer.executor().value(*bowl.g.findTensor("optimizer/step")).at(0) == 3);
}

TEST_CASE("Gradients are clipped by value, then all together by their norm, as nodes of the update") {
  Optimizer byValue = Sgd{.lr = 0.1};
  byValue.clipValue = 2;
  const auto clipped = [](double g) { return std::min(std::max(g, -2.0), 2.0); };
  check(trained(byValue, 3),
        expected([&](double& p, double g, int, double(&)[2]) { p -= 0.1 * clipped(g); }, 3));

  Optimizer byNorm = Sgd{.lr = 0.1};
  byNorm.clipNorm = 1;
  std::vector<double> norms, p{3, 3}, wantedNorms;
  const std::vector<double> got = trained(byNorm, 3, &norms);
  for (int i = 0; i < 3; ++i) {
    const double norm = std::hypot(kCurvature[0] * p[0], kCurvature[1] * p[1]);
    wantedNorms.push_back(norm);
    for (std::size_t k = 0; k < 2; ++k) p[k] -= 0.1 * kCurvature[k] * p[k] * std::min(1.0, 1 / (norm + 1e-6));
  }
  check(got, p);
  for (std::size_t i = 0; i < 3; ++i) CHECK(norms[i] == Approx(wantedNorms[i]).epsilon(1e-14));
}

TEST_CASE("Clipping leaves grad(P) as it is and names what the update reads clipped_grad(P)") {
  Bowl bowl;
  PlainRun run;
  Optimizer optimizer = Sgd{};
  optimizer.clipNorm = 1;
  Trainer trainer(run, bowl.g, bowl.loss, optimizer);
  const TensorId plain = *bowl.g.findTensor("grad(bowl/p)"),
                 clipped = *bowl.g.findTensor("clipped_grad(bowl/p)");
  CHECK(plain != clipped);
  const Node& update = bowl.g.node(bowl.g.tensor(*bowl.g.findTensor("next(bowl/p)")).producer);
  CHECK(update.inputs[1] == clipped);
  for (const Node& node : bowl.g.nodes())
    if (node.phase == Phase::kUpdate) CHECK(bowl.g.userFrame(node.frames) != nullptr);
}

TEST_CASE("A gradient below the norm's limit is not scaled up") {
  Optimizer loose = Sgd{.lr = 0.1};
  loose.clipNorm = 1e6;
  check(trained(loose, 2), trained(Sgd{.lr = 0.1}, 2));
}

TEST_CASE("Schedules rise linearly, then stay, drop or follow the cosine") {
  const auto at = [](const Schedule& s, std::int64_t k) { return s.at(Iteration{k}); };
  CHECK(at(constantSchedule(), 1000) == 1);
  CHECK(at(constantSchedule(4), 0) == 0.25);
  CHECK(at(constantSchedule(4), 3) == 1);
  const Schedule step = stepSchedule(10, 0.5, 2);
  CHECK(at(step, 1) == 1);
  CHECK(at(step, 11) == 1);
  CHECK(at(step, 12) == 0.5);
  CHECK(at(step, 32) == Approx(0.125));
  const Schedule cosine = cosineSchedule(100, 0.1);
  CHECK(at(cosine, 0) == 1);
  CHECK(at(cosine, 50) == Approx(0.55));
  CHECK(at(cosine, 100) == Approx(0.1));
  CHECK(at(cosine, 1000) == Approx(0.1));
}

TEST_CASE("The rate that an iteration trains with is the schedule's") {
  Bowl bowl;
  PlainRun run;
  Optimizer optimizer = Sgd{.lr = 0.5};
  optimizer.schedule = stepSchedule(1, 0.1);
  Trainer trainer(run, bowl.g, bowl.loss, optimizer);
  const Batch batch{Iteration{0}, {{"x", Tensor::of<double>({2}, kCurvature)}}};
  for (double rate : {0.5, 0.05, 0.005}) {
    trainer.step(batch);
    CHECK(trainer.executor().value(*bowl.g.findTensor("optimizer/learning_rate")).at(0) == Approx(rate));
  }
}

TEST_CASE("Impossible optimizers are refused by name and range") {
  const auto messageOf = [](const Optimizer& o) { return checkOptimizer(o).error().message(); };
  CHECK_THAT(messageOf(Sgd{.lr = NAN}), Contains("lr is nan"));
  CHECK_THAT(messageOf(Sgd{.momentum = 1}), Contains("momentum is 1") && Contains("[0, 1)"));
  CHECK_THAT(messageOf(Sgd{.nesterov = true}), Contains("nesterov"));
  CHECK_THAT(messageOf(Adam{.beta2 = 1}), Contains("beta2"));
  CHECK_THAT(messageOf(AdamW{.weightDecay = -1}), Contains("weightDecay is -1"));
  Optimizer o;
  o.schedule = cosineSchedule(0);
  CHECK_THAT(messageOf(o), Contains("length"));
  o = Sgd{};
  o.clipNorm = -1;
  CHECK_THAT(messageOf(o), Contains("clipNorm"));
  o.clipNorm = INFINITY;
  CHECK_THAT(messageOf(o), Contains("clipNorm is inf") && Contains("0: off"));
  o = Sgd{};
  o.clipValue = INFINITY;
  CHECK_THAT(messageOf(o), Contains("clipValue is inf"));
  o = Sgd{};
  o.schedule = stepSchedule(1, INFINITY);
  CHECK_THAT(messageOf(o), Contains("factor is inf"));
  CHECK_THAT(messageOf(Sgd{.weightDecay = INFINITY}), Contains("weightDecay is inf"));
  PlainRun run;
  Bowl bowl;
  CHECK_THROWS_WITH(Trainer(run, bowl.g, bowl.loss, Adam{.beta1 = 2}), Contains("beta1"));
}
