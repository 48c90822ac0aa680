// The operators as a user calls them: one node each, of the right type, on the caller's line.
#include "core_engine/ops/functions.h"

#include <catch2/catch.hpp>

#include "tests/ops/samples.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

const Node& makerOf(const Value& v) { return v.graph().node(v.info().producer); }

void checkNode(const Value& v, const std::string& opType, const Shape& shape, int line) {
  const Node& node = makerOf(v);
  INFO(node.name);
  CHECK(node.opType == opType);
  CHECK(v.shape() == shape);
  REQUIRE(!node.frames.empty());
  const Frame& frame = v.graph().frame(node.frames.front());
  CHECK(frame.line == line);
  CHECK_THAT(frame.file, Catch::EndsWith("tests/ops/functions_test.cpp"));
}

}  // namespace

TEST_CASE("Every operator function makes its node on the line that calls it") {
  Graph g;
  const Value x = g.input("x", {2, 3, 4, 4}), m = g.input("m", {2, 3}),
              label = g.input("label", {2}, DType::Int64);
  checkNode(relu(x), "Relu", {2, 3, 4, 4}, __LINE__);
  checkNode(sigmoid(x), "Sigmoid", {2, 3, 4, 4}, __LINE__);
  checkNode(tanh(x), "Tanh", {2, 3, 4, 4}, __LINE__);
  checkNode(softmax(m), "Softmax", {2, 3}, __LINE__);
  checkNode(logSoftmax(m, 0), "LogSoftmax", {2, 3}, __LINE__);
  checkNode(identity(x), "Identity", {2, 3, 4, 4}, __LINE__);
  checkNode(stopGradient(x), "StopGradient", {2, 3, 4, 4}, __LINE__);
  checkNode(cast(x, DType::Float64), "Cast", {2, 3, 4, 4}, __LINE__);
  checkNode(dropout(x, 0.5), "Dropout", {2, 3, 4, 4}, __LINE__);
  checkNode(gelu(x), "Gelu", {2, 3, 4, 4}, __LINE__);
  checkNode(leakyRelu(x), "LeakyRelu", {2, 3, 4, 4}, __LINE__);
  checkNode(elu(x), "Elu", {2, 3, 4, 4}, __LINE__);
  checkNode(hardSigmoid(x), "HardSigmoid", {2, 3, 4, 4}, __LINE__);
  checkNode(hardSwish(x), "HardSwish", {2, 3, 4, 4}, __LINE__);
  checkNode(exp(x), "Exp", {2, 3, 4, 4}, __LINE__);
  checkNode(log(x), "Log", {2, 3, 4, 4}, __LINE__);
  checkNode(sqrt(x), "Sqrt", {2, 3, 4, 4}, __LINE__);
  checkNode(erf(x), "Erf", {2, 3, 4, 4}, __LINE__);
  checkNode(abs(x), "Abs", {2, 3, 4, 4}, __LINE__);
  checkNode(sin(x), "Sin", {2, 3, 4, 4}, __LINE__);
  checkNode(cos(x), "Cos", {2, 3, 4, 4}, __LINE__);
  checkNode(softplus(x), "Softplus", {2, 3, 4, 4}, __LINE__);
  checkNode(clip(x, -1, 1), "Clip", {2, 3, 4, 4}, __LINE__);
  checkNode(averagePool(x), "AveragePool", {2, 3, 2, 2}, __LINE__);
  checkNode(globalAveragePool(x), "GlobalAveragePool", {2, 3, 1, 1}, __LINE__);
  checkNode(squeeze(globalAveragePool(x), {2, 3}), "Squeeze", {2, 3}, __LINE__);
  checkNode(unsqueeze(m, {-1}), "Unsqueeze", {2, 3, 1}, __LINE__);
  checkNode(expand(m, {4, 2, 3}), "Expand", {4, 2, 3}, __LINE__);
  checkNode(concat({m, m}, 1), "Concat", {2, 6}, __LINE__);
  checkNode(split(m, 2, 1)[1], "Split", {2, 1}, __LINE__);
  checkNode(slice(m, 1, -1, -4, -2), "Slice", {2, 2}, __LINE__);
  checkNode(gather(m, label), "Gather", {2, 3}, __LINE__);
  checkNode(pad(m, {0, 1, 0, 2}), "Pad", {2, 6}, __LINE__);
  checkNode(trilu(m), "Trilu", {2, 3}, __LINE__);
  checkNode(range(g, 7), "Range", {7}, __LINE__);
  checkNode(argMax(m), "ArgMax", {2}, __LINE__);
  checkNode(reduceMax(m, {0}), "ReduceMax", {1, 3}, __LINE__);
  checkNode(reduceMin(m, {1}, false), "ReduceMin", {2}, __LINE__);
  checkNode(reduceSumSquare(m, {0}), "ReduceSumSquare", {1, 3}, __LINE__);
  checkNode(oneHot(label, 5), "OneHot", {2, 5}, __LINE__);
  checkNode(oneHot(label, 5, 0), "OneHot", {5, 2}, __LINE__);
  checkNode(pow(m, m), "Pow", {2, 3}, __LINE__);
  checkNode(pow(m, 2), "Pow", {2, 3}, __LINE__);
  checkNode(max(m, m), "Max", {2, 3}, __LINE__);
  checkNode(min(m, m), "Min", {2, 3}, __LINE__);
  checkNode(equal(m, m), "Equal", {2, 3}, __LINE__);
  checkNode(greater(m, m), "Greater", {2, 3}, __LINE__);
  checkNode(less(m, m), "Less", {2, 3}, __LINE__);
  checkNode(greaterOrEqual(m, m), "GreaterOrEqual", {2, 3}, __LINE__);
  checkNode(lessOrEqual(m, m), "LessOrEqual", {2, 3}, __LINE__);
  const Value mask = less(m, m);
  checkNode(logicalAnd(mask, mask), "And", {2, 3}, __LINE__);
  checkNode(logicalOr(mask, mask), "Or", {2, 3}, __LINE__);
  checkNode(logicalXor(mask, mask), "Xor", {2, 3}, __LINE__);
  checkNode(logicalNot(mask), "Not", {2, 3}, __LINE__);
  checkNode(where(less(m, m), m, m), "Where", {2, 3}, __LINE__);
  checkNode(maxPool(x), "MaxPool", {2, 3, 2, 2}, __LINE__);
  checkNode(maxPool(x, {.kernel = 3, .stride = 1, .pad = 1}), "MaxPool", {2, 3, 4, 4}, __LINE__);
  checkNode(flatten(x), "Flatten", {2, 48}, __LINE__);
  checkNode(reshape(x, {0, -1}), "Reshape", {2, 48}, __LINE__);
  checkNode(transpose(m), "Transpose", {3, 2}, __LINE__);
  checkNode(transpose(x, {0, 2, 3, 1}), "Transpose", {2, 4, 4, 3}, __LINE__);
  checkNode(reduceSum(x), "ReduceSum", {1, 1, 1, 1}, __LINE__);
  checkNode(reduceMean(x, {2, 3}, false), "ReduceMean", {2, 3}, __LINE__);
  checkNode(matmul(m, transpose(m)), "MatMul", {2, 2}, __LINE__);
  checkNode(softmaxCrossEntropy(m, label), "SoftmaxCrossEntropyLoss", {}, __LINE__);
}

