// Mul: element by element, with NumPy broadcasting.
#include "core_engine/ops/broadcast.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/gradient.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferBroadcast("Mul", inputs);
}

Gradients gradient(GradientBuilder& b) {
  Gradients gradients(2);
  const Value dy = *b.outputGradient(0);
  if (b.wanted(0)) gradients[0] = b.reduceTo(b.apply1("Mul", {dy, b.input(1)}), b.input(0).shape());
  if (b.wanted(1)) gradients[1] = b.reduceTo(b.apply1("Mul", {dy, b.input(0)}), b.input(1).shape());
  return gradients;
}

Status reference(const KernelArgs& args) {
  return mapBroadcast(args, [](double x, double y) { return x * y; });
}

}  // namespace

OpDef mulOp() {
  return {.name = "Mul",
          .doc = "C = A * B with NumPy broadcasting. ONNX Mul-14",
          .minInputs = 2,
          .maxInputs = 2,
          .inputNames = {"A", "B"},
          .outputNames = {"C"},
          .infer = infer,
          .gradient = gradient,
          .reference = reference};
}

}  // namespace msdbg::core
