#include "core_engine/ops/functions.h"

#include "core_engine/base/text.h"
#include "core_engine/graph/precision.h"
#include "core_engine/ops/onnx_dtype.h"

namespace msdbg::core {
namespace {

using Ints = std::vector<std::int64_t>;

Value binary(std::string_view op, Operand a, Operand b) {
  return applyOp1(op, {a.value, b.value}, {}, a.where);
}

[[noreturn]] void refuse(const std::string& what, const Where& where) {
  throw BuildError(what + " (" + frameFrom(where).file + ":" + std::to_string(where.line()) + ")");
}

/// What the caller wrote, by the caller's name for it; the operator would name its ONNX attribute.
void checkOption(const std::string& option, std::int64_t value, std::int64_t least, const Where& where) {
  if (value < least)
    refuse(
        option + " is " + std::to_string(value) + ", but at least " + std::to_string(least) + " was expected",
        where);
}

/// The number as a scalar of the operand's dtype, on the operand's line; in mixed precision not rounded.
Operand scalarLike(const Operand& like, double number) {
  if (!like.value.valid()) refuse("the Value beside " + formatDouble(number) + " is empty", like.where);
  Graph& graph = like.value.graph();
  const DType dtype = graph.lowerPrecision() ? parameterDType(like.value) : like.value.dtype();
  return {constant(graph, number, Shape{}, dtype, like.where), like.where};
}

Value reduce(std::string_view op, Value x, Ints axes, bool keepdims, Where where) {
  Attributes attributes{{"keepdims", std::int64_t{keepdims}}};
  if (!axes.empty()) attributes["axes"] = std::move(axes);
  return applyOp1(op, {x}, std::move(attributes), where);
}

Attributes poolAttributes(const std::string& pool, const PoolOptions& o, const Where& where) {
  checkOption(pool + ": .kernel", o.kernel, 1, where);
  checkOption(pool + ": .stride", o.stride, 0, where);
  checkOption(pool + ": .pad", o.pad, 0, where);
  const std::int64_t stride = o.stride == 0 ? o.kernel : o.stride;
  return {{"kernel_shape", Ints{o.kernel, o.kernel}},
          {"strides", Ints{stride, stride}},
          {"pads", Ints{o.pad, o.pad, o.pad, o.pad}}};
}

}  // namespace

Value relu(Value x, Where where) { return applyOp1("Relu", {x}, {}, where); }
Value sigmoid(Value x, Where where) { return applyOp1("Sigmoid", {x}, {}, where); }
Value tanh(Value x, Where where) { return applyOp1("Tanh", {x}, {}, where); }
Value gelu(Value x, Where where) { return applyOp1("Gelu", {x}, {}, where); }
Value leakyRelu(Value x, double alpha, Where where) {
  return applyOp1("LeakyRelu", {x}, {{"alpha", alpha}}, where);
}
Value elu(Value x, double alpha, Where where) { return applyOp1("Elu", {x}, {{"alpha", alpha}}, where); }
Value hardSigmoid(Value x, Where where) { return applyOp1("HardSigmoid", {x}, {}, where); }
Value hardSwish(Value x, Where where) { return applyOp1("HardSwish", {x}, {}, where); }
Value exp(Value x, Where where) { return applyOp1("Exp", {x}, {}, where); }
Value log(Value x, Where where) { return applyOp1("Log", {x}, {}, where); }
Value sqrt(Value x, Where where) { return applyOp1("Sqrt", {x}, {}, where); }
Value erf(Value x, Where where) { return applyOp1("Erf", {x}, {}, where); }
Value abs(Value x, Where where) { return applyOp1("Abs", {x}, {}, where); }
Value sin(Value x, Where where) { return applyOp1("Sin", {x}, {}, where); }
Value cos(Value x, Where where) { return applyOp1("Cos", {x}, {}, where); }
Value softplus(Value x, Where where) { return applyOp1("Softplus", {x}, {}, where); }
Value clip(Value x, double min, double max, Where where) {
  return applyOp1("Clip", {x}, {{"min", min}, {"max", max}}, where);
}
Value softmax(Value x, std::int64_t axis, Where where) {
  return applyOp1("Softmax", {x}, {{"axis", axis}}, where);
}
Value logSoftmax(Value x, std::int64_t axis, Where where) {
  return applyOp1("LogSoftmax", {x}, {{"axis", axis}}, where);
}
Value identity(Value x, Where where) { return applyOp1("Identity", {x}, {}, where); }
Value stopGradient(Value x, Where where) { return applyOp1("StopGradient", {x}, {}, where); }
Value cast(Value x, DType to, Where where) { return applyOp1("Cast", {x}, {{"to", onnxNumber(to)}}, where); }
Value dropout(Value x, double ratio, Where where) {
  return applyOp1("Dropout", {x}, {{"ratio", ratio}}, where);
}

Value maxPool(Value x, const PoolOptions& o, Where where) {
  return applyOp1("MaxPool", {x}, poolAttributes("maxPool", o, where), where);
}
Value averagePool(Value x, const PoolOptions& o, Where where) {
  return applyOp1("AveragePool", {x}, poolAttributes("averagePool", o, where), where);
}
Value globalAveragePool(Value x, Where where) { return applyOp1("GlobalAveragePool", {x}, {}, where); }

Value flatten(Value x, std::int64_t axis, Where where) {
  return applyOp1("Flatten", {x}, {{"axis", axis}}, where);
}

Value reshape(Value x, Shape shape, Where where) {
  return applyOp1("Reshape", {x}, {{"shape", Ints(shape.dims().begin(), shape.dims().end())}}, where);
}

Value transpose(Value x, Ints perm, Where where) {
  Attributes attributes;
  if (!perm.empty()) attributes["perm"] = std::move(perm);
  return applyOp1("Transpose", {x}, std::move(attributes), where);
}

Value squeeze(Value x, Ints axes, Where where) {
  Attributes attributes;
  if (!axes.empty()) attributes["axes"] = std::move(axes);
  return applyOp1("Squeeze", {x}, std::move(attributes), where);
}
Value unsqueeze(Value x, Ints axes, Where where) {
  return applyOp1("Unsqueeze", {x}, {{"axes", std::move(axes)}}, where);
}
Value expand(Value x, Shape shape, Where where) {
  return applyOp1("Expand", {x}, {{"shape", Ints(shape.dims().begin(), shape.dims().end())}}, where);
}

Value concat(std::initializer_list<Value> parts, std::int64_t axis, Where where) {
  return applyOp1("Concat", parts, {{"axis", axis}}, where);
}
Value concat(std::span<const Value> parts, std::int64_t axis, Where where) {
  return applyOp("Concat", parts, {{"axis", axis}}, where).front();
}
std::vector<Value> split(Value x, std::int64_t count, std::int64_t axis, Where where) {
  checkOption("split: count", count, 1, where);
  return applyOp("Split", {&x, 1}, {{"axis", axis}, {"num_outputs", count}}, where);
}
Value slice(Value x, std::int64_t axis, std::int64_t start, std::int64_t end, std::int64_t step,
            Where where) {
  return applyOp1("Slice", {x},
                  {{"starts", Ints{start}}, {"ends", Ints{end}}, {"axes", Ints{axis}}, {"steps", Ints{step}}},
                  where);
}
Value gather(Value data, Value indices, std::int64_t axis, Where where) {
  return applyOp1("Gather", {data, indices}, {{"axis", axis}}, where);
}
Value pad(Value x, Ints pads, double value, Where where) {
  return applyOp1("Pad", {x}, {{"pads", std::move(pads)}, {"value", value}}, where);
}
Value trilu(Value x, bool upper, std::int64_t k, Where where) {
  return applyOp1("Trilu", {x}, {{"upper", std::int64_t{upper}}, {"k", k}}, where);
}
Value range(Graph& graph, std::int64_t count, Where where) {
  const auto number = [&](double value) { return constant(graph, value, Shape{}, DType::Int64, where); };
  return applyOp1("Range", {number(0), number(static_cast<double>(count)), number(1)}, {{"length", count}},
                  where);
}

Value oneHot(Value ids, std::int64_t depth, std::int64_t axis, Where where) {
  Attributes attributes{{"depth", depth}, {"axis", axis}};
  if (ids.valid()) attributes["to"] = onnxNumber(ids.graph().floatingDType());
  return applyOp1("OneHot", {ids}, std::move(attributes), where);
}
Value argMax(Value x, std::int64_t axis, bool keepdims, Where where) {
  return applyOp1("ArgMax", {x}, {{"axis", axis}, {"keepdims", std::int64_t{keepdims}}}, where);
}
Value reduceMax(Value x, Ints axes, bool keepdims, Where where) {
  return reduce("ReduceMax", x, std::move(axes), keepdims, where);
}
Value reduceMin(Value x, Ints axes, bool keepdims, Where where) {
  return reduce("ReduceMin", x, std::move(axes), keepdims, where);
}
Value reduceSum(Value x, Ints axes, bool keepdims, Where where) {
  return reduce("ReduceSum", x, std::move(axes), keepdims, where);
}
Value reduceMean(Value x, Ints axes, bool keepdims, Where where) {
  return reduce("ReduceMean", x, std::move(axes), keepdims, where);
}
Value reduceSumSquare(Value x, Ints axes, bool keepdims, Where where) {
  return reduce("ReduceSumSquare", x, std::move(axes), keepdims, where);
}
Value matmul(Value a, Value b, Where where) { return applyOp1("MatMul", {a, b}, {}, where); }

Value pow(Value x, Value y, Where where) { return applyOp1("Pow", {x, y}, {}, where); }
Value pow(Value x, double y, Where where) { return pow(x, scalarLike({x, where}, y).value, where); }
Value max(Value a, Value b, Where where) { return applyOp1("Max", {a, b}, {}, where); }
Value max(Value a, double b, Where where) { return max(a, scalarLike({a, where}, b).value, where); }
Value min(Value a, Value b, Where where) { return applyOp1("Min", {a, b}, {}, where); }
Value min(Value a, double b, Where where) { return min(a, scalarLike({a, where}, b).value, where); }
Value equal(Value a, Value b, Where where) { return applyOp1("Equal", {a, b}, {}, where); }
Value greater(Value a, Value b, Where where) { return applyOp1("Greater", {a, b}, {}, where); }
Value greaterOrEqual(Value a, Value b, Where where) { return applyOp1("GreaterOrEqual", {a, b}, {}, where); }
Value less(Value a, Value b, Where where) { return applyOp1("Less", {a, b}, {}, where); }
Value lessOrEqual(Value a, Value b, Where where) { return applyOp1("LessOrEqual", {a, b}, {}, where); }
Value logicalAnd(Value a, Value b, Where where) { return applyOp1("And", {a, b}, {}, where); }
Value logicalOr(Value a, Value b, Where where) { return applyOp1("Or", {a, b}, {}, where); }
Value logicalXor(Value a, Value b, Where where) { return applyOp1("Xor", {a, b}, {}, where); }
Value logicalNot(Value x, Where where) { return applyOp1("Not", {x}, {}, where); }
Value where(Value condition, Value x, Value y, Where where) {
  return applyOp1("Where", {condition, x, y}, {}, where);
}

Value softmaxCrossEntropy(Value logits, Value label, Where where) {
  return applyOp1("SoftmaxCrossEntropyLoss", {logits, label}, {}, where);
}

Value operator-(Operand x) { return applyOp1("Neg", {x.value}, {}, x.where); }
Value operator+(Operand a, Operand b) { return binary("Add", a, b); }
Value operator-(Operand a, Operand b) { return binary("Sub", a, b); }
Value operator*(Operand a, Operand b) { return binary("Mul", a, b); }
Value operator/(Operand a, Operand b) { return binary("Div", a, b); }
Value operator+(Operand a, double b) { return binary("Add", a, scalarLike(a, b)); }
Value operator-(Operand a, double b) { return binary("Sub", a, scalarLike(a, b)); }
Value operator*(Operand a, double b) { return binary("Mul", a, scalarLike(a, b)); }
Value operator/(Operand a, double b) { return binary("Div", a, scalarLike(a, b)); }
Value operator+(double a, Operand b) { return binary("Add", scalarLike(b, a), b); }
Value operator-(double a, Operand b) { return binary("Sub", scalarLike(b, a), b); }
Value operator*(double a, Operand b) { return binary("Mul", scalarLike(b, a), b); }
Value operator/(double a, Operand b) { return binary("Div", scalarLike(b, a), b); }

}  // namespace msdbg::core
