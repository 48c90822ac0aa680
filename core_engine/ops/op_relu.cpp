// Relu: Y = max(X, 0); NaN stays NaN.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("Relu", inputs, {"X"});
}

Gradients gradient(GradientBuilder& b) { return unaryGradient(b, "ReluGrad", {b.output(0)}); }

Status reference(const KernelArgs& args) {
  return mapUnary(args, [](double x) { return x <= 0 ? 0.0 : x; });
}

}  // namespace

OpDef reluOp() {
  return {.name = "Relu",
          .doc = "Y = max(X, 0); NaN stays NaN. ONNX Relu-14",
          .inputNames = {"X"},
          .outputNames = {"Y"},
          .infer = infer,
          .gradient = gradient,
          .reference = reference,
          .activation = true};
}

}  // namespace msdbg::core
