// Groups of parameters with a rate and a decay of their own, against plain arithmetic.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "core_engine/ops/functions.h"
#include "core_engine/passes/pipeline.h"
#include "core_engine/runtime/executor.h"
#include "core_engine/train/freeze.h"
#include "core_engine/train/trainer.h"
#include "tests/train/plain_run.h"

using namespace msdbg::core;
using Catch::Matchers::Contains;
using msdbg::test::PlainRun;

namespace {

/// loss = sum(a * x) + sum(b * x) + sum(c * x): every gradient is x.
struct Three {
  Graph g{"net", DType::Float64};
  Value x = g.input("x", {2}), a, b, c, loss;
  Three() {
    a = g.parameter("a", {2}, Init::constant(3));
    b = g.parameter("b", {2}, Init::constant(3));
    {
      const Scope scope = g.scope("head");
      c = g.parameter("bias", {2}, Init::constant(3));
    }
    loss = reduceSum(a * x, {}, false) + reduceSum(b * x, {}, false) + reduceSum(c * x, {}, false);
  }
};

constexpr double kX = 0.5;

std::vector<double> trained(const Optimizer& optimizer, int steps) {
  PlainRun run;
  Three net;
  Trainer trainer(run, net.g, net.loss, optimizer);
  const double x[] = {kX, kX};
  for (int i = 0; i < steps; ++i) trainer.step({Iteration{i}, {{"x", Tensor::of<double>({2}, x)}}});
  std::vector<double> values;
  for (const Value& v : {net.a, net.b, net.c}) values.push_back(trainer.executor().value(v.id()).at(0));
  return values;
}

/// One number trained by a rule with this rate and decay.
using Rule = std::function<double(double rate, double decay)>;

double sgd(double rate, double decay, double momentum, int steps) {
  double p = 3, v = 0;
  for (int t = 0; t < steps; ++t) {
    v = momentum * v + kX + decay * p;
    p -= rate * v;
  }
  return p;
}

double adam(double rate, double decay, bool decoupled, int steps) {
  double p = 3, m = 0, v = 0;
  for (int t = 1; t <= steps; ++t) {
    const double g = kX + (decoupled ? 0 : decay * p);
    if (decoupled) p *= 1 - rate * decay;
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    p -= rate * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
  }
  return p;
}

/// a has a tenth of the rate, the bias no decay, b what the rule says.
void checkGroups(Optimizer optimizer, const Rule& rule) {
  optimizer.groups = {{.match = "net/a", .lrFactor = 0.1}, {.match = "*/bias", .weightDecay = 0}};
  const std::vector<double> got = trained(optimizer, 5);
  CHECK(got[0] == Approx(rule(0.1 * 0.05, 0.1)).epsilon(1e-13));
  CHECK(got[1] == Approx(rule(0.05, 0.1)).epsilon(1e-13));
  CHECK(got[2] == Approx(rule(0.05, 0)).epsilon(1e-13));
}

}  // namespace

TEST_CASE("Groups choose rate and decay for Sgd with and without momentum, Adam and AdamW") {
  for (const double momentum : {0.0, 0.9})
    checkGroups(Sgd{.lr = 0.05, .momentum = momentum, .weightDecay = 0.1},
                [&](double rate, double decay) { return sgd(rate, decay, momentum, 5); });
  checkGroups(Adam{.lr = 0.05, .weightDecay = 0.1},
              [](double rate, double decay) { return adam(rate, decay, false, 5); });
  checkGroups(AdamW{.lr = 0.05, .weightDecay = 0.1},
              [](double rate, double decay) { return adam(rate, decay, true, 5); });
}

TEST_CASE("A group may give a decay where the rule has none, and of two groups the first decides") {
  Optimizer optimizer = Sgd{.lr = 0.05};
  optimizer.groups = {{.match = "net/a", .weightDecay = 0.2}, {.match = "*", .lrFactor = 0}};
  const std::vector<double> got = trained(optimizer, 3);
  CHECK(got[0] == Approx(sgd(0.05, 0.2, 0, 3)));
  CHECK(got[1] == 3);
  CHECK(got[2] == 3);
}

TEST_CASE("The fast kernels train groups to the bits of the reference") {
  const auto train = [](bool fast) {
    PlainRun run;
    Graph g("net");
    const Value x = g.input("x", {2, 700}), w = g.parameter("w", {700}, Init::normal()),
                b = g.parameter("b", {700}, Init::uniform(-1, 1));
    const Value loss = reduceSumSquare(x * w + b, {}, false);
    Optimizer optimizer = AdamW{.lr = 0.01};
    optimizer.groups = {{.match = "*/b", .lrFactor = 0.3, .weightDecay = 0.5}};
    Graph compiled = g;
    auto training = compileTraining(compiled, loss.id(), optimizer, 1);
    REQUIRE(training.ok());
    ExecutorOptions options;
    options.backend = fast ? BackendKind::kFast : BackendKind::kReference;
    auto executor = Executor::create(compiled, options).orThrow();
    Tensor rows(DType::Float32, {2, 700}), rate = Tensor::scalar(0.01f);
    for (std::int64_t i = 0; i < rows.elements(); ++i)
      rows.data<float>()[static_cast<std::size_t>(i)] = 0.01f * static_cast<float>(i % 17);
    for (int i = 0; i < 3; ++i)
      REQUIRE(executor->run(Iteration{i}, {{x.id(), rows}, {training->learningRate, rate}}, nullptr).ok());
    return executor->value(b.id()).clone();
  };
  const Tensor fast = train(true), reference = train(false);
  CHECK(std::ranges::equal(fast.byteSpan(), reference.byteSpan()));
}

TEST_CASE("A group that no parameter fits, and one with impossible numbers, is refused") {
  PlainRun run;
  const auto refusal = [&](const ParameterGroup& group) {
    Three net;
    Optimizer optimizer = Sgd{};
    optimizer.groups = {group};
    try {
      const Trainer trainer(run, net.g, net.loss, optimizer);
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK_THAT(refusal({.match = "*/biases"}), Contains("no parameter's name fits the group */biases"));
  CHECK_THAT(refusal({.match = ""}), Contains("match is empty"));
  CHECK_THAT(refusal({.match = "*", .lrFactor = -1}), Contains("group *: lrFactor is -1"));
  CHECK_THAT(refusal({.match = "*", .weightDecay = NAN}), Contains("weightDecay is nan"));
}

TEST_CASE("A group that decides for nothing is refused: all frozen, or groups before it fit the same") {
  PlainRun run;
  const auto refusal = [&](std::vector<ParameterGroup> groups, bool frozen) {
    Three net;
    if (frozen) freeze(net.c);
    Optimizer optimizer = Sgd{};
    optimizer.groups = std::move(groups);
    try {
      const Trainer trainer(run, net.g, net.loss, optimizer);
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK_THAT(refusal({{.match = "*/bias"}}, true), Contains("the group */bias") && Contains("frozen"));
  CHECK_THAT(refusal({{.match = "net/*"}, {.match = "*/bias"}}, false),
             Contains("the group */bias") && Contains("groups before it"));
  CHECK(refusal({{.match = "*/bias"}, {.match = "net/*"}}, false) == "no error");
  CHECK_THAT(refusal({{.match = "net/encoder/attention/*"}}, false),
             Contains("; there are net/a, net/b, net/head/*"));
}
