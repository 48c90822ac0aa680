// ReduceSumGrad: dX = dY repeated over the reduced axes.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/reduction.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  return inferReductionGrad("ReduceSumGrad", inputs, attributes);
}

Status reference(const KernelArgs& args) { return spreadInput(args, false); }

}  // namespace

OpDef reduceSumGradOp() {
  return {.name = "ReduceSumGrad",
          .doc =
              "dX = dY repeated over the reduced axes. The second input, else attribute shape, gives the "
              "shape of dX. msdbg",
          .minInputs = 1,
          .maxInputs = 2,
          .inputNames = {"dY", "X"},
          .outputNames = {"dX"},
          .attributes = reductionAttributes(true),
          .infer = infer,
          .reference = reference};
}

}  // namespace msdbg::core
