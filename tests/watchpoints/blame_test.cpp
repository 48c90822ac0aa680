// What each rule blames, on small programs that go wrong in its way: with values, which name the element, and
// with statistics alone. Zeros are in blame_zeros_test.cpp.
#include "watchpoints/blame/blame.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "core_engine/train/layers.h"
#include "tests/watchpoints/blamed.h"
#include "tests/watchpoints/small_graph.h"
#include "tests/watchpoints/traced_program.h"
#include "watchpoints/check.h"

using namespace msdbg::core;
using namespace msdbg::watch;
using namespace msdbg::test;
using namespace msdbg::test::blame;

TEST_CASE("A divisor of 0 is blamed with its place: 0/0 gives NaN, x/0 Inf") {
  const auto divide = [](Value x, Value y) { return x / y; };
  check({binary(divide, {2, 2}, {2, 1}),
         {{"network/x", floats({2, 2}, {1, 2, 0, 0})}, {"network/y", floats({2, 1}, {3, 0})}},
         "input 1 (network/y) is 0 at [1, 0]: 0/0 gives NaN",
         "input 1 (network/y) is 0 at 1 of 2 places: 0/0 gives NaN"});
  check({binary(divide, {3}, {3}),
         {{"network/x", floats({3}, {1, 2, 3})}, {"network/y", floats({3}, {1, 0, 0})}},
         "input 1 (network/y) is 0 at [1] and 1 more place: x/0 gives Inf",
         "input 1 (network/y) is 0 at 2 of 3 places: x/0 gives Inf"});
  check({binary(divide, {3}, {1}),
         {{"network/x", floats({3}, {1, 2, 3})}, {"network/y", floats({1}, {0})}},
         "input 1 (network/y) is 0: x/0 gives Inf",
         "input 1 (network/y) is 0: x/0 gives Inf"});
  check({binary(divide, {2}, {2}),
         {{"network/x", floats({2}, {1e20f, 2})}, {"network/y", floats({2}, {1e-30f, 2})}},
         "input 1 (network/y) is as small as 1e-30 at [0]: the quotient overflows float32",
         "input 1 (network/y) is as small as 1e-30: the quotient overflows float32"});
}

TEST_CASE("A NaN that the divisor cannot have made is not blamed on it") {
  const auto divide = [](Value x, Value y) { return x / y; };
  const Trace trace = traceForward(binary(divide, {2}, {2}),
                                   {{"network/x", floats({2}, {1, 2})}, {"network/y", floats({2}, {0, 2})}});
  const auto nan = floats({2}, {1, NAN});  // a broken kernel: where the divisor is 2
  trace.source->record(Rank(0), Iteration(0), trace.result, nan);
  CHECK(blamed(*trace.source, trace.result, Wrong::kNonFinite).empty());
  trace.source->loseValues();
  CHECK(blamed(*trace.source, trace.result, Wrong::kNonFinite).empty());  // NaN needs 0/0, and x has no 0
}

TEST_CASE("The advice for a logarithm knows a mixture that underflowed from what should never be negative") {
  const auto advised = [](const Program& program, const Tensor& x) {
    const Trace trace = traceForward(program, {{"network/x", x}});
    return adviceFor(trace, trace.result);
  };
  const Program mixture = [](Graph& g) {
    const Value x = g.input("x", {2, 3});
    return log(reduceSum(exp(x * x * -0.5) * 0.4, {1}, false));
  };
  CHECK_THAT(advised(mixture, floats({2, 3}, {1, 2, 1, 90, 90, 90})), Catch::Contains("logsumexp"));
  const Program scale = [](Graph& g) { return log(g.input("x", {2}) + 1.0); };
  CHECK_THAT(advised(scale, floats({2}, {1, -1.5f})), Catch::Contains("softplus"));
  CHECK_THAT(advised(scale, floats({2}, {1, -1.000001f})), Catch::Contains("clip"));  // by rounding
  CHECK_THAT(advised(scale, floats({2}, {1, -1})), Catch::Contains("clip"));
}

