#include "tests/ops/samples.h"

namespace msdbg::test {
namespace {

using core::DType;
using core::Shape;
using core::TensorType;

TensorType f(Shape shape) { return {DType::Float32, std::move(shape)}; }
TensorType f64(Shape shape) { return {DType::Float64, std::move(shape)}; }
TensorType i64(Shape shape) { return {DType::Int64, std::move(shape)}; }
const core::Attributes kPool{{"kernel_shape", Ints{2, 2}}};

std::vector<WrongCall> wrongWindows() {
  const core::Attributes shape{{"shape", Ints{1, 2, 6, 6}}}, kernel{{"kernel_shape", Ints{3, 3}}};
  return {
      {"Conv", {f({1, 3, 8}), f({4, 3, 3, 3})}, {}, {"X is float32[1, 3, 8]", "4 dimensions"}},
      {"Conv", {f({1, 3, 8, 8}), f({4, 2, 3, 3})}, {}, {"[1, 3, 8, 8]", "[4, 2, 3, 3]", "3 input channels"}},
      {"Conv", {f({1, 3, 8, 8}), f({4, 3, 3, 3}), f({5})}, {}, {"B is float32[5]", "shape [4]"}},
      {"Conv",
       {f({1, 3, 2, 8}), f({4, 3, 3, 3})},
       {},
       {"kernel [3, 3]", "larger than the padded input plane [2, 8]"}},
      {"Conv", {f({1, 3, 8, 8}), f({4, 3, 3, 3})}, {{"strides", Ints{0, 1}}}, {"strides is [0, 1]"}},
      {"Conv", {f({1, 3, 8, 8}), f({4, 3, 3, 3})}, {{"pads", Ints{1, 1}}}, {"pads is [1, 1]", "4 numbers"}},
      {"Conv",
       {f({1, 3, 8, 8}), f({4, 3, 3, 3})},
       {{"kernel_shape", Ints{5, 5}}},
       {"[5, 5]", "weight's is [3, 3]"}},
      {"Conv", {f({1, 3, 8, 8}), f({4, 3, 0, 0})}, {{"kernel_shape", Ints{3, 3}}}, {"weight's is [0, 0]"}},
      {"Conv",
       {f({1, 3, 8, 8}), f({4, 3, 3, 3})},
       {{"group", std::int64_t{3}}},
       {"groups", "not implemented"}},
      {"Conv", {f({1, 3, 8, 8}), f64({4, 3, 3, 3})}, {}, {"W is float64", "X is float32", "one dtype"}},
      {"Conv", {f({-1, 3, 8, 8}), f({4, 3, 3, 3})}, {}, {"X is float32[-1, 3, 8, 8]", "must be known"}},
      {"ConvGradInput", {f({1, 4, 4, 4}), f({4, 2, 3, 3})}, {}, {"attribute shape is []"}},
      {"ConvGradInput",
       {f({1, 4, 5, 4}), f({4, 2, 3, 3})},
       shape,
       {"dY is float32[1, 4, 5, 4]", "[1, 4, 4, 4]"}},
      {"ConvGradWeight",
       {f({1, 4, 4, 4}), f({2, 3, 6, 6})},
       kernel,
       {"dY is float32[1, 4, 4, 4]", "[2, 4, 4, 4]"}},
      {"ConvGradWeight", {f({1, 4, 4, 4}), f({1, 3, 6, 6})}, {}, {"kernel_shape"}},
      {"MaxPool", {f({1, 3, 8, 8})}, {}, {"kernel_shape"}},
      {"MaxPool",
       {f({1, 3, 8, 8})},
       {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{2, 0, 0, 0}}},
       {"pads must be smaller"}},
      {"MaxPool", {i64({1, 3, 8, 8})}, kPool, {"X is int64", "float32 or float64"}},
      {"MaxPoolGrad",
       {f({1, 1, 4, 4}), f({1, 1, 2, 2}), f({1, 1, 3, 3})},
       kPool,
       {"Y is float32[1, 1, 2, 2]", "[1, 1, 3, 3]"}},
  };
}

std::vector<WrongCall> wrongProducts() {
  return {
      {"Gemm", {f({64, 400}), f({256, 120})}, {}, {"A is [64, 400] but B is [256, 120]", "400 != 256"}},
      {"Gemm",
       {f({64, 400}), f({400, 120})},
       {{"transB", std::int64_t{1}}},
       {"[400, 120] (transposed)", "400 != 120"}},
      {"Gemm", {f({2, 3}), f({3, 4}), f({3})}, {}, {"C is float32[3]", "[2, 4]"}},
      {"Gemm", {f({2, 3}), f({3, 4}), f({1, 2, 4})}, {}, {"C is float32[1, 2, 4]", "[2, 4]"}},
      {"Gemm", {f({2, 3, 1}), f({3, 4})}, {}, {"A is float32[2, 3, 1]", "2 dimensions"}},
      {"MatMul", {f({2, 3}), f({4, 5})}, {}, {"[2, 3]", "[4, 5]", "3 != 4"}},
      {"MatMul", {f({2, 3, 4}), f({3, 4, 5})}, {}, {"batch dimensions"}},
      {"MatMul", {f({}), f({4, 5})}, {}, {"scalar"}},
  };
}

std::vector<WrongCall> wrongElementwise() {
  std::vector<WrongCall> list;
  for (const char* op : {"Add", "Sub", "Mul", "Div"}) {
    list.push_back({op, {f({2, 3}), f({2})}, {}, {"A is [2, 3] but B is [2]", "equal or 1"}});
    list.push_back({op, {f({2, 3}), f64({2, 3})}, {}, {"B is float64[2, 3]", "A is float32[2, 3]"}});
  }
  for (const std::string op : {"Relu", "Sigmoid", "Tanh"}) {
    list.push_back({op, {i64({2})}, {}, {"X is int64[2]", "float32 or float64"}});
    list.push_back({op + "Grad", {f({2}), f({3})}, {}, {"Y is float32[3]", "shape [2]"}});
  }
  for (const std::string op : {"Softmax", "LogSoftmax"}) {
    list.push_back({op, {f({2, 3})}, {{"axis", std::int64_t{2}}}, {"axis 2", "[-2, 1]"}});
    list.push_back({op, {f({})}, {}, {"axis -1"}});
    list.push_back({op + "Grad", {f({2, 3}), f({3, 2})}, {}, {"Y is float32[3, 2]", "[2, 3]"}});
  }
  return list;
}

std::vector<WrongCall> wrongLosses() {
  return {
      {"SoftmaxCrossEntropyLoss", {f({4, 3}), f({4})}, {}, {"labels is float32[4]", "int64"}},
      {"SoftmaxCrossEntropyLoss", {f({4, 3}), i64({5})}, {}, {"labels is int64[5]", "[4]"}},
      {"SoftmaxCrossEntropyLoss", {f({4}), i64({4})}, {}, {"logits is float32[4]", "[rows, classes]"}},
      {"SoftmaxCrossEntropyLoss", {f({0, 3}), i64({0})}, {}, {"logits is float32[0, 3]"}},
      {"SoftmaxCrossEntropyLoss",
       {f({4, 3}), i64({4})},
       {{"reduction", std::string("sum")}},
       {"reduction mean"}},
      {"SoftmaxCrossEntropyLossGrad", {f({4, 3}), i64({4}), f({4})}, {}, {"dloss is float32[4]", "shape []"}},
      {"SoftmaxCrossEntropyLossGrad", {f({4, 3}), i64({4}), f64({})}, {}, {"dloss is float64"}},
  };
}

std::vector<WrongCall> wrongShapes() {
  const core::Attributes first{{"axes", Ints{0}}, {"shape", Ints{2, 3}}};
  std::vector<WrongCall> list = {
      {"Flatten", {f({2, 3})}, {{"axis", std::int64_t{3}}}, {"axis 3", "[2, 3]"}},
      {"Reshape", {f({2, 3})}, {{"shape", Ints{4, -1}}}, {"X is float32[2, 3]", "[4, -1]"}},
      {"Reshape", {f({2, 3})}, {{"shape", Ints{-1, -1}}}, {"cannot become [-1, -1]"}},
      {"Reshape", {f({2, 3})}, {{"shape", Ints{6, 1, 0}}}, {"cannot become"}},
      {"Reshape", {f({2, 3})}, {{"shape", Ints{INT64_MAX, 2, INT64_MAX, 2}}}, {"cannot become"}},
      {"Reshape", {f({2, 3})}, {{"shape", Ints{7}}}, {"cannot become [7]"}},
      {"Transpose", {f({2, 3})}, {{"perm", Ints{0, 0}}}, {"perm is [0, 0]", "permutation"}},
      {"Transpose", {f({2, 3})}, {{"perm", Ints{0, 1, 2}}}, {"perm is [0, 1, 2]"}},
      {"Cast", {f({2})}, {{"to", std::int64_t{10}}}, {"attribute to is 10", "11 (float64)"}},
      {"Identity", {f({2}), f({2})}, {}, {"2 inputs", "takes 1"}},
  };
  for (const std::string op : {"ReduceSum", "ReduceMean"}) {
    list.push_back({op, {f({2, 3})}, {{"axes", Ints{2}}}, {"axis 2"}});
    list.push_back({op, {f({2, 3})}, {{"axes", Ints{1, -1}}}, {"dimension 1 twice"}});
    list.push_back({op + "Grad", {f({3, 1})}, first, {"dY is float32[3, 1]", "[1, 3]"}});
    list.push_back({op + "Grad", {f({3})}, {{"shape", Ints{-1}}}, {"shape is [-1]"}});
  }
  return list;
}

std::vector<WrongCall> wrongTraining() {
  const core::Attributes momentum{{"momentum", 0.9}};
  return {
      {"Dropout", {f({2})}, {{"ratio", 1.0}}, {"ratio is 1.0", "[0, 1)"}},
      {"Dropout", {f({2})}, {{"ratio", -0.1}}, {"ratio"}},
      {"DropoutGrad", {f({2}), f({2})}, {}, {"mask is float32[2]", "bool"}},
      {"DropoutGrad", {f({2}), {DType::Bool, {3}}}, {}, {"mask is bool[3]", "[2]"}},
      {"Allreduce", {i64({2})}, {}, {"X is int64[2]"}},
      {"SgdUpdate", {f({2}), f({3}), f({})}, {}, {"gradient is float32[3]", "[2]"}},
      {"SgdUpdate", {f({2}), f({2}), f({1})}, {}, {"learning_rate is float32[1]", "shape []"}},
      {"SgdUpdate", {f({2}), f({2}), f({})}, momentum, {"3 inputs", "momentum state"}},
      {"SgdUpdate", {f({2}), f({2}), f({}), f({2})}, {}, {"4 inputs", "momentum state"}},
  };
}

}  // namespace

const std::vector<WrongCall>& wrongCalls() {
  static const std::vector<WrongCall> all = [] {
    std::vector<WrongCall> list;
    for (auto part : {wrongWindows, wrongProducts, wrongElementwise, wrongLosses, wrongShapes, wrongTraining})
      for (WrongCall& call : part()) list.push_back(std::move(call));
    return list;
  }();
  return all;
}

}  // namespace msdbg::test
