// ReduceSum: Y = sum of X over axes (all by default), in row-major order.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/reduction.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  return inferReduction("ReduceSum", inputs, attributes);
}

Gradients gradient(GradientBuilder& b) { return reductionGradient(b, "ReduceSumGrad"); }

Status reference(const KernelArgs& args) { return reduceInput(args, false); }

}  // namespace

OpDef reduceSumOp() {
  return {.name = "ReduceSum",
          .doc =
              "Y = sum of X over axes (all by default), in row-major order. ONNX ReduceSum-11 (axes as an "
              "attribute)",
          .inputNames = {"X"},
          .outputNames = {"Y"},
          .attributes = reductionAttributes(false),
          .infer = infer,
          .gradient = gradient,
          .reference = reference};
}

}  // namespace msdbg::core