TEST_CASE("Arguments outside the domain of Log, Sqrt and Pow are named") {
  const auto logarithm = [](Value x) { return log(x); };
  check({unary(logarithm, {2, 2}),
         {{"network/x", floats({2, 2}, {1, 2, 0, 1})}},
         "input 0 (network/x) is 0 at [1, 0]: log(0) gives -Inf",
         "input 0 (network/x) is 0 at 1 of 4 places: log(0) gives -Inf"});
  check(
      {unary(logarithm, {2}),
       {{"network/x", floats({2}, {1, -0.5f})}},
       "input 0 (network/x) is negative at [1], down to -0.5: log of a negative number gives NaN",
       "input 0 (network/x) is negative at 1 of 2 places, down to -0.5: log of a negative number gives NaN"});
  check({unary([](Value x) { return sqrt(x); }, {2}),
         {{"network/x", floats({2}, {-4, 1})}},
         "input 0 (network/x) is negative at [0], down to -4: the root of a negative number gives NaN",
         "input 0 (network/x) is negative at 1 of 2 places, down to -4: the root of a negative number gives "
         "NaN"});
  check(
      {unary([](Value x) { return pow(x, 0.5); }, {2}),
       {{"network/x", floats({2}, {4, -1})}},
       "input 0 (network/x) is negative at [1]: a negative number to the power of 0.5 gives NaN",
       "input 0 (network/x) is negative at 1 of 2 places: a negative number to the power of 0.5 gives NaN"});
  check({unary([](Value x) { return pow(x, -1.0); }, {2}),
         {{"network/x", floats({2}, {4, 0})}},
         "input 0 (network/x) is 0 at [1]: 0 to the power of -1 gives Inf",
         "input 0 (network/x) is 0 at 1 of 2 places: 0 to the power of -1 gives Inf"});
  check({unary([](Value x) { return pow(x, 3.0); }, {2}),
         {{"network/x", floats({2}, {1e20f, 1})}},
         "input 0 (network/x) reaches 1e+20: 1e+20 to the power of 3 overflows float32",
         "input 0 (network/x) reaches 1e+20: 1e+20 to the power of 3 overflows float32"});
}

TEST_CASE("An exponential that overflows says how far its argument reaches") {
  check({unary([](Value x) { return exp(x); }, {2, 2}),
         {{"network/x", floats({2, 2}, {1, 2, 3, 120})}},
         "input 0 (network/x) reaches 120 at [1, 1]: exp overflows float32 above 88.7228",
         "input 0 (network/x) reaches 120: exp overflows float32 above 88.7228"});
}

TEST_CASE("A row of nothing but -Inf is what makes a Softmax NaN; a single masked place is not") {
  const auto soft = [](Value x) { return softmax(x); };
  check({unary(soft, {2, 3}),
         {{"network/x", floats({2, 3}, {1, -kInf, 2, -kInf, -kInf, -kInf})}},
         "input 0 (network/x) is -Inf in all of [1, :]: a row of nothing but -Inf gives NaN",
         "input 0 (network/x) is -Inf at 4 places: a row of nothing but -Inf gives NaN"});
  check({unary([](Value x) { return softmax(x, 0); }, {2, 2}),
         {{"network/x", floats({2, 2}, {1, -kInf, 2, -kInf})}},
         "input 0 (network/x) is -Inf in all of [:, 1]: a row of nothing but -Inf gives NaN",
         "input 0 (network/x) is -Inf at 2 places: a row of nothing but -Inf gives NaN"});
  check({unary(soft, {2}),
         {{"network/x", floats({2}, {1, kInf})}},
         "input 0 (network/x) is Inf at [1]: Inf - Inf gives NaN",
         "input 0 (network/x) is Inf at 1 of 2 places: Inf - Inf gives NaN"});
}

