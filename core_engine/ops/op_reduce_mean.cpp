// ReduceMean: Y = mean of X over axes (all by default): their sum divided by their count.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/reduction.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  return inferReduction("ReduceMean", inputs, attributes);
}

Gradients gradient(GradientBuilder& b) { return reductionGradient(b, "ReduceMeanGrad"); }

Status reference(const KernelArgs& args) { return reduceInput(args, true); }

}  // namespace

OpDef reduceMeanOp() {
  return {.name = "ReduceMean",
          .doc =
              "Y = mean of X over axes (all by default): their sum divided by their count. ONNX "
              "ReduceMean-13 (axes as an attribute)",
          .inputNames = {"X"},
          .outputNames = {"Y"},
          .attributes = reductionAttributes(false),
          .infer = infer,
          .gradient = gradient,
          .reference = reference};
}

}  // namespace msdbg::core
