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
  checkNode(cast(x, DType::Float64), "Cast", {2, 3, 4, 4}, __LINE__);
  checkNode(dropout(x, 0.5), "Dropout", {2, 3, 4, 4}, __LINE__);
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
