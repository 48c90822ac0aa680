#include "core_engine/ops/functions.h"

#include "core_engine/ops/onnx_dtype.h"

namespace msdbg::core {
namespace {

using Ints = std::vector<std::int64_t>;

Value binary(std::string_view op, Operand a, Operand b) {
  return applyOp1(op, {a.value, b.value}, {}, a.where);
}

/// The number as a scalar of the operand's dtype, on the operand's line.
Operand scalarLike(const Operand& like, double number) {
  return {constant(like.value.graph(), number, Shape{}, like.value.dtype(), like.where), like.where};
}

Value reduce(std::string_view op, Value x, Ints axes, bool keepdims, Where where) {
  Attributes attributes{{"keepdims", std::int64_t{keepdims}}};
  if (!axes.empty()) attributes["axes"] = std::move(axes);
  return applyOp1(op, {x}, std::move(attributes), where);
}

}  // namespace

Value relu(Value x, Where where) { return applyOp1("Relu", {x}, {}, where); }
Value sigmoid(Value x, Where where) { return applyOp1("Sigmoid", {x}, {}, where); }
Value tanh(Value x, Where where) { return applyOp1("Tanh", {x}, {}, where); }
Value softmax(Value x, std::int64_t axis, Where where) {
  return applyOp1("Softmax", {x}, {{"axis", axis}}, where);
}
Value logSoftmax(Value x, std::int64_t axis, Where where) {
  return applyOp1("LogSoftmax", {x}, {{"axis", axis}}, where);
}
Value identity(Value x, Where where) { return applyOp1("Identity", {x}, {}, where); }
Value cast(Value x, DType to, Where where) { return applyOp1("Cast", {x}, {{"to", onnxNumber(to)}}, where); }
Value dropout(Value x, double ratio, Where where) {
  return applyOp1("Dropout", {x}, {{"ratio", ratio}}, where);
}

Value maxPool(Value x, const PoolOptions& o, Where where) {
  const std::int64_t stride = o.stride == 0 ? o.kernel : o.stride;
  return applyOp1("MaxPool", {x},
                  {{"kernel_shape", Ints{o.kernel, o.kernel}},
                   {"strides", Ints{stride, stride}},
                   {"pads", Ints{o.pad, o.pad, o.pad, o.pad}}},
                  where);
}

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

Value reduceSum(Value x, Ints axes, bool keepdims, Where where) {
  return reduce("ReduceSum", x, std::move(axes), keepdims, where);
}
Value reduceMean(Value x, Ints axes, bool keepdims, Where where) {
  return reduce("ReduceMean", x, std::move(axes), keepdims, where);
}
Value matmul(Value a, Value b, Where where) { return applyOp1("MatMul", {a, b}, {}, where); }

Value softmaxCrossEntropy(Value logits, Value label, Where where) {
  return applyOp1("SoftmaxCrossEntropyLoss", {logits, label}, {}, where);
}

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
