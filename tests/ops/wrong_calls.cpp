#include "tests/ops/samples.h"

namespace msdbg::test {
namespace {

using core::DType;
using core::Shape;
using core::TensorType;

TensorType f(Shape shape) { return {DType::Float32, std::move(shape)}; }
TensorType f64(Shape shape) { return {DType::Float64, std::move(shape)}; }
TensorType b(Shape shape) { return {DType::Bool, std::move(shape)}; }
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
      {"Conv", {f({1, 3, 8, 8}), f({4, 1, 3, 3})}, {{"group", std::int64_t{3}}}, {"group is 3", "divisor"}},
      {"Conv",
       {f({1, 3, 8, 8}), f({4, 3, 3, 3})},
       {{"group", std::int64_t{2}}},
       {"3 input channels", "times 2 groups"}},
      {"Conv", {f({1, 3, 8, 8}), f({4, 3, 3, 3})}, {{"group", std::int64_t{0}}}, {"group is 0"}},
      {"Conv",
       {f({1, 3, 8, 8}), f({4, 3, 3, 3})},
       {{"dilations", Ints{4, 1}}},
       {"kernel [9, 3]", "larger than the padded input plane [8, 8]"}},
      {"Conv",
       {f({1, 3, 8, 8}), f({4, 3, 3, 3})},
       {{"auto_pad", std::string("SAME")}},
       {"auto_pad is 'SAME'"}},
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
      {"Cast", {f({2})}, {{"to", std::int64_t{8}}}, {"attribute to is 8", "11 (float64)"}},
      {"Cast", {f({2})}, {{"to", std::int64_t{19}}}, {"float8_e5m2 is a dtype", "use float32"}},
      {"OneHot",
       {f({2})},
       {{"depth", std::int64_t{3}}, {"to", std::int64_t{16}}},
       {"bfloat16 is a dtype", "use float32"}},
      {"Identity", {f({2}), f({2})}, {}, {"2 inputs", "takes 1"}},
      {"StopGradient", {f({2}), f({2})}, {}, {"2 inputs", "takes 1"}},
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
      {"SgdUpdate",
       {f({2}), f({2}), f({}), f({})},
       {{"every", std::int64_t{2}}},
       {"micro_step is float32[]"}},
      {"SgdUpdate", {f({2}), f({2}), f({})}, {{"every", std::int64_t{0}}}, {"every is 0", "micro_step"}},
      {"AccumulateGradient",
       {f({2}), f({3}), i64({})},
       {{"steps", std::int64_t{2}}},
       {"accumulated is float32[3]"}},
      {"AccumulateGradient",
       {f({2}), f({2}), i64({2})},
       {{"steps", std::int64_t{2}}},
       {"micro_step is int64[2]"}},
      {"AccumulateGradient", {f({2}), f({2}), i64({})}, {}, {"steps is 0", "positive"}},
      {"StepUpdate", {i64({})}, {{"modulo", std::int64_t{-1}}}, {"modulo is -1"}},
      {"SgdUpdate", {f({2}), f({2}), f({})}, momentum, {"3 inputs", "momentum state"}},
      {"SgdUpdate", {f({2}), f({2}), f({}), f({2})}, {}, {"4 inputs", "momentum state"}},
  };
}

std::vector<WrongCall> wrongFunctions() {
  std::vector<WrongCall> list;
  for (const std::string op : {"Exp", "Log", "Sqrt", "Neg", "Sin", "Cos", "Softplus"})
    list.push_back({op, {i64({2})}, {}, {"X is int64[2]", "float32 or float64"}});
  for (const std::string op :
       {"Abs", "Erf", "Gelu", "LeakyRelu", "Elu", "HardSigmoid", "HardSwish", "Clip"}) {
    list.push_back({op, {i64({2})}, {}, {"X is int64[2]", "float32 or float64"}});
    list.push_back({op + "Grad", {f({2}), f({3})}, {}, {"X is float32[3]", "shape [2]"}});
  }
  list.push_back({"Gelu", {f({2})}, {{"approximate", std::string("fast")}}, {"'fast'", "none or tanh"}});
  for (const std::string op : {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}) {
    list.push_back({op, {f({2}), i64({2})}, {}, {"B is int64[2]", "float32"}});
    list.push_back({op, {f({2, 3}), f({2})}, {}, {"B is float32[2]", "broadcast with [2, 3]"}});
  }
  for (const std::string op : {"And", "Or", "Xor"}) {
    list.push_back({op, {f({2}), f({2})}, {}, {"A is float32[2]", "bool"}});
    list.push_back({op, {b({2, 3}), b({2})}, {}, {"B is bool[2]", "broadcast with [2, 3]"}});
  }
  list.push_back({"Not", {f({2})}, {}, {"X is float32[2]", "bool"}});
  list.push_back({"OneHot", {i64({2})}, {}, {"depth is 0", "positive"}});
  list.push_back({"OneHot", {b({2})}, {{"depth", std::int64_t{3}}}, {"indices is bool[2]", "numbers"}});
  list.push_back(
      {"OneHot", {i64({2})}, {{"depth", std::int64_t{3}}, {"axis", std::int64_t{2}}}, {"axis 2", "2 dim"}});
  list.push_back({"OneHot", {i64({2})}, {{"depth", std::int64_t{3}}, {"to", std::int64_t{8}}}, {"to is 8"}});
  for (const std::string op : {"Max", "Min"}) {
    list.push_back({op, {f({2}), f({2}), i64({2})}, {}, {"data is int64[2]", "float32"}});
    list.push_back({op, {f({2}), f({3})}, {}, {"data is float32[3]", "broadcast with [2]"}});
  }
  list.push_back({"Pow", {f({2}), f({3})}, {}, {"A is [2] but B is [3]"}});
  list.push_back({"Where", {f({2}), f({2}), f({2})}, {}, {"condition is float32[2]", "bool"}});
  list.push_back({"Where", {{DType::Bool, {2}}, f({2}), f64({2})}, {}, {"Y is float64[2]", "float32"}});
  return list;
}

