// Values computed elsewhere: by NumPy 1.24 from the operators' formulas, or printed in ONNX's operator
// documentation.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/ops/samples.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
using List = std::vector<double>;

Tensor counting(const Shape& shape, double from = 0) {
  List values(static_cast<std::size_t>(shape.elements()));
  std::iota(values.begin(), values.end(), from);
  return tensorOf(shape, values);
}

Tensor ones(const Shape& shape) {
  return tensorOf(shape, List(static_cast<std::size_t>(shape.elements()), 1.0));
}

void check(const Tensor& got, const Shape& shape, const List& wanted) {
  CHECK(got.shape() == shape);
  REQUIRE(static_cast<std::size_t>(got.elements()) == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    CHECK(got.at(static_cast<std::int64_t>(i)) == Approx(wanted[i]).epsilon(1e-14).margin(1e-15));
}

const Tensor kLogits = tensorOf({2, 3}, {1, 2, -1, 0.5, -0.5, 3});
const List kSoftmax = {0.2594964603424192,  0.7053845126982412,  0.03511902695933972,
                       0.07379870431184087, 0.02714902610141652, 0.8990522695867426};
const List kLogSoftmax = {-1.3490122167681862, -0.34901221676818617, -3.349012216768186,
                          -2.6064141042799553, -3.6064141042799553,  -0.10641410427995535};

}  // namespace

TEST_CASE("Conv gives the values of ONNX's examples") {
  const Tensor square = counting({1, 1, 5, 5}), tall = counting({1, 1, 7, 5}), w = ones({1, 1, 3, 3});
  check(callOp("Conv", {square, w}, {{"pads", Ints{1, 1, 1, 1}}})[0], {1, 1, 5, 5},
        {12,  21, 27, 33,  24,  33,  54,  63, 72,  51,  63,  99, 108,
         117, 81, 93, 144, 153, 162, 111, 72, 111, 117, 123, 84});
  check(callOp("Conv", {tall, w}, {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}})[0], {1, 1, 4, 3},
        {12, 27, 24, 63, 108, 81, 123, 198, 141, 112, 177, 124});
  check(callOp("Conv", {tall, w}, {{"pads", Ints{1, 0, 1, 0}}, {"strides", Ints{2, 2}}})[0], {1, 1, 4, 2},
        {21, 33, 99, 117, 189, 207, 171, 183});
}

TEST_CASE("MaxPool gives the values of ONNX's examples") {
  const Tensor x = counting({1, 1, 5, 5}, 1);
  check(callOp("MaxPool", {x}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}})[0], {1, 1, 2, 2},
        {7, 9, 17, 19});
  check(callOp("MaxPool", {x}, {{"kernel_shape", Ints{5, 5}}, {"pads", Ints{2, 2, 2, 2}}})[0], {1, 1, 5, 5},
        {13, 14, 15, 15, 15, 18, 19, 20, 20, 20, 23, 24, 25, 25, 25, 23, 24, 25, 25, 25, 23, 24, 25, 25, 25});
}

TEST_CASE("MaxPool propagates NaN, and padding never wins over negative numbers") {
  const Attributes attributes{{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};
  const Tensor y =
      callOp("MaxPool", {tensorOf({1, 1, 2, 4}, {5, kNan, 1, 2, 9, 7, 3, -kInf})}, attributes)[0];
  CHECK(std::isnan(y.at(0)));
  CHECK(y.at(1) == 3);
  const Tensor padded = callOp("MaxPool", {tensorOf({1, 1, 1, 1}, {-4})},
                               {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}})[0];
  CHECK(valuesOf(padded) == List{-4, -4, -4, -4});
}

TEST_CASE(
    "MaxPoolGrad gives a tie to its first element, a NaN to the first NaN, and adds up overlapping windows") {
  const Attributes attributes{{"kernel_shape", Ints{2, 2}}};
  const auto grad = [&](const List& x, const List& dy) {
    const Tensor in = tensorOf({1, 1, 2, 3}, x);
    return valuesOf(callOp("MaxPoolGrad",
                           {in, callOp("MaxPool", {in}, attributes)[0], tensorOf({1, 1, 1, 2}, dy)},
                           attributes)[0]);
  };
  CHECK(grad({1, 1, 0, 1, 1, 1}, {10, 20}) == List{10, 20, 0, 0, 0, 0});
  CHECK(grad({1, 3, 0, 1, 1, 1}, {10, 20}) == List{0, 30, 0, 0, 0, 0});
  CHECK(grad({1, 3, 0, kNan, kNan, 1}, {10, 20}) == List{0, 0, 0, 10, 20, 0});
}

