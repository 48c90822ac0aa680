// Pow: X to the power of Y, element by element, with NumPy broadcasting. The gradient follows PyTorch where
// the formula has none: d/dX is 0 where Y is 0, d/dY is 0 where X is 0.
#include <cmath>

#include "core_engine/ops/broadcast.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/gradient.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferBroadcast("Pow", inputs);
}

/// `value` where `at` is not 0, else 0.
Value unlessZero(GradientBuilder& b, Value at, Value value) {
  const Value zero = b.constant(0, value.dtype());
  return b.apply1("Where", {b.apply1("Equal", {at, zero}), zero, value});
}

/// dY * Y * X^(Y - 1)
Value gradientOfBase(GradientBuilder& b, Value dy) {
  const Value x = b.input(0), y = b.input(1);
  const Value power = b.apply1("Pow", {x, b.apply1("Sub", {y, b.constant(1, y.dtype())})});
  return unlessZero(b, y, b.apply1("Mul", {dy, b.apply1("Mul", {y, power})}));
}

/// dY * Z * ln(X)
Value gradientOfExponent(GradientBuilder& b, Value dy) {
  const Value slope = b.apply1("Mul", {b.output(0), b.apply1("Log", {b.input(0)})});
  return unlessZero(b, b.input(0), b.apply1("Mul", {dy, slope}));
}

Gradients gradient(GradientBuilder& b) {
  Gradients gradients(2);
  const Value dy = *b.outputGradient(0);
  if (b.wanted(0)) gradients[0] = b.reduceTo(gradientOfBase(b, dy), b.input(0).shape());
  if (b.wanted(1)) gradients[1] = b.reduceTo(gradientOfExponent(b, dy), b.input(1).shape());
  return gradients;
}

Status reference(const KernelArgs& args) {
  return mapBroadcast(args, [](double x, double y) { return std::pow(x, y); });
}

}  // namespace

OpDef powOp() {
  return {.name = "Pow",
          .doc = "Z = X to the power of Y with NumPy broadcasting. ONNX Pow-15 with X and Y of one dtype",
          .minInputs = 2,
          .maxInputs = 2,
          .inputNames = {"X", "Y"},
          .outputNames = {"Z"},
          .infer = infer,
          .gradient = gradient,
          .reference = reference};
}

}  // namespace msdbg::core