TEST_CASE("Products and sums that overflow blame the larger factor") {
  const auto times = [](Value x, Value y) { return x * y; };
  check(
      {binary(times, {2}, {2}),
       {{"network/x", floats({2}, {1, 1e30f})}, {"network/y", floats({2}, {1, 1e20f})}},
       "input 0 (network/x) reaches 1e+30 at [1]: the product with input 1 (network/y), which reaches 1e+20, "
       "overflows float32",
       "input 0 (network/x) reaches 1e+30: the product with input 1 (network/y), which reaches 1e+20, "
       "overflows float32"});
  check({binary(times, {2}, {2}),
         {{"network/x", floats({2}, {1, 0})}, {"network/y", floats({2}, {1, -kInf})}},
         "input 1 (network/y) is -Inf at [1] and input 0 (network/x) holds 0: 0 * Inf gives NaN",
         "input 1 (network/y) is -Inf at 1 of 2 places and input 0 (network/x) holds 0: 0 * Inf gives NaN"});
  check(
      {binary([](Value x, Value y) { return matmul(x, y); }, {1, 2}, {2, 1}),
       {{"network/x", floats({1, 2}, {3e38f, 3e38f})}, {"network/y", floats({2, 1}, {1, 1})}},
       "input 0 (network/x) reaches 3e+38 at [0, 0]: the product with input 1 (network/y), which reaches 1, "
       "overflows float32",
       "input 0 (network/x) reaches 3e+38: the product with input 1 (network/y), which reaches 1, overflows "
       "float32"});
  check({binary([](Value x, Value y) { return x - y; }, {1}, {1}),
         {{"network/x", floats({1}, {3e38f})}, {"network/y", floats({1}, {-2e38f})}},
         "input 0 (network/x) reaches 3e+38 at [0]: the sum overflows float32",
         "input 0 (network/x) reaches 3e+38: the sum overflows float32"});
  check({binary([](Value x, Value y) { return x - y; }, {1}, {1}),
         {{"network/x", floats({1}, {kInf})}, {"network/y", floats({1}, {kInf})}},
         "input 0 (network/x) is Inf and so is input 1 (network/y): Inf - Inf gives NaN",
         "input 0 (network/x) is Inf and so is input 1 (network/y): Inf - Inf gives NaN"});
  check({unary([](Value x) { return reduceSum(x); }, {2}),
         {{"network/x", floats({2}, {3e38f, 2e38f})}},
         "input 0 (network/x) reaches 3e+38 at [0]: the sum of 2 elements overflows float32",
         "input 0 (network/x) reaches 3e+38: the sum of 2 elements overflows float32"});
}

TEST_CASE("A normalisation blames what does not vary") {
  const auto layer = [](Value x) { return layerNorm(x, 0); };
  check({unary(layer, {2, 2}),
         {{"network/x", floats({2, 2}, {1, 2, 5, 5})}},
         "input 0 (network/x) does not vary in row 1: its variance is 0 and epsilon is 0, so that "
         "1/sqrt(variance + epsilon) is Inf",
         "input 0 (network/x) does not vary: its variance is 0 and epsilon is 0, so that 1/sqrt(variance + "
         "epsilon) is Inf"});
  check({unary([](Value x) { return batchNorm(x, {.epsilon = 0}); }, {2, 2}),
         {{"network/x", floats({2, 2}, {1, 5, 2, 5})}},
         "input 0 (network/x) does not vary in channel 1: its variance is 0 and epsilon is 0, so that "
         "1/sqrt(variance + epsilon) is Inf",
         "input 0 (network/x) does not vary: its variance is 0 and epsilon is 0, so that 1/sqrt(variance + "
         "epsilon) is Inf"});
}

