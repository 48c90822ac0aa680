// Div: element by element, with NumPy broadcasting.
#include "core_engine/ops/broadcast.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/gradient.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferBroadcast("Div", inputs);
}

Gradients gradient(GradientBuilder& b) {
  Gradients gradients(2);
  const Value dy = *b.outputGradient(0);
  if (!b.wanted(0) && !b.wanted(1)) return gradients;
  const Value da = b.apply1("Div", {dy, b.input(1)});
  if (b.wanted(0)) gradients[0] = b.reduceTo(da, b.input(0).shape());
  if (b.wanted(1)) {  // d(a / b) / db = -(a / b) / b
    const Value sum = b.reduceTo(b.apply1("Mul", {da, b.output(0)}), b.input(1).shape());
    gradients[1] = b.apply1("Mul", {sum, b.constant(-1, sum.dtype())});
  }
  return gradients;
}

Status reference(const KernelArgs& args) {
  return mapBroadcast(args, [](double x, double y) { return x / y; });
}

}  // namespace

OpDef divOp() {
  return {.name = "Div",
          .doc = "C = A / B with NumPy broadcasting. ONNX Div-14",
          .minInputs = 2,
          .maxInputs = 2,
          .inputNames = {"A", "B"},
          .outputNames = {"C"},
          .infer = infer,
          .gradient = gradient,
          .reference = reference};
}

}  // namespace msdbg::core