TEST_CASE("Overloaded operators carry the line of their operands") {
  Graph g;
  const Value a = g.input("a", {2, 3}), b = g.input("b", {3});
  checkNode(a + b, "Add", {2, 3}, __LINE__);
  checkNode(a - b, "Sub", {2, 3}, __LINE__);
  checkNode(a * b, "Mul", {2, 3}, __LINE__);
  checkNode(a / b, "Div", {2, 3}, __LINE__);
  checkNode(-a, "Neg", {2, 3}, __LINE__);
  checkNode(a + 1.0, "Add", {2, 3}, __LINE__);
  checkNode(2 - a, "Sub", {2, 3}, __LINE__);
  checkNode(0.5 * a, "Mul", {2, 3}, __LINE__);
  checkNode(1 / a, "Div", {2, 3}, __LINE__);
  checkNode(a - 1, "Sub", {2, 3}, __LINE__);
  checkNode(a * 2, "Mul", {2, 3}, __LINE__);
  checkNode(a / 2, "Div", {2, 3}, __LINE__);
  checkNode(1 + a, "Add", {2, 3}, __LINE__);
}

TEST_CASE("Shapes that do not fit throw a BuildError with operator, shapes and line") {
  Graph g;
  const Value a = g.input("a", {2, 3}), b = g.input("b", {4, 5});
  const std::string line = std::to_string(__LINE__ + 1);
  CHECK_THROWS_WITH(matmul(a, b), Catch::Contains("MatMul") && Catch::Contains("[2, 3]") &&
                                      Catch::Contains("[4, 5]") && Catch::Contains(line));
  CHECK_THROWS_AS(a + b, BuildError);
}

TEST_CASE("Arithmetic on integers says what to cast, and that an index is cast back") {
  Graph g;
  const Value label = g.input("label", {4}, DType::Int64);
  CHECK_THROWS_WITH(label - 1, Catch::Contains("cast(x, DType::Float32), and back where an index is wanted"));
  const Value shifted = cast(cast(label, DType::Float32) - 1, DType::Int64);
  CHECK(oneHot(shifted, 3).shape() == Shape{4, 3});
}

TEST_CASE("concat takes as many Values as a vector holds, max and min a number") {
  Graph g;
  const Value m = g.input("m", {2, 3});
  const std::vector<Value> three{m, m, m};
  checkNode(concat(three, 1), "Concat", {2, 9}, __LINE__);
  checkNode(concat(split(m, 3, 1), 0), "Concat", {6, 1}, __LINE__);
  checkNode(max(m, 0), "Max", {2, 3}, __LINE__);
  checkNode(min(m, 0.5), "Min", {2, 3}, __LINE__);
}

TEST_CASE("A wrong option is refused by the name that the caller gave it") {
  Graph g;
  const Value x = g.input("x", {2, 3, 4, 4});
  CHECK_THROWS_WITH(maxPool(x, {.kernel = 0}), Catch::Contains("maxPool: .kernel is 0"));
  CHECK_THROWS_WITH(maxPool(x, {.stride = -1}), Catch::Contains("maxPool: .stride is -1"));
  CHECK_THROWS_WITH(averagePool(x, {.pad = -1}),
                    Catch::Contains("averagePool: .pad is -1") && Catch::Contains("functions_test.cpp:"));
  CHECK_THROWS_WITH(split(x, 0, 1), Catch::Contains("split: count is 0"));
  CHECK_THROWS_WITH(max(Value(), 0), Catch::Contains("empty") && Catch::Contains("functions_test.cpp:"));
}