TEST_CASE("The loss of a masked label is Inf, and a label or id out of range is named") {
  const auto loss = [](Graph& g) {
    return softmaxCrossEntropy(g.input("x", {2, 2}), g.input("label", {2}, DType::Int64));
  };
  check({loss,
         {{"network/x", floats({2, 2}, {1, 2, 3, -kInf})}, {"network/label", int64s({2}, {0, 1})}},
         "input 0 (network/x) is -Inf at [1, 1]: the loss of a label whose logit is -Inf is Inf",
         "input 0 (network/x) is -Inf at 1 of 4 places: the loss of a label whose logit is -Inf is Inf"});
  // The engine refuses these; elsewhere they are read as garbage.
  const Trace trace = traceForward(
      loss, {{"network/x", floats({2, 2}, {1, 2, 3, 4})}, {"network/label", int64s({2}, {0, 1})}});
  trace.source->record(Rank(0), Iteration(0), trace.source->id("network/label"), int64s({2}, {0, 10}));
  CHECK(blamed(*trace.source, trace.result, Wrong::kNonFinite) ==
        "input 1 (network/label) holds 10 at [1]: classes are 0 to 1");
  const Trace rows = traceForward(
      [](Graph& g) {
        return gather(g.input("x", {3, 1}), g.input("id", {2}, DType::Int64));
      },
      {{"network/x", floats({3, 1}, {1, 2, 3})}, {"network/id", int64s({2}, {0, 2})}});
  rows.source->record(Rank(0), Iteration(0), rows.source->id("network/id"), int64s({2}, {-7, 0}));
  CHECK(blamed(*rows.source, rows.result, Wrong::kExtreme) ==
        "input 1 (network/id) holds -7 at [0]: indices are -3 to 2");
}

TEST_CASE("A finite quotient or exponential that is extreme says by which number") {
  check({binary([](Value x, Value y) { return x / y; }, {2}, {2}),
         {{"network/x", floats({2}, {1, 2})}, {"network/y", floats({2}, {1, 1e-8f})}},
         "input 1 (network/y) is as small as 1e-08 at [1]: the quotient reaches 2e+08",
         "input 1 (network/y) is as small as 1e-08: the quotient reaches 2e+08",
         Wrong::kExtreme});
  check({unary([](Value x) { return exp(x); }, {2}),
         {{"network/x", floats({2}, {1, 30})}},
         "input 0 (network/x) reaches 30 at [1]: exp of it is 1.06865e+13",
         "input 0 (network/x) reaches 30: exp of it is 1.06865e+13",
         Wrong::kExtreme});
}

TEST_CASE("The gradient of a root or a logarithm at 0 advises what to do in the forward pass") {
  const Initializer zeros{Initializer::Kind::kZeros, 0};
  const Trace root = traceTraining(
      [&](Graph& g) {
        const Value w = parameter(g, "w", {3}, DType::Float32, zeros, std::source_location::current());
        return sqrt(reduceSum(w * w, {}, false));
      },
      {});
  const TensorId rootGradient = outputOf(*root.source, "Div", Phase::kBackward);
  CHECK(blamed(*root.source, rootGradient, Wrong::kNonFinite) ==
        "input 1 (network/Sqrt-op1) is 0: x/0 gives Inf");
  CHECK(adviceFor(root, rootGradient) == "add an epsilon under the root: its gradient at 0 is not finite");

  const Trace power = traceTraining(
      [&](Graph& g) {
        const Value w = parameter(g, "w", {3}, DType::Float32, zeros, std::source_location::current());
        return reduceMean(pow(w, 0.5), {}, false);
      },
      {});
  const TensorId powerGradient = outputOf(*power.source, "Pow", Phase::kBackward);
  CHECK(blamed(*power.source, powerGradient, Wrong::kNonFinite) ==
        "input 0 (network/w) is 0 everywhere: 0 to the power of -0.5 gives Inf");
  CHECK(adviceFor(power, powerGradient).find("the gradient of Pow at 0") != std::string::npos);
}

TEST_CASE("An update overflows by its rate or its gradient") {
  const auto program = [](Graph& g) {
    const Initializer first{Initializer::Kind::kConstant, 1};
    const Value w = parameter(g, "w", {2}, DType::Float32, first, std::source_location::current());
    return reduceMean(w * g.input("x", {2}), {}, false);
  };
  const Trace rate = traceTraining(program, {{"network/x", floats({2}, {1e10f, 1e10f})}}, Sgd{.lr = 1e30});
  CHECK(blamed(*rate.source, rate.source->id("next(network/w)"), Wrong::kNonFinite) ==
        "input 2 (optimizer/learning_rate) is 1e+30: the step overflows float32");
  const Trace steep = traceTraining(program, {{"network/x", floats({2}, {3e38f, 3e38f})}}, Sgd{.lr = 10});
  CHECK(blamed(*steep.source, steep.source->id("next(network/w)"), Wrong::kNonFinite).find("input 1 (") == 0);
}

