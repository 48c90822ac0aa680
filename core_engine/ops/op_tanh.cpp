// Tanh: Y = tanh(X).
#include <cmath>

#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("Tanh", inputs, {"X"});
}

Gradients gradient(GradientBuilder& b) { return unaryGradient(b, "TanhGrad", {b.output(0)}); }

Status reference(const KernelArgs& args) {
  return mapUnary(args, [](double x) { return std::tanh(x); });
}

}  // namespace

OpDef tanhOp() {
  return {.name = "Tanh",
          .doc = "Y = tanh(X). ONNX Tanh-13",
          .inputNames = {"X"},
          .outputNames = {"Y"},
          .infer = infer,
          .gradient = gradient,
          .reference = reference,
          .activation = true};
}

}  // namespace msdbg::core
