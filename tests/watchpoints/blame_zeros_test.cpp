// What the rules for zeros blame: where they come from, and what lets no gradient through.
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

TEST_CASE("Zeros are traced to a zero input, to numbers too small for the dtype, to what does not vary") {
  const Wrong zero = Wrong::kAllZero;
  check({binary([](Value x, Value y) { return matmul(x, y); }, {1, 2}, {2, 1}),
         {{"network/x", floats({1, 2}, {1, 2})}, {"network/y", floats({2, 1}, {0, 0})}},
         "input 1 (network/y) is 0 everywhere",
         "input 1 (network/y) is 0 everywhere",
         zero});
  check({binary([](Value x, Value y) { return x * y; }, {2}, {2}),
         {{"network/x", floats({2}, {1e-30f, 1})}, {"network/y", floats({2}, {1e-30f, 0})}},
         "",
         "",
         zero});
  check({binary([](Value x, Value y) { return x * y; }, {1}, {1}),
         {{"network/x", floats({1}, {1e-30f})}, {"network/y", floats({1}, {1e-20f})}},
         "input 0 (network/x) is at most 1e-30: the product with input 1 (network/y) is below the smallest "
         "float32",
         "input 0 (network/x) is at most 1e-30: the product with input 1 (network/y) is below the smallest "
         "float32",
         zero});
  check({binary([](Value x, Value y) { return x * y; }, {2}, {2}),
         {{"network/x", floats({2}, {0, 1})}, {"network/y", floats({2}, {1, 0})}},
         "input 0 (network/x) is 0 wherever input 1 (network/y) is not",
         "input 0 (network/x) is 0 wherever input 1 (network/y) is not",
         zero});
  check({unary([](Value x) { return relu(x); }, {2}),
         {{"network/x", floats({2}, {-3, -0.5f})}},
         "input 0 (network/x) is nowhere above 0 (at most -0.5): Relu lets nothing through",
         "input 0 (network/x) is nowhere above 0 (at most -0.5): Relu lets nothing through",
         zero});
  check({unary([](Value x) { return cast(x, DType::Int32); }, {2}),
         {{"network/x", floats({2}, {-0.9f, 0.5f})}},
         "input 0 (network/x) lies between -1 and 1 (from -0.9 to 0.5): Cast to int32 makes it 0",
         "input 0 (network/x) lies between -1 and 1 (from -0.9 to 0.5): Cast to int32 makes it 0",
         zero});
  check({unary([](Value x) { return exp(x); }, {2}),
         {{"network/x", floats({2}, {-200, -300})}},
         "input 0 (network/x) falls to -300 at [1]: exp is 0 in float32 below -87.3365",
         "input 0 (network/x) falls to -300: exp is 0 in float32 below -87.3365",
         zero});
  check({unary([](Value x) { return x - reduceMean(x, {0}); }, {2, 2}),
         {{"network/x", floats({2, 2}, {1, 5, 2, 5})}},
         "input 0 (network/x) does not vary in [:, 1]: it equals its mean there",
         "input 0 (network/x) does not vary at 2 places: it equals its mean there",
         Wrong::kZero});
  check({unary([](Value x) { return softmax(x); }, {3}),
         {{"network/x", floats({3}, {-60, 60, 0})}},
         "input 0 (network/x) reaches from -60 to 60: what lies 87.3365 or more below the largest of its row "
         "gets probability 0",
         "input 0 (network/x) reaches from -60 to 60: what lies 87.3365 or more below the largest of its row "
         "gets probability 0",
         Wrong::kZero});
}

TEST_CASE("A gradient of nothing but zeros is blamed on what lets nothing through") {
  struct Dead {
    std::function<Value(Value)> function;
    const char *gradient, *text;
    float weight;
  };
  const Dead cases[] = {
      {[](Value x) { return relu(x); }, "ReluGrad",
       "input 1 (network/Relu-op1) is 0 everywhere: the Relu is dead, and no gradient passes", -2},
      {[](Value x) { return sigmoid(x); }, "SigmoidGrad",
       "input 1 (network/Sigmoid-op1) is 0 or 1 everywhere: the function is saturated, and no gradient "
       "passes",
       500},
      {[](Value x) { return tanh(x); }, "TanhGrad",
       "input 1 (network/Tanh-op1) is -1 or 1 everywhere: the function is saturated, and no gradient passes",
       -500},
      {[](Value x) { return clip(x, 0, 1); }, "ClipGrad",
       "input 1 (network/w) lies from 500 to 500, nowhere inside the clip's 0 to 1: no gradient passes", 500},
  };
  for (const Dead& dead : cases) {
    CAPTURE(dead.gradient);
    const Trace trace = traceTraining(
        [&](Graph& g) {
          const Initializer first{Initializer::Kind::kConstant, dead.weight};
          const Value w = parameter(g, "w", {4}, DType::Float32, first, std::source_location::current());
          return reduceMean(dead.function(w), {}, false);
        },
        {});
    const TensorId gradient = outputOf(*trace.source, dead.gradient, Phase::kBackward);
    CHECK(blamed(*trace.source, gradient, Wrong::kAllZero) == dead.text);
  }
}

TEST_CASE("A loss that is certain of every label has no slope; one of huge logits is as large as they are") {
  const Program program = [](Graph& g) {
    const Initializer first{Initializer::Kind::kConstant, 1};
    const Value w = parameter(g, "w", {2}, DType::Float32, first, std::source_location::current());
    return softmaxCrossEntropy(g.input("x", {1, 2}) * w, g.input("label", {1}, DType::Int64));
  };
  const auto trained = [&](std::int64_t label) {
    return traceTraining(program,
                         {{"network/x", floats({1, 2}, {5000, 0})}, {"network/label", int64s({1}, {label})}});
  };
  const Trace certain = trained(0), wrong = trained(1);
  CHECK(blamed(*certain.source, outputOf(*certain.source, "SoftmaxCrossEntropyLossGrad", Phase::kBackward),
               Wrong::kAllZero) ==
        "input 0 (network/SoftmaxCrossEntropyLoss-op1:1) is 0 at every label: the model is certain, and the "
        "loss "
        "has no slope left");
  CHECK(blamed(*wrong.source, wrong.result, Wrong::kExtreme) ==
        "input 0 (network/Mul-op1) reaches from 0 to 5000: the loss of a wrong label is their difference");
}
