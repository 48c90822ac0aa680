#include "core_engine/runtime/fault.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/small_models.h"

using namespace msdbg::core;

namespace {

std::string parseError(std::string_view text) {
  const Result<FaultSpec> spec = parseFault(text);
  return spec ? "" : spec.error().message();
}

Graph trainingGraph(int ranks) {
  Graph g;
  const Value loss = msdbg::test::smallClassifier(g);
  REQUIRE(compileTraining(g, loss.id(), Sgd{.lr = 0.1, .momentum = 0.9}, ranks).ok());
  return g;
}

std::string targetOf(const Graph& g, const std::string& spec) {
  const auto fault = parseFault(spec);
  REQUIRE(fault.ok());
  const auto bound = FaultInjector::bind({*fault}, g, Rank(0));
  return bound ? g.node(bound->targets().front()).name : bound.error().message();
}

}  // namespace

TEST_CASE("A fault spec is read whole") {
  const auto spec = parseFault("bitflip@iteration=7,rank=1,node=*conv3/*,element=12,bit=3,scale=2.5");
  REQUIRE(spec.ok());
  CHECK(spec->kind == FaultKind::kBitflip);
  CHECK(spec->iteration == Iteration(7));
  CHECK(spec->rank == Rank(1));
  CHECK(spec->node == "*conv3/*");
  CHECK(spec->element == 12);
  CHECK(spec->bit == 3);
  CHECK(spec->scale == 2.5);
  CHECK_FALSE(parseFault("nan@iteration=0")->rank.has_value());
}

TEST_CASE("A wrong fault spec names what is wrong") {
  CHECK_THAT(parseError("nam@iteration=1"),
             Catch::Contains("unknown kind 'nam'") && Catch::Contains("bitflip"));
  CHECK_THAT(parseError("nan"), Catch::Contains("no iteration"));
  CHECK_THAT(parseError("nan@rank=1"), Catch::Contains("no iteration"));
  CHECK_THAT(parseError("nan@iteration=x"), Catch::Contains("iteration must be a whole number"));
  CHECK_THAT(parseError("nan@iteration=-1"), Catch::Contains("iteration must be a whole number"));
  CHECK_THAT(parseError("nan@iteration=1,colour=2"), Catch::Contains("unknown key 'colour'"));
  CHECK_THAT(parseError("nan@iteration=1,rank"), Catch::Contains("'rank' has no value"));
  CHECK_THAT(parseError("lr@iteration=1,scale=inf"), Catch::Contains("scale must be a finite number"));
  CHECK_THAT(parseError("bitflip@iteration=1,bit=64"), Catch::Contains("bit must be"));
}

TEST_CASE("A fault hits the first node in order that it can hit") {
  const Graph g = trainingGraph(2);
  CHECK(targetOf(g, "nan@iteration=0") == "network/fc1/Gemm-op1");
  CHECK(targetOf(g, "nan@iteration=0,node=Relu-op1") == "network/fc1/Relu-op1");
  CHECK(targetOf(g, "zero_grad@iteration=0,node=network/fc1/weight") == "grad/network/fc1/Gemm-op1");
  CHECK(targetOf(g, "skip_allreduce@iteration=0,node=grad(network/fc1/weight)") ==
        "grad/network/fc1/Allreduce-op1");
  CHECK(targetOf(g, "lr@iteration=0") == "update/network/fc2/SgdUpdate-op1");
  CHECK(targetOf(g, "dead_relu@iteration=0").find("update/network/fc1/SgdUpdate") == 0);
}

TEST_CASE("A fault that cannot hit what it names says what it needs") {
  const Graph g = trainingGraph(1);
  CHECK_THAT(targetOf(g, "nan@iteration=0,node=network/fc1/Gem-op1"),
             Catch::Contains("no node matches") && Catch::Contains("network/fc1/Gemm-op1"));
  CHECK_THAT(targetOf(g, "skip_allreduce@iteration=0"), Catch::Contains("one rank"));
  CHECK_THAT(targetOf(g, "zero_grad@iteration=0,node=Relu-op1"),
             Catch::Contains("makes a parameter's gradient"));
  CHECK_THAT(targetOf(g, "dead_relu@iteration=0,node=update/network/fc2/*"), Catch::Contains("feeds a Relu"));
  CHECK_THAT(targetOf(g, "nan@iteration=0,element=20"), Catch::Contains("20 elements"));
}

TEST_CASE("A fault acts in its iteration and on its rank only") {
  for (const int rank : {0, 1}) {
    Graph g;
    const Value loss = msdbg::test::smallClassifier(g);
    REQUIRE(compileTraining(g, loss.id(), Sgd{}, 1).ok());
    ExecutorOptions options;
    options.rank = Rank(rank);
    options.faults = {*parseFault("nan@iteration=1,rank=1,node=*fc1/Gemm-op1,element=3")};
    auto executor = Executor::create(g, options);
    REQUIRE(executor.ok());
    const TensorId hit = *g.findTensor("network/fc1/Gemm-op1");
    for (int i = 0; i < 2; ++i) {
      REQUIRE((*executor)->run(Iteration(i), msdbg::test::smallFeeds(g), nullptr).ok());
      CHECK(std::isnan((*executor)->value(hit).at(3)) == (rank == 1 && i == 1));
      CHECK_FALSE(std::isnan((*executor)->value(hit).at(2)));
    }
  }
}

