#include "core_engine/train/freeze.h"

#include <catch2/catch.hpp>

#include "core_engine/runtime/executor.h"
#include "core_engine/tensor/statistics.h"
#include "core_engine/train/layers.h"
#include "core_engine/train/trainer.h"
#include "tests/support/stderr_of.h"
#include "tests/train/plain_run.h"

using namespace msdbg::core;
using Catch::Matchers::Contains;
using msdbg::test::PlainRun;
using msdbg::test::stderrOf;

namespace {

struct TwoLayers {
  Graph g{"net"};
  Value x = g.input("x", {4, 3}), label = g.input("label", {4}, DType::Int64), hidden, loss;

  TwoLayers() {
    {
      const Scope scope = g.scope("backbone");
      hidden = relu(linear(x, {.out = 5}));
    }
    const Scope scope = g.scope("head");
    loss = softmaxCrossEntropy(linear(hidden, {.out = 2}), label);
  }
};

Batch batch() {
  const float rows[] = {1, 0, 2, -1, 1, 0, 0.5f, 0.5f, 0.5f, 0, -2, 1};
  const std::int64_t labels[] = {0, 1, 1, 0};
  return {Iteration{0},
          {{"x", Tensor::of<float>({4, 3}, rows)}, {"label", Tensor::of<std::int64_t>({4}, labels)}}};
}

Hash128 hashOf(Trainer& trainer, const std::string& name) {
  return hashTensor(trainer.executor().value(trainer.graph().findTensor(name).value()));
}

template <typename Build>
std::string buildError(Build build) {
  try {
    build();
  } catch (const BuildError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("A frozen scope keeps its bits; nothing is computed to train it, and the rest trains") {
  PlainRun run;
  TwoLayers net;
  freeze(net.g, "net/backbone/*");
  Trainer trainer(run, net.g, net.loss, Adam{.lr = 0.1});
  const Hash128 frozen = hashOf(trainer, "net/backbone/weight"), trained = hashOf(trainer, "net/head/weight");
  for (int i = 0; i < 3; ++i) trainer.step(batch());
  CHECK(hashOf(trainer, "net/backbone/weight") == frozen);
  CHECK(hashOf(trainer, "net/head/weight") != trained);
  for (const char* name :
       {"grad(net/backbone/weight)", "exp_avg(net/backbone/weight)", "next(net/backbone/bias)"})
    CHECK_FALSE(net.g.findTensor(name));
  for (const Node& node : net.g.nodes())
    if (node.phase != Phase::kForward) {
      INFO(node.name);
      CHECK(node.name.find("backbone") == std::string::npos);
    }
}

TEST_CASE("A frozen parameter of a trained layer has no gradient, and the other one has") {
  PlainRun run;
  TwoLayers net;
  freeze(net.g, "*/head/weight");
  Trainer trainer(run, net.g, net.loss, Sgd{.lr = 0.1, .momentum = 0.9});
  const Hash128 weight = hashOf(trainer, "net/head/weight"), bias = hashOf(trainer, "net/head/bias"),
                below = hashOf(trainer, "net/backbone/weight");
  trainer.step(batch());
  CHECK(hashOf(trainer, "net/head/weight") == weight);
  CHECK(hashOf(trainer, "net/head/bias") != bias);
  CHECK(hashOf(trainer, "net/backbone/weight") != below);
  CHECK_FALSE(net.g.findTensor("grad(net/head/weight)"));
  CHECK(net.g.findTensor("grad(net/head/bias)"));
}

TEST_CASE("What is frozen is part of the state that training goes on from") {
  PlainRun run;
  TwoLayers net;
  freeze(net.g, "*backbone*");
  Trainer trainer(run, net.g, net.loss, Sgd{.lr = 0.1});
  trainer.step(batch());
  const TrainingState state = trainer.state();
  CHECK(std::ranges::count(state.tensors, "net/backbone/weight:0", &std::pair<std::string, Tensor>::first) ==
        1);
  TwoLayers again;
  freeze(again.g, "*backbone*");
  Trainer other(run, again.g, again.loss, Sgd{.lr = 0.1});
  other.restore(state);
  CHECK(other.step(batch()).loss == trainer.step(batch()).loss);
}

TEST_CASE("One parameter of one's own is frozen by its Value") {
  PlainRun run;
  Graph g("net");
  const Value x = g.input("x", {4, 3}), a = g.parameter("a", {3}, Init::constant(2)),
              b = g.parameter("b", {3}, Init::ones());
  freeze(a);
  Trainer trainer(run, g, reduceMean(x * a * b, {}, false), Sgd{.lr = 1});
  trainer.step({Iteration{0}, {{"x", batch().tensors[0].second}}});
  CHECK(trainer.executor().value(a.id()).at(0) == 2);
  CHECK(trainer.executor().value(b.id()).at(0) != 1);
}

TEST_CASE("Mistakes with freeze are refused on the line of the call") {
  TwoLayers net;
  PlainRun run;
  const std::string line = "freeze_test.cpp:" + std::to_string(__LINE__ + 1);
  const std::string unknown = buildError([&] { freeze(net.g, "net/backbones/*"); });
  CHECK_THAT(unknown,
             Contains("net/backbones/*") && Contains("did you mean net/backbone/") && Contains(line));
  CHECK_THAT(buildError([&] { freeze(net.hidden); }), Contains("no parameter but activation"));
  CHECK_THAT(buildError([&] { freeze(Value()); }), Contains("empty Value"));
  const Trainer trainer(run, net.g, net.loss, Sgd{});
  CHECK_THAT(buildError([&] { freeze(net.g, "*"); }), Contains("has its Trainer already"));
}

TEST_CASE("A glob that fits no parameter is answered with what there is") {
  const auto answer = [](const char* glob) {
    TwoLayers net;
    return buildError([&] { freeze(net.g, glob); });
  };
  CHECK_THAT(answer("net/heat/*"), Contains("did you mean net/head/*"));
  CHECK_THAT(answer("net/encoder/attention/*"), Contains("; there are net/backbone/*, net/head/*"));
  CHECK_THAT(answer("net/head/attention/weight_of_all"),
             Contains("; there are net/head/weight, net/head/bias"));
  CHECK_THAT(answer("encoder*"), Contains("; there are net/backbone/*, net/head/*"));
}

TEST_CASE("With everything frozen there is nothing to train, and that is said") {
  TwoLayers net;
  PlainRun run;
  freeze(net.g, "*");
  CHECK_THROWS_WITH(Trainer(run, net.g, net.loss, Sgd{}), Contains("no trainable parameter"));
}

TEST_CASE("a trainer says at once which layers no gradient reaches, and nothing of frozen ones") {
  const auto said = [](bool cut, bool frozen) {
    Graph g("net");
    const Value x = g.input("x", {4, 3}), label = g.input("label", {4}, DType::Int64);
    Value hidden = linear(x, {.out = 5});
    if (cut) hidden = cast(cast(hidden, DType::Int32), DType::Float32);
    const Value loss = softmaxCrossEntropy(linear(hidden, {.out = 2}), label);
    if (frozen) freeze(g, "*fc1/*");
    PlainRun run;
    return stderrOf([&] { Trainer(run, g, loss, Sgd{.lr = 0.1}); });
  };
  CHECK(said(false, false).empty());
  const std::string told = said(true, false);
  CHECK_THAT(told, Contains("warning: no gradient reaches net/") &&
                       Contains("stopped by Cast at freeze_test.cpp:") && Contains("1 more parameter;"));
  CHECK(std::ranges::count(told, '\n') == 1);
}

TEST_CASE("a trainer says at once what is multiplied by zero on every way to the loss") {
  const auto said = [](double factor, bool beside) {
    Graph g("net");
    const Value x = g.input("x", {4, 3}), label = g.input("label", {4}, DType::Int64);
    const Value hidden = linear(x, {.out = 5});
    Value h = hidden * factor + linear(x, {.out = 5});
    if (beside) h = h + relu(hidden);
    const Value loss = softmaxCrossEntropy(linear(h, {.out = 2}), label);
    PlainRun run;
    return stderrOf([&] { Trainer(run, g, loss, Sgd{.lr = 0.1}); });
  };
  CHECK_THAT(said(0, false), Contains("is always zero: Mul at freeze_test.cpp:") &&
                                 Contains("multiplies by 0; nor 1 more parameter; leave the term out"));
  CHECK(said(0, true).empty());
  CHECK(said(0.5, false).empty());
}
