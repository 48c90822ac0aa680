// Sub: element by element, with NumPy broadcasting.
#include "core_engine/ops/broadcast.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/gradient.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferBroadcast("Sub", inputs);
}

Gradients gradient(GradientBuilder& b) {
  Gradients gradients(2);
  const Value dy = *b.outputGradient(0);
  if (b.wanted(0)) gradients[0] = b.reduceTo(dy, b.input(0).shape());
  if (b.wanted(1)) {
    const Value sum = b.reduceTo(dy, b.input(1).shape());
    gradients[1] = b.apply1("Mul", {sum, b.constant(-1, sum.dtype())});
  }
  return gradients;
}

Status reference(const KernelArgs& args) {
  return mapBroadcast(args, [](double x, double y) { return x - y; });
}

}  // namespace

OpDef subOp() {
  return {.name = "Sub",
          .doc = "C = A - B with NumPy broadcasting. ONNX Sub-14",
          .minInputs = 2,
          .maxInputs = 2,
          .inputNames = {"A", "B"},
          .outputNames = {"C"},
          .infer = infer,
          .gradient = gradient,
          .reference = reference};
}

}  // namespace msdbg::core