TEST_CASE("Gemm and MatMul give NumPy's values") {
  const Tensor a = counting({2, 3}), b = counting({3, 4}, -5), c = tensorOf({4}, {1, 2, 3, 4});
  const Attributes scale{{"alpha", 0.5}, {"beta", -2.0}};
  check(callOp("Gemm", {a, b, c}, scale)[0], {2, 4}, {0.5, 0, -0.5, -1, -4, 0, 4, 8});
  const Tensor batch = counting({2, 2, 3});
  check(callOp("MatMul", {batch, tensorOf({3, 2}, {1, -1, 2, 0, 0.5, 3})})[0], {2, 2, 2},
        {3, 6, 13.5, 12, 24, 18, 34.5, 24});
  check(callOp("MatMul", {batch, tensorOf({3}, {1, 2, 3})})[0], {2, 2}, {8, 26, 44, 62});
  check(callOp("MatMul", {tensorOf({2}, {1, 2}), batch})[0], {2, 3}, {6, 9, 12, 24, 27, 30});
}

TEST_CASE("Activations and their gradients give NumPy's values") {
  const Tensor x = tensorOf({3}, {-2, 0, 0.5}), dy = tensorOf({3}, {1, 2, 3});
  const Tensor s = callOp("Sigmoid", {x})[0], t = callOp("Tanh", {x})[0], r = callOp("Relu", {x})[0];
  check(s, {3}, {0.11920292202211755, 0.5, 0.6224593312018546});
  check(t, {3}, {-0.9640275800758169, 0, 0.46211715726000974});
  check(r, {3}, {0, 0, 0.5});
  check(callOp("SigmoidGrad", {dy, s})[0], {3}, {0.1049935854035065, 0.5, 0.7050111366047835});
  check(callOp("TanhGrad", {dy, t})[0], {3}, {0.07065082485316443, 2, 2.359343198897782});
  check(callOp("ReluGrad", {dy, r})[0], {3}, {0, 0, 3});
}

TEST_CASE("Relu keeps NaN and its gradient passes there") {
  const Tensor y = callOp("Relu", {tensorOf({4}, {kNan, kInf, -kInf, -0.0})})[0];
  CHECK(std::isnan(y.at(0)));
  CHECK(y.at(1) == kInf);
  CHECK(y.at(2) == 0);
  CHECK_FALSE(std::signbit(y.at(3)));
  CHECK(valuesOf(callOp("ReluGrad", {tensorOf({4}, {1, 2, 3, 4}), y})[0]) == List{1, 2, 0, 0});
}

TEST_CASE("Softmax, LogSoftmax and their gradients give NumPy's values") {
  const Tensor dy = tensorOf({2, 3}, {1, -1, 2, 0, 3, 1});
  check(callOp("Softmax", {kLogits})[0], {2, 3}, kSoftmax);
  check(callOp("LogSoftmax", {kLogits})[0], {2, 3}, kLogSoftmax);
  check(callOp("SoftmaxGrad", {dy, tensorOf({2, 3}, kSoftmax)})[0], {2, 3},
        {0.356976305264493, -0.44040682160556227, 0.08343051634106938, -0.07235958145296012,
         0.05482747591593515, 0.01753210553702502});
  check(callOp("LogSoftmaxGrad", {dy, tensorOf({2, 3}, kLogSoftmax)})[0], {2, 3},
        {0.4810070793151616, -2.4107690253964824, 1.9297619460813205, -0.2951948172473635, 2.8914038955943338,
         -2.5962090783469716});
}

TEST_CASE("Softmax of huge logits neither overflows nor loses the small ones") {
  check(callOp("Softmax", {tensorOf({3}, {1e300, 1e300, -1e300})})[0], {3}, {0.5, 0.5, 0});
  check(callOp("LogSoftmax", {tensorOf({2}, {1000, 0})})[0], {2}, {0, -1000});
  for (double v : valuesOf(callOp("Softmax", {tensorOf({2}, {kInf, 0})})[0]))
    CHECK((std::isnan(v) || v == 0));
}

TEST_CASE("SoftmaxCrossEntropyLoss and its gradient give NumPy's values") {
  const Tensor labels = labelsOf({1, 2});
  const auto out = callOp("SoftmaxCrossEntropyLoss", {kLogits, labels});
  check(out[0], {}, {0.22771316052407076});
  check(out[1], {2, 3}, kLogSoftmax);
  check(callOp("SoftmaxCrossEntropyLossGrad", {out[1], labels, tensorOf({}, {2})})[0], {2, 3},
        {0.2594964603424192, -0.2946154873017588, 0.03511902695933972, 0.07379870431184087,
         0.02714902610141652, -0.10094773041325744});
}

TEST_CASE("A label outside the classes is an error that names node and row") {
  for (std::int64_t bad : {std::int64_t{-1}, std::int64_t{3}, INT64_MIN}) {
    const Tensor labels = labelsOf({1, bad});
    CHECK_THROWS_WITH(callOp("SoftmaxCrossEntropyLoss", {kLogits, labels}),
                      Catch::Contains("SoftmaxCrossEntropyLoss-op1") &&
                          Catch::Contains("row 1 is " + std::to_string(bad)) && Catch::Contains("3 classes"));
    CHECK_THROWS_WITH(callOp("SoftmaxCrossEntropyLossGrad", {kLogits, labels, tensorOf({}, {1})}),
                      Catch::Contains("row 1"));
  }
}

