// The plan itself: its verifier, its kernels, and how an executor runs it.
#include "core_engine/plan/plan.h"

#include <catch2/catch.hpp>

#include "core_engine/graph/verify.h"
#include "core_engine/models/model.h"
#include "core_engine/ops/functions.h"
#include "core_engine/passes/pipeline.h"
#include "core_engine/plan/pipeline.h"
#include "core_engine/runtime/executor.h"
#include "core_engine/train/layers.h"
#include "core_engine/train/trainer.h"
#include "tests/ops/samples.h"

using namespace msdbg::core;

namespace {

struct Chain {
  Graph g;
  Value x, a, b, c, y;
  PlanOptions options;
  Plan plan;
  Chain() {
    x = g.input("x", {2048});
    a = relu(x), b = sigmoid(a), c = tanh(b), y = relu(c);
    options.keep = {y.id()};
    plan = makePlan(g, options).orThrow();
  }
  PlanStep& step(Value value) { return plan.steps[g.tensor(value.id()).producer.index()]; }
  std::string broken() const {
    const Status status = verifyPlan(g, options, plan);
    return status.ok() ? "" : status.error().message();
  }
};

}  // namespace

TEST_CASE("A plan that would give wrong values is refused with the broken rule") {
  Chain whole;
  REQUIRE(whole.broken() == "");
  SECTION("early") {
    whole.step(whole.a).inputs = {whole.c.id()};
    CHECK_THAT(whole.broken(), Catch::Contains("network/Relu-op1 reads network/Tanh-op1:0 before"));
  }
  SECTION("unseen") {
    whole.step(whole.b).how = How::kWatched;
    CHECK_THAT(whole.broken(), Catch::Contains("which is computed only where observed"));
  }
  SECTION("not constant") {
    whole.step(whole.b).how = How::kOnce;
    CHECK_THAT(whole.broken(), Catch::Contains("is computed once, but reads"));
  }
  SECTION("one place for two") {
    whole.plan.placeOf[whole.b.id().index()] = whole.plan.placeOf[whole.a.id().index()];
    CHECK_THAT(whole.broken(), Catch::Contains("writes into what it reads"));
  }
  SECTION("taken too early") {
    whole.step(whole.y).inputs = {whole.a.id()};  // c lies where a was
    CHECK_THAT(whole.broken(), Catch::Contains("whose memory another tensor has taken"));
  }
  SECTION("kept in shared memory") {
    whole.options.keep->push_back(whole.b.id());
    CHECK_THAT(whole.broken(), Catch::Contains("is to be kept, but lies in shared memory"));
  }
  SECTION("a part that is not there") {
    whole.step(whole.b) = {whole.step(whole.b).node, How::kView, {}, {whole.a.id()}, {1}};
    CHECK_THAT(whole.broken(), Catch::Contains("which has another type or size"));
  }
  SECTION("replaces nothing") {
    whole.plan.inPlace[whole.b.id().index()] = true;
    CHECK_THAT(whole.broken(), Catch::Contains("replaces nothing"));
  }
  SECTION("a fault that would be missed") {
    whole.options.pinned = {whole.step(whole.b).node};
    whole.step(whole.b) = {whole.step(whole.b).node, How::kView, {}, {whole.a.id()}};
    CHECK_THAT(whole.broken(), Catch::Contains("must run, but does not"));
  }
}

TEST_CASE("The text of a plan tells what each step does and where its outputs lie") {
  Graph g;
  const Value x = g.input("x", {32, 64}), a = relu(x), b = reshape(a, {2048}), c = reshape(a, {2048}),
              d = sigmoid(b), e = sigmoid(c), y = d + e;
  const Plan plan = makePlan(g, {.keep = {{y.id()}}}).orThrow();
  CHECK(planText(g, plan) ==
        "%0 = run Relu(network/x:0) -> float32[32,64]@0  # network/Relu-op1\n"
        "%1 = view Reshape(network/Relu-op1:0) -> float32[2048]  # network/Reshape-op1\n"
        "%2 = view Reshape(network/Relu-op1:0) -> float32[2048]  # network/Reshape-op2\n"
        "%3 = run Sigmoid(network/Reshape-op1:0) -> float32[2048]@8192  # network/Sigmoid-op1\n"
        "%4 = same as network/Sigmoid-op1 -> float32[2048]  # network/Sigmoid-op2\n"
        "%5 = run Add(network/Sigmoid-op1:0, network/Sigmoid-op1:0) -> float32[2048]  # network/Add-op1\n");
}