std::vector<WrongCall> wrongPicks() {
  const auto attribute = [](const char* name, Ints values) {
    return core::Attributes{{name, std::move(values)}};
  };
  const core::Attributes zeroStep{{"starts", Ints{0}}, {"ends", Ints{1}}, {"steps", Ints{0}}};
  const core::Attributes twice{{"starts", Ints{0, 0}}, {"ends", Ints{1, 1}}, {"axes", Ints{0, -2}}};
  const core::Attributes sliced{{"starts", Ints{0}}, {"ends", Ints{2}}, {"shape", Ints{4, 3}}};
  return {
      {"Slice", {f({4, 3})}, zeroStep, {"steps is [0]"}},
      {"Slice", {f({4, 3})}, twice, {"dimension 0 twice"}},
      {"Slice", {f({4, 3})}, {{"starts", Ints{0}}, {"ends", Ints{}}}, {"one number per sliced axis"}},
      {"SliceGrad", {f({3, 3})}, sliced, {"dY is float32[3, 3]", "[2, 3]"}},
      {"SliceGrad", {f({3, 3})}, attribute("shape", {-4}), {"attribute shape is [-4]"}},
      {"Concat",
       {f({2, 3}), f({3, 3})},
       {{"axis", std::int64_t{1}}},
       {"input 1 is [3, 3] and input 0 [2, 3]", "along axis 1 only, not along 0"}},
      {"Concat", {f({2, 3}), i64({2, 3})}, {{"axis", std::int64_t{1}}}, {"input 1 is int64"}},
      {"Split", {f({5})}, attribute("split", {2, 2}), {"split is [2, 2]", "add up to 5"}},
      {"Split", {f({5})}, attribute("split", {INT64_MAX, INT64_MAX}), {"add up to 5"}},
      {"Split", {f({5})}, {}, {"num_outputs"}},
      {"Gather", {f({5, 3}), f({2})}, {}, {"indices is float32[2]", "int32 or int64"}},
      {"Gather", {f({5, 3}), i64({2})}, {{"axis", std::int64_t{2}}}, {"axis 2"}},
      {"GatherGrad", {f({2, 3}), i64({4})}, attribute("shape", {5, 3}), {"dY is float32[2, 3]", "[4, 3]"}},
      {"Pad", {f({2, 3})}, attribute("pads", {1, 1}), {"pads has 2 numbers", "4 were expected"}},
      {"Pad", {f({2})}, attribute("pads", {-2, -1}), {"-2 and -1", "dimension of 2"}},
      {"Pad", {f({2})}, attribute("pads", {INT64_MAX, 0}), {"not possible"}},
      {"Pad", {f({2})}, {{"pads", Ints{1, 1}}, {"mode", std::string("mirror")}}, {"'mirror'", "reflect"}},
      {"PadGrad", {f({4})}, {{"pads", Ints{1, 1}}, {"shape", Ints{3}}}, {"dY is float32[4]", "[5]"}},
      {"Squeeze", {f({2, 1})}, attribute("axes", {0}), {"dimension 0 of data [2, 1] is not 1"}},
      {"Unsqueeze", {f({2})}, attribute("axes", {0, -3}), {"dimension 0 twice"}},
      {"Unsqueeze", {f({2})}, attribute("axes", {2}), {"axis 2"}},
      {"Expand", {f({2, 3})}, attribute("shape", {2}), {"input is float32[2, 3]", "broadcast with [2]"}},
      {"Expand", {f({1})}, attribute("shape", {INT64_MAX, 2}), {"which no tensor can be"}},
      {"Trilu", {f({3})}, {}, {"input is float32[3]", "2 dimensions or more"}},
      {"Range", {f({}), f({}), i64({})}, {{"length", std::int64_t{2}}}, {"delta is int64"}},
      {"Range", {f({}), f({}), f({})}, {}, {"length is [-1]"}},
      {"ArgMax", {f({2, 0})}, {{"axis", std::int64_t{1}}}, {"the axis is empty"}},
      {"ReduceMax", {f({2, 3})}, attribute("axes", {2}), {"axis 2"}},
      {"ReduceMin", {f({2, 3})}, attribute("axes", {-3}), {"axis -3"}},
      {"ReduceMinGrad",
       {f({1, 3}), f({2, 3}), f({1, 2})},
       attribute("axes", {0}),
       {"Y is float32[1, 2]", "[1, 3]"}},
      {"ReduceMaxGrad",
       {f({1, 2}), f({2, 3}), f({1, 3})},
       attribute("axes", {0}),
       {"dY is float32[1, 2]", "[1, 3]"}},
      {"ReduceSumSquare", {i64({2})}, {}, {"X is int64[2]"}},
  };
}

