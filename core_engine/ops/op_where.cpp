// Where: X where the condition holds, else Y, with NumPy broadcasting of all three.
#include "core_engine/ops/broadcast.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  MSDBG_TRY(checkInputs("Where", inputs, {"condition", "X", "Y"}));
  MSDBG_TRY(checkDType("Where", "condition", inputs[0], DType::Bool));
  MSDBG_TRY(checkDType("Where", "Y", inputs[2], inputs[1].dtype));
  Shape shape = inputs[0].shape;
  MSDBG_TRY(widenShape("Where", "X", inputs[1], shape));
  MSDBG_TRY(widenShape("Where", "Y", inputs[2], shape));
  return std::vector<TensorType>{{inputs[1].dtype, shape}};
}

Gradients gradient(GradientBuilder& b) {
  Gradients gradients(3);
  const Value dy = *b.outputGradient(0), condition = b.input(0);
  if (!b.wanted(1) && !b.wanted(2)) return gradients;
  const Value zero = b.constant(0, dy.dtype());
  if (b.wanted(1)) gradients[1] = b.reduceTo(b.apply1("Where", {condition, dy, zero}), b.input(1).shape());
  if (b.wanted(2)) gradients[2] = b.reduceTo(b.apply1("Where", {condition, zero, dy}), b.input(2).shape());
  return gradients;
}

template <typename T>
void run(const KernelArgs& args) {
  const Shape& shape = args.outputs[0]->shape();
  const Broadcast<bool> condition(*args.inputs[0], shape);
  const Broadcast<T> left(*args.inputs[1], shape), right(*args.inputs[2], shape);
  T* y = args.outputs[0]->data<T>().data();
  forRows(shape, args.state.threads, [&](std::int64_t first, std::int64_t length) {
    const bool* c = condition.at(first);
    const T *a = left.at(first), *b = right.at(first);
    for (std::int64_t i = 0; i < length; ++i)
      y[first + i] = c[i * condition.step()] ? a[i * left.step()] : b[i * right.step()];
  });
}

Status reference(const KernelArgs& args) {
  visitComputed(args.outputs[0]->dtype(), [&](auto zero) { run<decltype(zero)>(args); });
  return Ok{};
}

}  // namespace

OpDef whereOp() {
  return {.name = "Where",
          .doc = "output = X where condition, else Y; any dtype, all three broadcast. ONNX Where-16",
          .minInputs = 3,
          .maxInputs = 3,
          .inputNames = {"condition", "X", "Y"},
          .outputNames = {"output"},
          .dataTypes = DataTypes::kAny,
          .infer = infer,
          .gradient = gradient,
          .reference = reference};
}

}  // namespace msdbg::core