TEST_CASE("Adam without an epsilon divides 0 by 0 where the gradient is 0") {
  const Trace trace = traceTraining(
      [](Graph& g) {
        const Initializer first{Initializer::Kind::kConstant, 1};
        const Value w = parameter(g, "w", {2}, DType::Float32, first, std::source_location::current());
        return reduceMean(w * g.input("x", {2}), {}, false);
      },
      {{"network/x", floats({2}, {1, 0})}}, Adam{.epsilon = 0});
  const TensorId next = trace.source->id("next(network/w)");
  CHECK_THAT(blamed(*trace.source, next, Wrong::kNonFinite),
             Catch::Contains("is 0 at [1] and epsilon is 0: 0/0 gives NaN"));
  CHECK(adviceFor(trace, next) == "give Adam an epsilon, such as 1e-8");
}

TEST_CASE("What only another framework's nodes show: empty means, dropped gradients, bad variances") {
  struct Foreign {
    const char* type;
    std::vector<Tensor> inputs;
    Tensor output;
    Wrong wrong;
    const char* text;
  };
  const Tensor one = floats({1}, {1}), nan = floats({1}, {NAN}), zero = floats({1}, {0});
  const Foreign cases[] = {
      {"ReduceMean",
       {floats({0}, {})},
       nan,
       Wrong::kNonFinite,
       "input 0 (network/in0) has no elements (shape [0]): the mean of nothing is NaN"},
      {"DropoutGrad",
       {one, zero},
       zero,
       Wrong::kAllZero,
       "input 1 (network/in1) is false everywhere: everything is dropped"},
      {"BatchNormalization",
       {one, one, one, one, floats({1}, {-2})},
       nan,
       Wrong::kNonFinite,
       "input 4 (network/in4) is negative: the root of a negative variance gives NaN"},
      {"LayerNormalizationGrad",
       {one, one, one, one, floats({2}, {1, 3e4f})},
       floats({1}, {1e6f}),
       Wrong::kExtreme,
       "input 4 (network/in4) reaches 30000 at [1]: the variance vanishes there, and the gradient grows with "
       "its "
       "inverse"},
      {"ReduceSumSquare",
       {floats({2}, {1, 2e19f})},
       floats({1}, {kInf}),
       Wrong::kNonFinite,
       "input 0 (network/in0) reaches 2e+19 at [1]: the sum of squares overflows float32"},
      {"Identity", {one}, nan, Wrong::kNonFinite, ""},
  };
  for (const Foreign& c : cases) {
    CAPTURE(c.type);
    Graph graph("network");
    std::vector<TensorId> inputs;
    for (const Tensor& value : c.inputs) {
      TensorInfo info;
      info.name = "network/in" + std::to_string(inputs.size());
      info.shape = value.shape();
      inputs.push_back(graph.addSource(info));
    }
    TensorInfo output;
    output.shape = c.output.shape();
    graph.addNode(c.type, "network", Phase::kForward, inputs, {}, {output}, {});
    FakeSource source(graph, 1, 1);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      source.record(Rank(0), Iteration(0), inputs[i], c.inputs[i]);
    const TensorId result = graph.nodes().back().outputs.front();
    source.record(Rank(0), Iteration(0), result, c.output);
    CHECK(blamed(source, result, c.wrong) == c.text);
  }
}

TEST_CASE("A number beyond float32 is named where it is cast") {
  const double values[] = {1, 1e50};
  check({[](Graph& g) { return cast(g.input("x", {2}, DType::Float64), DType::Float32); },
         {{"network/x", Tensor::of<double>({2}, values)}},
         "input 0 (network/x) reaches 1e+50 at [1]: that is more than float32 can hold",
         "input 0 (network/x) reaches 1e+50: that is more than float32 can hold"});
}

