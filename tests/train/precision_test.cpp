// Mixed precision: what computes in which dtype, what a rounded node gives on every backend, and that
// parameters, their gradients and states stay float32.
#include "core_engine/graph/precision.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <optional>

#include "core_engine/base/backend_kind.h"
#include "core_engine/ops/functions.h"
#include "core_engine/runtime/fault.h"
#include "core_engine/tensor/statistics.h"
#include "core_engine/train/keep.h"
#include "core_engine/train/layers.h"
#include "core_engine/train/trainer.h"
#include "tests/train/plain_run.h"

using namespace msdbg::core;
using Catch::Matchers::Contains;

namespace {

/// Whole numbers around 0: their products and sums are exact in float32, whatever the order.
Tensor whole(const Shape& shape, std::int64_t step) {
  Tensor made(DType::Float32, shape);
  for (std::int64_t i = 0; i < made.elements(); ++i)
    made.data<float>()[static_cast<std::size_t>(i)] = static_cast<float>(3 * (i * step % 41 - 20));
  return made;
}

struct RunOn : msdbg::test::PlainRun {
  explicit RunOn(BackendKind kind) : chosen(kind) {}
  BackendKind backend() const override { return chosen; }
  BackendKind chosen;
};

struct Net {
  Graph g{"network"};
  Value x, weight, product, sum, scaled, loss;
  explicit Net(DType lower) {
    g.mixedPrecision(lower);
    x = g.input("x", {4, 16});
    weight = g.parameter("weight", {16, 6}, Init::zeros());
    product = matmul(x, weight);
    sum = relu(product) + product;
    scaled = sum * 0.1;
    const Value more = linear(sum, {.out = 3});
    loss = reduceMean(scaled * scaled, {}, false) + reduceMean(more * more, {}, false);
    for (const Value& kept : {product, sum, scaled}) keep(kept);
  }
};

struct Stepped {
  Net net;
  RunOn run;
  Trainer trainer;
  Stepped(DType lower, BackendKind backend)
      : net(lower), run(backend), trainer(run, net.g, net.loss, Adam{.lr = 0.01}) {
    trainer.setValue(net.weight, whole({16, 6}, 7));
    trainer.step(batch(0));
  }
  static Batch batch(std::int64_t i) { return {Iteration(i), {{"x", whole({4, 16}, 11)}}}; }
};

template <typename T>
double rounded(double x) {
  return static_cast<double>(toFloat(roundTo<T>(x)));
}

/// What the program of Net gives, by the definition.
template <typename T>
void checkValues(const Stepped& made, DType lower) {
  const Tensor x = whole({4, 16}, 11), w = whole({16, 6}, 7);
  const Tensor product = made.trainer.value(made.net.product), sum = made.trainer.value(made.net.sum);
  const Tensor scaled = made.trainer.value(made.net.scaled);
  CHECK(product.dtype() == lower);
  CHECK(sum.dtype() == lower);
  CHECK(scaled.dtype() == DType::Float32);
  int inexact = 0;
  for (std::int64_t i = 0; i < product.elements(); ++i) {
    double exact = 0;
    for (std::int64_t k = 0; k < 16; ++k) exact += x.at(i / 6 * 16 + k) * w.at(k * 6 + i % 6);
    const double p = rounded<T>(exact), s = rounded<T>(std::max(p, 0.0) + p);
    inexact += p != exact || s != std::max(p, 0.0) + p;
    CAPTURE(i, exact);
    CHECK(product.at(i) == p);
    CHECK(sum.at(i) == s);
    CHECK(scaled.at(i) == static_cast<double>(static_cast<float>(s) * 0.1f));
  }
  CHECK(inexact > 0);  // else rounding would not have been tried
}

std::map<std::string, std::string> statesOf(const Trainer& trainer) {
  std::map<std::string, std::string> hashes;
  for (const auto& [name, tensor] : trainer.state().tensors) hashes[name] = hashTensor(tensor).text();
  return hashes;
}

std::string refusal(const auto& f) {
  try {
    f();
  } catch (const BuildError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a product in a lower precision is summed in float32 and rounded once, on every backend") {
  for (const BackendKind backend : {BackendKind::kFast, BackendKind::kReference, BackendKind::kEmulated}) {
    CAPTURE(backendName(backend));
    checkValues<BFloat16>(Stepped(DType::BFloat16, backend), DType::BFloat16);
    checkValues<Float16>(Stepped(DType::Float16, backend), DType::Float16);
  }
}

TEST_CASE("training in mixed precision has the same bits on the CPU and on a device's kernels") {
  Stepped cpu(DType::BFloat16, BackendKind::kFast), emulated(DType::BFloat16, BackendKind::kEmulated);
  for (std::int64_t i = 1; i < 4; ++i) {
    const double loss = cpu.trainer.step(Stepped::batch(i)).loss;
    CHECK(loss == emulated.trainer.step(Stepped::batch(i)).loss);
  }
  CHECK(statesOf(cpu.trainer) == statesOf(emulated.trainer));
}

TEST_CASE(
    "parameters, their gradients and the optimizer's states stay float32; a gradient has its value's dtype") {
  const Stepped made(DType::BFloat16, BackendKind::kFast);
  int lower = 0, gradients = 0;
  for (const TensorInfo& info : made.net.g.tensors()) {
    CAPTURE(info.fullName());
    lower += info.dtype == DType::BFloat16;
    if (info.role == TensorRole::kParameter || info.role == TensorRole::kOptimizerState ||
        info.role == TensorRole::kUpdated)
      CHECK(isComputed(info.dtype));
    if (!info.gradientOf.valid()) continue;
    ++gradients;
    CHECK(info.dtype == made.net.g.tensor(info.gradientOf).dtype);
  }
  CHECK(lower > 10);
  CHECK(gradients > 5);
}

TEST_CASE("a source is cast once for all that read it, and what was cast up is read as it was") {
  Graph g("network");
  g.mixedPrecision(DType::BFloat16);
  const Value x = g.input("x", {4, 8});
  const Value w = g.parameter("w", {8, 8}, Init::ones());
  const Value a = matmul(x, w), b = matmul(x, w);
  const Value up = exp(a);           // reads a in float32
  const Value wide = a + up;         // and so does this
  const Value again = matmul(a, w);  // a itself
  CHECK(wide.dtype() == DType::Float32);
  CHECK(b.dtype() == DType::BFloat16);
  CHECK(g.node(again.info().producer).inputs.front() == a.id());
  std::map<std::string, int> count;
  for (const Node& node : g.nodes()) ++count[node.opType];
  CHECK(count == std::map<std::string, int>{{"Add", 1}, {"Cast", 4}, {"Exp", 1}, {"MatMul", 3}});
  const std::size_t nodes = g.nodes().size();
  CHECK(refusal([&] { matmul(g.input("y", {4, 7}), w); }) != "");
  CHECK(g.nodes().size() == nodes);  // what is refused leaves nothing behind
  g.mixedPrecision(DType::Float32);
  CHECK(relu(matmul(x, w)).dtype() == DType::Float32);
  CHECK((a + x).dtype() == DType::Float32);  // what is of both is computed in the wider one
  CHECK(linear(a, {.out = 2}).dtype() == DType::Float32);
  CHECK(relu(a).dtype() == DType::BFloat16);
}

TEST_CASE("the loss is scaled where something was computed in float16, whatever came after it") {
  Graph g("network");
  const Value x = g.input("x", {2, 4}), label = g.input("label", {2}, DType::Int64);
  g.mixedPrecision(DType::Float16);
  const Value h = linear(x, {.out = 3});
  g.mixedPrecision(DType::Float32);
  CHECK(h.dtype() == DType::Float16);
  const Value loss = softmaxCrossEntropy(cast(h, DType::Float32), label);
  msdbg::test::PlainRun run;
  Trainer trainer(run, g, loss, Sgd{.lr = 0.1});
  CHECK(g.findTensor("optimizer/loss_scale"));
  Graph half("network");
  half.mixedPrecision(DType::Float16);
  const Value product = matmul(half.input("x", {1, 4}), half.parameter("w", {4, 1}, Init::ones()));
  msdbg::test::PlainRun other;
  const auto make = [&] { Trainer(other, half, squeeze(product, {0, 1}), Sgd{.lr = 0.1}); };
  CHECK_THROWS_WITH(make(), Contains("must be float32 for that"));
}

TEST_CASE("a bfloat16 loss of bfloat16 logits is trained and has an accuracy") {
  Graph g("network");
  const Value x = g.input("x", {2, 4}), label = g.input("label", {2}, DType::Int64);
  g.mixedPrecision(DType::BFloat16);
  const Value h = linear(x, {.out = 3});
  g.mixedPrecision(DType::Float32);
  msdbg::test::PlainRun run;
  Trainer trainer(run, g, softmaxCrossEntropy(h, label), Sgd{.lr = 0.1});
  const std::vector<std::int64_t> classes{0, 2};
  const StepResult result = trainer.step(
      {Iteration(0), {{"x", whole({2, 4}, 5)}, {"label", Tensor::of<std::int64_t>({2}, classes)}}});
  CHECK(result.loss > 0);
  CHECK(result.accuracy >= 0);
}

TEST_CASE("what a program reads of its gradients is of the loss as it was written") {
  Graph g("network");
  g.mixedPrecision(DType::Float16);
  const Value x = g.input("x", {1, 2});
  const Value w = g.parameter("w", {2, 4}, Init::constant(0.5));
  const Value product = matmul(x, w);
  keep(product), keep(w);
  msdbg::test::PlainRun run;
  Trainer trainer(run, g, reduceSum(product, {}, false) * 0.25, Sgd{.lr = 0.5});
  const std::vector<float> ones{1, 1};
  trainer.step({Iteration(0), {{"x", Tensor::of<float>({1, 2}, ones)}}});
  CHECK(trainer.gradient(product).at(0) == 0.25);
  CHECK(trainer.gradient(w).at(0) == 0.25);
  CHECK(trainer.value(w).at(0) == 0.375);
}

TEST_CASE(
    "faults are planted in float16 and bfloat16 too, and in updates only where one replaces a parameter") {
  for (const char* fault :
       {"nan@iteration=0,node=MatMul-op1", "dead_relu@iteration=0", "stale_weight@iteration=0"}) {
    CAPTURE(fault);
    Graph g("network");
    g.mixedPrecision(DType::Float16);
    const Value x = g.input("x", {1, 2});
    const Value product = matmul(x, g.parameter("w", {2, 4}, Init::constant(0.5)));
    keep(product);
    const Value hidden = relu(linear(product, {.out = 4}));
    msdbg::test::PlainRun run;
    run.planted = {parseFault(fault).orThrow()};
    Trainer trainer(run, g, reduceSum(hidden, {}, false), Sgd{.lr = 0.5});
    const std::vector<float> ones{1, 1};
    trainer.step({Iteration(0), {{"x", Tensor::of<float>({1, 2}, ones)}}});
    CHECK(std::isnan(trainer.value(product).at(0)) == (std::string(fault).substr(0, 3) == "nan"));
  }
}

TEST_CASE("float16 overflows where float32 would not") {
  Graph g("network");
  g.mixedPrecision(DType::Float16);
  const Value x = g.input("x", {1, 2});
  const Value w = g.parameter("w", {2, 1}, Init::constant(400));
  const Value product = matmul(x, w);
  keep(product);
  const Value loss = reduceMean(product, {}, false);
  msdbg::test::PlainRun run;
  Trainer trainer(run, g, loss, Sgd{.lr = 0});
  const std::vector<float> row{100, 100};
  const double seen = trainer.step({Iteration(0), {{"x", Tensor::of<float>({1, 2}, row)}}}).loss;
  CHECK(trainer.value(product).at(0) == std::numeric_limits<double>::infinity());
  CHECK(seen == std::numeric_limits<double>::infinity());
}

namespace {

/// y = x * w, whose gradient for x of ones is the same number for every element of w.
struct Scaled {
  Graph g{"network"};
  Value w, loss;
  msdbg::test::PlainRun run;
  std::optional<Trainer> trainer;
  explicit Scaled(double factor, std::int64_t accumulate = 1) {
    g.mixedPrecision(DType::Float16);
    const Value x = g.input("x", {1, 2});
    w = g.parameter("w", {2, 4}, Init::constant(0.5));
    loss = reduceSum(matmul(x, w), {}, false) * factor;
    Optimizer optimizer = Adam{.lr = 0.125};
    optimizer.accumulate = accumulate;
    trainer.emplace(run, g, loss, optimizer);
  }
  void step() {
    const std::vector<float> ones{1, 1};
    trainer->step({trainer->iteration(), {{"x", Tensor::of<float>({1, 2}, ones)}}});
  }
  double state(const char* name) const {
    for (const auto& [known, tensor] : trainer->state().tensors)
      if (known == name) return tensor.at(0);
    FAIL("no state " << name);
    return 0;
  }
  double scale() const { return state("optimizer/loss_scale:0"); }
  double weight() const { return trainer->value(w).at(0); }
};

}  // namespace

TEST_CASE("a step whose gradients overflow float16 is skipped with all its states, and the scale is halved") {
  Scaled made(3);  // 3 * 65536 and 3 * 32768 are beyond float16, 3 * 16384 is not
  made.step();
  CHECK(made.scale() == 32768);
  made.step();
  CHECK(made.scale() == 16384);
  CHECK(made.weight() == 0.5);
  CHECK(made.state("exp_avg(network/w):0") == 0);
  CHECK(made.state("optimizer/step:0") == 0);
  made.step();
  CHECK(made.scale() == 16384);
  CHECK(made.state("optimizer/step:0") == 1);
  CHECK(made.state("optimizer/good_steps:0") == 1);
  CHECK(made.weight() == Approx(0.375));                         // Adam's first step is the rate
  CHECK(made.state("exp_avg(network/w):0") == Approx(0.1 * 3));  // of the unscaled gradient
}

TEST_CASE("a gradient too small for float16 arrives because the loss is scaled") {
  Scaled made(1e-8);  // float16 has nothing below 6e-8, half of which rounds to 0
  made.step();
  CHECK(made.state("exp_avg(network/w):0") == Approx(0.1 * 1e-8).epsilon(1e-3));
}

TEST_CASE("after 2,000 good steps without a break the scale is doubled, and the count begins again") {
  Scaled made(1e-3);
  for (int i = 0; i < 1999; ++i) made.step();
  CHECK(made.scale() == 65536);
  CHECK(made.state("optimizer/good_steps:0") == 1999);
  made.step();
  CHECK(made.scale() == 131072);
  CHECK(made.state("optimizer/good_steps:0") == 0);
  CHECK(made.state("optimizer/step:0") == 2000);
}

TEST_CASE("where gradients are accumulated, the iteration that updates decides") {
  Scaled made(3, 2);
  for (int i = 0; i < 2; ++i) made.step();  // one window overflows
  CHECK(made.scale() == 32768);
  CHECK(made.weight() == 0.5);
  for (int i = 0; i < 2; ++i) made.step();
  CHECK(made.scale() == 16384);
  made.step();
  CHECK(made.weight() == 0.5);
  made.step();
  CHECK(made.weight() == Approx(0.375));
  CHECK(made.state("optimizer/good_steps:0") == 1);
}

TEST_CASE("mixed precision is refused where it can mean nothing") {
  Graph g("network"), wide("network", DType::Float64);
  CHECK_THAT(refusal([&] { g.mixedPrecision(DType::Int32); }),
             Contains("bfloat16, float16 or float32 (none) is needed, not int32"));
  CHECK_THAT(refusal([&] { wide.mixedPrecision(DType::BFloat16); }), Contains("the graph is of float64"));
  CHECK_THAT(refusal([&] { g.input("y", {4}, DType::BFloat16); }), Contains("does not compute with"));
  CHECK_THAT(refusal([&] {
               g.parameter("p", {4, 4}, Init::ones(), DType::Float16);
             }),
             Contains("does not compute with"));
}
