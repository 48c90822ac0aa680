#include "tests/ops/samples.h"

namespace msdbg::test {
namespace {

using core::Attributes;
const std::int64_t kZero = 0, kOne = 1;

Attributes window(const Ints& kernel, const Ints& strides, const Ints& pads) {
  return {{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}};
}
Attributes strided(const Ints& strides, const Ints& pads) { return {{"strides", strides}, {"pads", pads}}; }
Attributes with(Attributes attributes, const char* name, core::AttributeValue value) {
  attributes[name] = std::move(value);
  return attributes;
}
Attributes transposed(std::int64_t a, std::int64_t b) { return {{"transA", a}, {"transB", b}}; }
Attributes axes(const Ints& list, std::int64_t keepdims) { return {{"axes", list}, {"keepdims", keepdims}}; }

std::vector<Sample> convolutions() {
  const Attributes odd = strided({2, 1}, {1, 0, 2, 1});
  return {
      {"Conv", "one element", {{{1, 1, 1, 1}}, {{1, 1, 1, 1}}}},
      {"Conv", "padding and bias", {{{2, 3, 5, 7}}, {{4, 3, 3, 3}}, {{4}}}, strided({1, 1}, {1, 1, 1, 1})},
      {"Conv", "odd strides and pads", {{{3, 2, 6, 9}}, {{5, 2, 3, 2}}, {{5}}}, odd},
      {"Conv",
       "stride larger than the kernel",
       {{{1, 2, 7, 7}}, {{3, 2, 2, 2}}},
       strided({3, 3}, {0, 0, 0, 0})},
      {"Conv",
       "channels that fill vectors",
       {{{2, 16, 9, 9}}, {{24, 16, 3, 3}}, {{24}}},
       strided({1, 1}, {1, 1, 1, 1})},
      {"Conv",
       "groups and dilations",
       {{{2, 4, 7, 9}}, {{6, 2, 3, 2}}, {{6}}},
       with(with(odd, "group", std::int64_t{2}), "dilations", Ints{2, 3})},
      {"Conv", "a filter per channel", {{{2, 5, 6, 6}}, {{5, 1, 3, 3}}}, {{"group", std::int64_t{5}}}},
      {"Conv",
       "automatic padding",
       {{{1, 2, 5, 6}}, {{3, 2, 2, 4}}},
       with(strided({2, 1}, {0, 0, 0, 0}), "auto_pad", std::string("SAME_LOWER"))},
      {"ConvGradInput",
       "groups and dilations",
       {{{2, 6, 3, 7}}, {{6, 2, 3, 2}}},
       with(with(with(odd, "group", std::int64_t{2}), "dilations", Ints{2, 3}), "shape", Ints{2, 4, 7, 9})},
      {"ConvGradWeight",
       "groups and dilations",
       {{{2, 6, 3, 7}}, {{2, 4, 7, 9}}},
       with(with(with(odd, "group", std::int64_t{2}), "dilations", Ints{2, 3}), "kernel_shape", Ints{3, 2})},
      {"ConvGradInput", "one element", {{{1, 1, 1, 1}}, {{1, 1, 1, 1}}}, {{"shape", Ints{1, 1, 1, 1}}}},
      {"ConvGradInput",
       "odd strides and pads",
       {{{3, 5, 4, 9}}, {{5, 2, 3, 2}}},
       with(odd, "shape", Ints{3, 2, 6, 9})},
      {"ConvGradInput",
       "rows no window reaches",
       {{{1, 3, 2, 2}}, {{3, 2, 2, 2}}},
       with(strided({3, 3}, {0, 0, 0, 0}), "shape", Ints{1, 2, 7, 7})},
      {"ConvGradWeight", "one element", {{{1, 1, 1, 1}}, {{1, 1, 1, 1}}}, {{"kernel_shape", Ints{1, 1}}}},
      {"ConvGradWeight",
       "odd strides and pads",
       {{{3, 5, 4, 9}}, {{3, 2, 6, 9}}},
       with(odd, "kernel_shape", Ints{3, 2})},
      {"ConvGradWeight",
       "channels that fill vectors",
       {{{2, 24, 9, 9}}, {{2, 16, 9, 9}}},
       window({3, 3}, {1, 1}, {1, 1, 1, 1})},
  };
}

std::vector<Sample> pools() {
  const Attributes overlapping = window({3, 2}, {1, 2}, {1, 0, 2, 1});
  return {
      {"MaxPool", "two by two", {{{2, 3, 4, 6}, Fill::kApart}}, window({2, 2}, {2, 2}, {0, 0, 0, 0})},
      {"MaxPool", "overlapping, padded", {{{2, 2, 5, 7}, Fill::kApart}}, overlapping},
      {"MaxPool",
       "dilated, rounded up",
       {{{2, 2, 7, 8}, Fill::kApart}},
       with(with(window({2, 3}, {2, 3}, {1, 1, 0, 1}), "dilations", Ints{2, 1}), "ceil_mode", kOne)},
      {"MaxPool", "one element", {{{1, 1, 1, 1}, Fill::kApart}}, {{"kernel_shape", Ints{1, 1}}}},
      {"MaxPoolGrad",
       "two by two",
       {{{2, 3, 4, 6}, Fill::kApart}, {{2, 3, 2, 3}, Fill::kPooled}, {{2, 3, 2, 3}}},
       window({2, 2}, {2, 2}, {0, 0, 0, 0})},
      {"MaxPoolGrad",
       "overlapping, padded",
       {{{2, 2, 5, 7}, Fill::kApart}, {{2, 2, 6, 4}, Fill::kPooled}, {{2, 2, 6, 4}}},
       overlapping},
  };
}

std::vector<Sample> products() {
  return {
      {"Gemm", "plain", {{{3, 5}}, {{5, 4}}}},
      {"Gemm", "transB and bias, as a linear layer", {{{33, 20}}, {{17, 20}}, {{17}}}, transposed(0, 1)},
      {"Gemm", "transA", {{{5, 3}}, {{5, 4}}, {{3, 1}}}, transposed(1, 0)},
      {"Gemm",
       "both transposed, alpha and beta",
       {{{5, 3}}, {{4, 5}}, {{3, 4}}},
       with(with(transposed(1, 1), "alpha", 0.5), "beta", -2.0)},
      {"Gemm", "scalar C", {{{1, 1}}, {{1, 1}}, {{}}}},
      {"Gemm", "larger than a block", {{{98, 259}}, {{259, 261}}}, {}, false},
      {"MatMul", "matrices", {{{3, 5}}, {{5, 4}}}},
      {"MatMul", "batches that broadcast", {{{2, 1, 3, 5}}, {{4, 5, 2}}}},
      {"MatMul", "vector times matrix", {{{5}}, {{2, 5, 3}}}},
      {"MatMul", "matrix times vector", {{{2, 3, 5}}, {{5}}}},
      {"MatMul", "dot product", {{{5}}, {{5}}}},
  };
}

std::vector<Sample> binaries() {
  std::vector<Sample> list;
  for (const char* op : {"Add", "Sub", "Mul", "Div"}) {
    const Fill divisor = std::string(op) == "Div" ? Fill::kPositive : Fill::kNormal;
    list.push_back({op, "equal shapes", {{{3, 37}}, {{3, 37}, divisor}}});
    list.push_back({op, "a row", {{{2, 3, 5}}, {{5}, divisor}}});
    list.push_back({op, "both repeat", {{{2, 1, 3}}, {{4, 1}, divisor}}});
    list.push_back({op, "scalars", {{{}}, {{}, divisor}}});
    list.push_back({op, "a scalar and a tensor", {{{}}, {{2, 3}, divisor}}});
    list.push_back({op, "enough for two threads", {{{70, 1001}}, {{70, 1001}, divisor}}, {}, false});
  }
  return list;
}

std::vector<Sample> activations() {
  std::vector<Sample> list;
  for (const std::string op : {"Relu", "Sigmoid", "Tanh"}) {
    const Fill y = op == "Relu" ? Fill::kRelu : Fill::kNormal;
    list.push_back({op, "odd sizes", {{{3, 7, 5}, Fill::kApart}}});
    list.push_back({op, "one element", {{{1}, Fill::kApart}}});
    list.push_back({op, "enough for two threads", {{{70, 1001}}}, {}, false});
    list.push_back({op + "Grad", "odd sizes", {{{3, 7, 5}}, {{3, 7, 5}, y}}});
    list.push_back({op + "Grad", "enough for two threads", {{{70, 1001}}, {{70, 1001}, y}}});
  }
  return list;
}

std::vector<Sample> softmaxes() {
  std::vector<Sample> list;
  for (const std::string op : {"Softmax", "LogSoftmax"}) {
    const Fill y = op == "Softmax" ? Fill::kPositive : Fill::kLogProbability;
    list.push_back({op, "last axis", {{{5, 11}}}});
    list.push_back({op, "middle axis", {{{2, 5, 3}}}, {{"axis", kOne}}});
    list.push_back({op, "one class", {{{4, 1}}}, {}, false});
    list.push_back({op + "Grad", "last axis", {{{5, 11}}, {{5, 11}, y}}});
    list.push_back({op + "Grad", "first axis", {{{5, 3}}, {{5, 3}, y}}, {{"axis", kZero}}});
  }
  list.push_back({"SoftmaxCrossEntropyLoss", "rows", {{{7, 3}}, {{7}, Fill::kLabels}}});
  list.push_back({"SoftmaxCrossEntropyLoss", "pixels", {{{2, 3, 2, 5}}, {{2, 2, 5}, Fill::kLabels}}});
  list.push_back(
      {"SoftmaxCrossEntropyLossGrad", "rows", {{{7, 3}, Fill::kLogProbability}, {{7}, Fill::kLabels}, {{}}}});
  list.push_back({"SoftmaxCrossEntropyLossGrad",
                  "pixels",
                  {{{2, 3, 2, 5}, Fill::kLogProbability}, {{2, 2, 5}, Fill::kLabels}, {{}}}});
  return list;
}

std::vector<Sample> shapes() {
  return {
      {"Flatten", "images", {{{2, 3, 4, 5}}}},
      {"Flatten", "everything into one row", {{{3, 4}}}, {{"axis", kZero}}},
      {"Flatten", "from the end", {{{2, 3, 4}}}, {{"axis", std::int64_t{-1}}}},
      {"Reshape", "copied and open dimensions", {{{2, 3, 4}}}, {{"shape", Ints{0, -1}}}},
      {"Reshape", "one element to a scalar", {{{1, 1}}}, {{"shape", Ints{}}}},
      {"Transpose", "reversed", {{{2, 3, 5}}}},
      {"Transpose", "permuted", {{{2, 3, 4, 5}}}, {{"perm", Ints{0, 2, 3, 1}}}},
      {"Transpose", "integers", {{{3, 4}, Fill::kIntegers}}},
      {"Identity", "odd sizes", {{{3, 5}}}},
      {"Identity", "integers", {{{4}, Fill::kIntegers}}},
      {"StopGradient", "odd sizes", {{{3, 5}}}},
      {"StopGradient", "integers", {{{4}, Fill::kIntegers}}},
      {"Cast", "to float64", {{{3, 5}}}, {{"to", std::int64_t{11}}}},
      {"Cast", "to int64", {{{3, 5}}}, {{"to", std::int64_t{7}}}, false},
      {"Cast", "integers to bool", {{{9}, Fill::kIntegers}}, {{"to", std::int64_t{9}}}},
      {"Allreduce", "a gradient", {{{3, 5}}}, {}, false},
      {"Allreduce", "a scalar", {{{}}}, {}, false},
  };
}

std::vector<Sample> reductions() {
  std::vector<Sample> list;
  for (const std::string op : {"ReduceSum", "ReduceMean"}) {
    list.push_back({op, "everything", {{{3, 5}}}, {{"keepdims", kZero}}});
    list.push_back({op, "a bias gradient", {{{4, 3, 5, 7}}}, axes({0, 2, 3}, 0)});
    list.push_back({op, "inner and outer", {{{2, 3, 5, 2}}}, axes({0, 2}, 1)});
    list.push_back({op, "last, from the end", {{{4, 33}}}, axes({-1}, 0)});
    list.push_back({op, "a scalar", {{{}}}});
    list.push_back(
        {op + "Grad", "from attribute shape", {{{3}}}, with(axes({0, 2}, 0), "shape", Ints{2, 3, 5})});
    list.push_back({op + "Grad", "from the input", {{{2, 1, 5}}, {{2, 3, 5}}}, axes({1}, 1)});
  }
  return list;
}

std::vector<Sample> trainingOps() {
  const Attributes momentum{{"momentum", 0.9}, {"weight_decay", 0.01}};
  return {
      {"Dropout", "half", {{{6, 7}}}, {{"ratio", 0.5}}},
      {"Dropout", "default ratio, enough for two threads", {{{70, 101}}}, {}, false},
      {"Dropout", "nothing dropped", {{{5}}}, {{"ratio", 0.0}}},
      {"DropoutGrad", "half", {{{6, 7}}, {{6, 7}, Fill::kMask}}, {{"ratio", 0.5}}},
      {"DropoutGrad", "one element", {{{}}, {{}, Fill::kMask}}, {{"ratio", 0.25}}},
      {"SgdUpdate", "plain", {{{5, 3}}, {{5, 3}}, {{}}}},
      {"SgdUpdate", "nesterov", {{{5, 3}}, {{5, 3}}, {{}}, {{5, 3}}}, with(momentum, "nesterov", kOne)},
      {"SgdUpdate", "a rate of its own", {{{5, 3}}, {{5, 3}}, {{}}}, {{"lr_factor", 0.1}}},
      {"SgdUpdate",
       "one of three micro batches",
       {{{70, 101}}, {{70, 101}}, {{}}, {{70, 101}}, {{}, Fill::kLabels}},
       with(momentum, "every", std::int64_t{3})},
      {"SgdUpdate", "momentum and weight decay", {{{70, 101}}, {{70, 101}}, {{}}, {{70, 101}}}, momentum},
  };
}

}  // namespace

const std::vector<Sample>& samples() {
  static const std::vector<Sample> all = [] {
    std::vector<Sample> list;
    for (auto part : {convolutions, pools, products, binaries, activations, softmaxes, shapes, reductions,
                      trainingOps, elementwiseSamples, rearrangingSamples, normalizationSamples})
      for (Sample& s : part()) list.push_back(std::move(s));
    return list;
  }();
  return all;
}

}  // namespace msdbg::test