TEST_CASE("A sum over ranks that overflows blames the rank with the largest part") {
  FakeSource source(modelGraph(), 2, 1);
  const TensorId local = source.id("local_grad(network/fc/weight)"),
                 sum = source.id("grad(network/fc/weight)");
  for (const int rank : {0, 1}) {
    source.record(Rank(rank), Iteration(0), local,
                  floats({2, 3}, std::vector<float>(6, rank ? 3e38f : 2e38f)));
    source.record(Rank(rank), Iteration(0), sum, floats({2, 3}, std::vector<float>(6, kInf)));
  }
  const Graph& graph = source.graph();
  const auto blame = blameOperator(source, Rank(0), Iteration(0), graph.node(graph.tensor(sum).producer), sum,
                                   Wrong::kNonFinite);
  REQUIRE(blame);
  CHECK(blame->rank == Rank(1));
  CHECK(blame->text.ends_with("reaches 3e+38 on rank 1: the sum over ranks overflows float32"));
}

TEST_CASE("The detail of a finding is what its operator's rule blames, and ends in what to do") {
  const Trace trace = traceForward(
      [](Graph& g) {
        const Value x = g.input("x", {2, 2});
        const Value centred = x - reduceMean(x, {0});
        return centred / sqrt(reduceMean(centred * centred, {0}));
      },
      {{"network/x", floats({2, 2}, {1, 5, 2, 5})}});
  const CheckReport report =
      msdbg::watch::check(*trace.source, {*parseWatchpoint("nonfinite_propagation")}, {});
  REQUIRE(report.first);
  CHECK(report.first->detail ==
        "input 1 (network/Sqrt-op1) is 0 at [0, 1]: 0/0 gives NaN; add an epsilon to the divisor");
}

TEST_CASE(
    "A tensor without a rule follows what is wrong in the same way, then what is unusual, never labels") {
  FakeSource source(modelGraph(), 1, 4);
  const Graph& graph = source.graph();
  for (int k = 0; k < 4; ++k)
    for (const TensorInfo& info : graph.tensors()) {
      const auto count = static_cast<std::size_t>(info.shape.elements());
      source.record(Rank(0), Iteration(k), info.id, floats(info.shape, std::vector<float>(count, 1)));
    }
  const TensorId gradient = source.id("local_grad(network/fc/weight)");
  const Node& node = graph.node(graph.tensor(gradient).producer);
  const auto ask = [&](Wrong wrong) {
    return blameInput(source, Rank(0), Iteration(3), node, gradient, wrong);
  };
  CHECK_FALSE(ask(Wrong::kExtreme));
  source.record(Rank(0), Iteration(3), source.id("network/x"), floats({4, 3}, std::vector<float>(12, 5e3f)));
  CHECK(ask(Wrong::kExtreme)->text ==
        "input 1 (network/x) reaches 5000, usually 1 (median of 3 iterations before)");
  source.record(Rank(0), Iteration(3), node.inputs[0], floats({4, 2}, std::vector<float>(8, kInf)));
  CHECK(ask(Wrong::kNonFinite)->text == "input 0 (network/fc/Relu-op1) holds 8 Inf");
  source.record(Rank(0), Iteration(3), node.inputs[0], floats({4, 2}, std::vector<float>(8, 0)));
  CHECK(ask(Wrong::kAllZero)->text == "input 0 (network/fc/Relu-op1) is 0 everywhere");
}

TEST_CASE("What came through a collective is blamed on the rank that sent it") {
  FakeSource source(modelGraph(), 2, 1);
  const TensorId local = source.id("local_grad(network/fc/weight)"),
                 sum = source.id("grad(network/fc/weight)");
  for (const int rank : {0, 1}) {
    source.record(Rank(rank), Iteration(0), local, floats({2, 3}, {1, 2, 3, 4, 5, rank == 1 ? NAN : 6.0F}));
    source.record(Rank(rank), Iteration(0), sum, floats({2, 3}, {2, 4, 6, 8, 10, NAN}));
  }
  const Graph& graph = source.graph();
  const auto blame = blameInput(source, Rank(0), Iteration(0), graph.node(graph.tensor(sum).producer), sum,
                                Wrong::kNonFinite);
  REQUIRE(blame);
  CHECK(blame->rank == Rank(1));
  CHECK(blame->tensor == local);
  CHECK_THAT(blame->text, Catch::EndsWith("holds 1 NaN on rank 1"));
}
