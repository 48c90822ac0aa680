// Clip: Y = min(max(X, min), max); NaN stays NaN.
#include "core_engine/ops/clip.h"
#include "core_engine/ops/unary.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("Clip", inputs, {"X"});
}

Gradients gradient(GradientBuilder& b) { return gradientFromInput(b, "ClipGrad"); }

Status reference(const KernelArgs& args) {
  const ClipRange r = clipRange(args.node.attributes);
  return mapUnary(args, [r](double x) { return clamped(x, r.low, r.high); });
}

}  // namespace

OpDef clipOp() {
  OpDef op =
      unaryOp("Clip", "Y = min(max(X, min), max); NaN stays NaN. ONNX Clip-13 with the ends as attributes",
              infer, gradient, reference);
  op.attributes = clipAttributes();
  return op;
}

}  // namespace msdbg::core