TEST_CASE("After every pass each node of every model has one kernel, and each kernel its nodes and lines") {
  for (const ModelInfo& model : builtinModels()) {
    Graph g("network");
    const Value loss = model.build(g, {.batch = 2, .dropout = model.hasDropout ? 0.5 : 0});
    REQUIRE(compileTraining(g, loss.id(), model.optimizer, 2).ok());
    std::string passes = "none";
    for (const PlanPass& pass : planPasses()) {
      passes = passes == "none" ? std::string(pass.name) : passes + "," + std::string(pass.name);
      INFO(model.name << " after " << pass.name);
      const Plan plan = makePlan(g, {.keep = readAfterIteration(g, loss.id()),
                                     .choices = {.passes = PassSelection::parse(passes).orThrow()}})
                            .orThrow();
      std::vector<KernelId> kernelOf;
      g.setKernels(
          planKernels(plan, g, std::vector<CompiledKernel>(plan.steps.size(), {"some", "", 1}), &kernelOf));
      const Status whole = verify(g);
      if (!whole.ok()) FAIL(whole.error().message());
      for (const Kernel& kernel : g.kernels()) {
        REQUIRE_FALSE(kernel.nodes.empty());
        for (const NodeId id : kernel.nodes) {
          REQUIRE(g.kernelsOf(id) == std::vector{kernel.id});
          REQUIRE(g.userFrame(g.node(id).frames) != nullptr);
          REQUIRE(kernelOf[id.index()] == kernel.id);
        }
      }
    }
  }
}

TEST_CASE("A value that was not kept is empty after an iteration, one that was is there") {
  Graph g;
  const Value x = g.input("x", {2048}), a = relu(x), view = reshape(a, {32, 64}), unused = sigmoid(a),
              y = tanh(view);
  auto executor = std::move(Executor::create(g, {.keep = {{y.id()}}})).orThrow();
  REQUIRE(executor->run(Iteration(0), {{x.id(), Tensor::zeros(DType::Float32, {2048})}}, nullptr).ok());
  CHECK_FALSE(executor->value(a.id()).valid());
  CHECK_FALSE(executor->value(view.id()).valid());
  CHECK_FALSE(executor->value(unused.id()).valid());
  CHECK(executor->value(y.id()).shape() == Shape{32, 64});
}

TEST_CASE(
    "Updates write over parameters while nobody observes, and apart for an observer; bits are the same") {
  struct Nothing : Observer {
    void graphReady(const Graph&) override {}
    void iterationStarted(Iteration) override {}
    void iterationFinished(Iteration, const Scalars&) override {}
    void tensorReady(const TensorReady& ready) override {
      if (ready.previous) apart = apart && ready.previous->raw() != ready.value.raw();
    }
    bool apart = true;
  };
  const auto trained = [](std::vector<bool> observed, bool elsewhere) {
    Graph g("net");
    const Value x = g.input("x", {8, 16}), label = g.input("label", {8}, DType::Int64);
    const Value loss = softmaxCrossEntropy(linear(x, {.out = 4}), label);
    REQUIRE(compileTraining(g, loss.id(), Sgd{.momentum = 0.9}, 1).ok());
    auto executor = std::move(Executor::create(g, {.keep = readAfterIteration(g, loss.id())})).orThrow();
    const TensorId weight = *g.findTensor("net/weight:0");
    const Tensor start = executor->value(weight).clone();
    if (elsewhere) REQUIRE(executor->share(weight, start).ok());
    Tensor pixels(DType::Float32, {8, 16});
    std::ranges::fill(pixels.data<float>(), 0.5f);
    Nothing nothing;
    const TensorId rate = *g.findTensor("optimizer/learning_rate:0");
    for (std::size_t i = 0; i < observed.size(); ++i)
      REQUIRE(executor
                  ->run(Iteration(static_cast<std::int64_t>(i)),
                        {{x.id(), pixels},
                         {label.id(), Tensor::zeros(DType::Int64, {8})},
                         {rate, Tensor::scalar(0.1f)}},
                        observed[i] ? &nothing : nullptr)
                  .ok());
    CHECK(nothing.apart);
    if (elsewhere) CHECK_FALSE(msdbg::test::sameBytes(start, executor->value(weight)));
    return executor->value(weight).clone();
  };
  const Tensor always = trained({true, true, true, true, true, true}, false);
  const std::vector<std::vector<bool>> patterns = {{false, false, false, false, false, false},
                                                   {true, false, true, true, false, true},
                                                   {false, true, false, false, true, false}};
  for (const std::vector<bool>& pattern : patterns)
    for (const bool elsewhere : {false, true})
      CHECK(msdbg::test::sameBytes(trained(pattern, elsewhere), always));
}

TEST_CASE("What was computed once from a constant is computed anew when the constant is replaced") {
  Graph g;
  const Value x = g.input("x", {2, 2}), one = constant(g, 1, {2, 2}, DType::Float32, Where::current()),
              y = x + trilu(one);
  auto executor = std::move(Executor::create(g, {})).orThrow();
  const auto last = [&] {
    REQUIRE(executor->run(Iteration(0), {{x.id(), Tensor::zeros(DType::Float32, {2, 2})}}, nullptr).ok());
    const Tensor& value = executor->value(y.id());
    return std::vector{value.at(0), value.at(1), value.at(2), value.at(3)};
  };
  CHECK(last() == std::vector{1.0, 1.0, 0.0, 1.0});
  CHECK(last() == std::vector{1.0, 1.0, 0.0, 1.0});
  Tensor seven(DType::Float32, {2, 2});
  std::ranges::fill(seven.data<float>(), 7.0f);
  REQUIRE(executor->setValue(one.id(), seven).ok());
  CHECK(last() == std::vector{7.0, 7.0, 0.0, 7.0});
}