namespace {

/// What a node makes with a fault, beside what it makes without: of the small classifier's iteration 0.
std::pair<Tensor, Tensor> withAndWithout(const std::string& spec, const std::string& tensor) {
  std::vector<Tensor> values;
  for (const bool planted : {true, false}) {
    Graph g;
    const Value loss = msdbg::test::smallClassifier(g);
    REQUIRE(compileTraining(g, loss.id(), Sgd{}, 1).ok());
    ExecutorOptions options;
    if (planted) options.faults = {*parseFault(spec)};
    const auto executor = Executor::create(g, options);
    REQUIRE(executor.ok());
    REQUIRE((*executor)->run(Iteration(0), msdbg::test::smallFeeds(g), nullptr).ok());
    values.push_back((*executor)->value(*g.findTensor(tensor)).clone());
  }
  return {values[0], values[1]};
}

}  // namespace

TEST_CASE("Slightly wrong kernels scale every element, or leave it the digits of bfloat16") {
  const auto [scaled, healthy] =
      withAndWithout("wrong_kernel@iteration=0,node=network/fc1/Gemm-op1", "network/fc1/Gemm-op1");
  for (std::int64_t i = 0; i < healthy.elements(); ++i)
    CHECK(scaled.at(i) == static_cast<float>(healthy.at(i) * 1.001));
  const auto [truncated, whole] =
      withAndWithout("truncate_dtype@iteration=0,node=network/fc1/Gemm-op1", "network/fc1/Gemm-op1");
  for (std::int64_t i = 0; i < whole.elements(); ++i) {
    CHECK((std::bit_cast<std::uint32_t>(truncated.data<float>()[i]) & 0xffff) == 0);
    CHECK(std::abs(truncated.at(i) - whole.at(i)) <= std::abs(whole.at(i)) * 0x1p-8);
  }
  const auto [doubled, once] =
      withAndWithout("wrong_backward@iteration=0,node=grad(network/fc1/weight)", "grad(network/fc1/weight)");
  for (std::int64_t i = 0; i < once.elements(); ++i) CHECK(doubled.at(i) == 2 * once.at(i));
}

TEST_CASE("Scales that a spec does not give are the kind's own") {
  CHECK(parseFault("lr@iteration=0")->scale == 1e4);
  CHECK(parseFault("wrong_kernel@iteration=0")->scale == 1.001);
  CHECK(parseFault("wrong_backward@iteration=0")->scale == 2);
  CHECK(parseFault("wrong_backward@scale=0.5,iteration=0")->scale == 0.5);
  CHECK_THAT(targetOf(trainingGraph(1), "wrong_backward@iteration=0,node=update/*"),
             Catch::Contains("backward phase"));
}

namespace {

/// A normalisation whose bias feeds a Relu.
Graph normalisedGraph() {
  Graph g;
  Value x = g.input("x", {4, 3});
  const Value label = g.input("label", {4}, DType::Int64);
  {
    const Scope scope = g.scope("norm");
    x = relu(batchNorm(x));
  }
  const Value loss = softmaxCrossEntropy(linear(x, {.out = 2}), label);
  REQUIRE(compileTraining(g, loss.id(), Sgd{.lr = 0.1}, 1).ok());
  return g;
}

bool allZero(const Tensor& t) {
  return std::ranges::all_of(t.data<float>(), [](float x) { return x == 0; });
}

/// Which gradients of the normalisation are zero: scale's, bias's.
std::pair<bool, bool> zeroed(const std::string& spec) {
  Graph g = normalisedGraph();
  ExecutorOptions options;
  options.faults = {*parseFault(spec)};
  const auto executor = Executor::create(g, options);
  REQUIRE(executor.ok());
  REQUIRE((*executor)->run(Iteration(0), msdbg::test::smallFeeds(g), nullptr).ok());
  const auto isZero = [&](const char* name) { return allZero((*executor)->value(*g.findTensor(name))); };
  return {isZero("grad(network/norm/scale)"), isZero("grad(network/norm/bias)")};
}

}  // namespace

TEST_CASE("A normalisation's bias can silence a Relu, its gradients can be zeroed one by one") {
  const Graph g = normalisedGraph();
  const std::string update = g.node(g.tensor(*g.findTensor("next(network/norm/bias)")).producer).name;
  CHECK(targetOf(g, "dead_relu@iteration=0") == update);
  CHECK(zeroed("zero_grad@iteration=1") == std::pair(false, false));
  CHECK(zeroed("zero_grad@iteration=0,node=network/norm/scale") == std::pair(true, false));
  CHECK(zeroed("zero_grad@iteration=0,node=grad(network/norm/bias)") == std::pair(false, true));
  CHECK(zeroed("zero_grad@iteration=0,node=grad/network/norm/BatchNormalizationGrad-op1") ==
        std::pair(true, true));
}
