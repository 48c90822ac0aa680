// Sigmoid: Y = 1 / (1 + exp(-X)).
#include <cmath>

#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("Sigmoid", inputs, {"X"});
}

Gradients gradient(GradientBuilder& b) { return unaryGradient(b, "SigmoidGrad", {b.output(0)}); }

Status reference(const KernelArgs& args) {
  return mapUnary(args, [](double x) { return 1 / (1 + std::exp(-x)); });
}

}  // namespace

OpDef sigmoidOp() {
  return {.name = "Sigmoid",
          .doc = "Y = 1 / (1 + exp(-X)). ONNX Sigmoid-13",
          .inputNames = {"X"},
          .outputNames = {"Y"},
          .infer = infer,
          .gradient = gradient,
          .reference = reference,
          .activation = true};
}

}  // namespace msdbg::core