std::vector<WrongCall> wrongNormalizations() {
  const auto c = f({3});
  return {
      {"BatchNormalization", {f({2, 3, 4}), c, f({4}), c, c}, {}, {"B is float32[4]", "shape [3]"}},
      {"BatchNormalization", {f({2}), c, c, c, c}, {}, {"X is float32[2]", "[N, C"}},
      {"BatchNormalizationGrad", {f({2, 3}), f({2, 4}), c, c, c}, {}, {"dY is float32[2, 3]", "[2, 4]"}},
      {"LayerNormalization", {f({2, 3}), f({2})}, {}, {"Scale is float32[2]", "shape [3]"}},
      {"LayerNormalization", {f({2, 3}), f({3}), f({2, 3})}, {}, {"B is float32[2, 3]", "shape [3]"}},
      {"LayerNormalizationGrad",
       {f({2, 3}), f({2, 3}), f({3}), f({2}), f({2, 1})},
       {},
       {"Mean is float32[2]", "shape [2, 1]"}},
      {"GroupNormalization", {f({2, 3}), c, c}, {}, {"num_groups is 0", "divisor of the 3 channels"}},
      {"GroupNormalization", {f({3}), c, c}, {{"num_groups", std::int64_t{3}}}, {"X is float32[3]", "[N, C"}},
      {"GroupNormalization",
       {f({2, 3, 4}), f({1}), c},
       {{"num_groups", std::int64_t{3}}},
       {"scale is float32[1]", "shape [3]"}},
      {"GroupNormalizationGrad",
       {f({2, 3}), f({2, 3}), c, f({2, 1}), f({2, 3})},
       {{"num_groups", std::int64_t{1}}},
       {"InvStdDev is float32[2, 3]", "shape [2, 1]"}},
      {"AveragePool", {f({1, 3, 8, 8})}, {}, {"kernel_shape"}},
      {"AveragePoolGrad",
       {f({1, 3, 3, 3})},
       {{"kernel_shape", Ints{2, 2}}, {"shape", Ints{1, 3, 5, 5}}},
       {"dY is float32[1, 3, 3, 3]", "[1, 3, 4, 4]"}},
      {"GlobalAveragePool", {f({2, 3})}, {}, {"X is float32[2, 3]", "planes"}},
      {"AdamUpdate", {f({2}), f({2}), f({}), f({2}), f({2}), f({})}, {}, {"step is float32[]", "int64"}},
      {"AdamUpdate", {f({2}), f({2}), f({}), f({3}), f({2}), i64({})}, {}, {"exp_avg is float32[3]", "[2]"}},
      {"AdamUpdate", {f({2}), f({2}), f({}), f({2}), f({2}), i64({})}, {{"beta1", 1.0}}, {"beta1", "[0, 1)"}},
      {"StepUpdate", {f({})}, {}, {"step is float32[]", "int64"}},
      {"SgdUpdate", {f({2}), f({2}), f({})}, {{"nesterov", std::int64_t{1}}}, {"nesterov needs a momentum"}},
  };
}

}  // namespace

const std::vector<WrongCall>& wrongCalls() {
  static const std::vector<WrongCall> all = [] {
    std::vector<WrongCall> list;
    for (auto part : {wrongWindows, wrongProducts, wrongElementwise, wrongLosses, wrongShapes, wrongTraining,
                      wrongFunctions, wrongPicks, wrongNormalizations})
      for (WrongCall& call : part()) list.push_back(std::move(call));
    return list;
  }();
  return all;
}

}  // namespace msdbg::test