TEST_CASE("Arithmetic broadcasts as in NumPy") {
  const Tensor column = tensorOf({2, 1}, {6, 8}), row = tensorOf({3}, {1, 2, 4});
  check(callOp("Add", {column, row})[0], {2, 3}, {7, 8, 10, 9, 10, 12});
  check(callOp("Sub", {column, row})[0], {2, 3}, {5, 4, 2, 7, 6, 4});
  check(callOp("Mul", {column, row})[0], {2, 3}, {6, 12, 24, 8, 16, 32});
  check(callOp("Div", {column, row})[0], {2, 3}, {6, 3, 1.5, 8, 4, 2});
}

TEST_CASE("Reductions, their gradients and Transpose give NumPy's values") {
  const Tensor x = counting({2, 3, 4});
  const Attributes outer{{"axes", Ints{0, 2}}, {"keepdims", std::int64_t{0}}}, middle{{"axes", Ints{1}}};
  check(callOp("ReduceSum", {x}, outer)[0], {3}, {60, 92, 124});
  check(callOp("ReduceMean", {x}, middle)[0], {2, 1, 4}, {4, 5, 6, 7, 16, 17, 18, 19});
  Attributes shaped = outer;
  shaped["shape"] = Ints{2, 3, 2};
  const Tensor dy = tensorOf({3}, {4, 8, 12});
  check(callOp("ReduceSumGrad", {dy}, shaped)[0], {2, 3, 2}, {4, 4, 8, 8, 12, 12, 4, 4, 8, 8, 12, 12});
  check(callOp("ReduceMeanGrad", {dy}, shaped)[0], {2, 3, 2}, {1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3});
  check(callOp("Transpose", {x}, {{"perm", Ints{2, 0, 1}}})[0], {4, 2, 3},
        {0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21, 2, 6, 10, 14, 18, 22, 3, 7, 11, 15, 19, 23});
}

TEST_CASE("Shape operators keep the elements in order") {
  const Tensor x = counting({2, 3, 4});
  CHECK(callOp("Flatten", {x})[0].shape() == Shape{2, 12});
  CHECK(callOp("Flatten", {x}, {{"axis", std::int64_t{-1}}})[0].shape() == Shape{6, 4});
  CHECK(callOp("Flatten", {tensorOf({}, {1})}, {{"axis", std::int64_t{0}}})[0].shape() == Shape{1, 1});
  check(callOp("Reshape", {x}, {{"shape", Ints{1, -1, 0}}})[0], {1, 6, 4}, valuesOf(x));
  check(callOp("Reshape", {x}, {{"shape", Ints{0, -1}}})[0], {2, 12}, valuesOf(x));
}

TEST_CASE("Cast truncates, saturates, and knows NaN") {
  const Tensor x = tensorOf({6}, {1.9, -1.9, kNan, kInf, -kInf, 0});
  CHECK(valuesOf(callOp("Cast", {x}, {{"to", std::int64_t{6}}})[0]) ==
        List{1, -1, 0, 2147483647.0, -2147483648.0, 0});
  const Tensor wide = callOp("Cast", {x}, {{"to", std::int64_t{7}}})[0];
  CHECK(wide.data<std::int64_t>()[3] == INT64_MAX);
  CHECK(wide.data<std::int64_t>()[4] == INT64_MIN);
  CHECK(valuesOf(callOp("Cast", {x}, {{"to", std::int64_t{9}}})[0]) == List{1, 1, 1, 1, 1, 0});
  CHECK(valuesOf(callOp("Cast", {tensorOf({3}, {-1, 300, 254.7})}, {{"to", std::int64_t{2}}})[0]) ==
        List{0, 255, 254});
}

TEST_CASE("SgdUpdate is PyTorch's formula") {
  const Tensor p = tensorOf({2}, {1, -2}), g = tensorOf({2}, {0.5, 0.25}), v = tensorOf({2}, {0.1, -0.2}),
               lr = tensorOf({}, {0.1});
  check(callOp("SgdUpdate", {p, g, lr})[0], {2}, {0.95, -2.025});
  const auto out = callOp("SgdUpdate", {p, g, lr, v}, {{"momentum", 0.9}, {"weight_decay", 0.01}});
  check(out[0], {2}, {0.94, -2.005});
  check(out[1], {2}, {0.6, 0.05});
}

TEST_CASE("float32 sums are kept in double: a million tenths do not drift") {
  Tensor tenths(DType::Float32, Shape{1 << 20});
  for (float& value : tenths.data<float>()) value = 0.1f;
  const Tensor sum = callOp("ReduceSum", {tenths}, {{"keepdims", std::int64_t{0}}})[0];
  CHECK(sum.at(0) == static_cast<double>(static_cast<float>(static_cast<double>(0.1f) * (1 << 20))));
  const Tensor dot = callOp("MatMul", {tenths, callOp("Div", {tenths, tenths})[0]})[0];
  CHECK(dot.at(0) == sum.at(0));
}
