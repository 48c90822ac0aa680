// ReduceMeanGrad: dX = dY repeated over the reduced axes, divided by their count.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/reduction.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  return inferReductionGrad("ReduceMeanGrad", inputs, attributes);
}

Status reference(const KernelArgs& args) { return spreadInput(args, true); }

}  // namespace

OpDef reduceMeanGradOp() {
  return {.name = "ReduceMeanGrad",
          .doc =
              "dX = dY repeated over the reduced axes, divided by their count. The second input, else "
              "attribute shape, gives the shape of dX. msdbg",
          .minInputs = 1,
          .maxInputs = 2,
          .inputNames = {"dY", "X"},
          .outputNames = {"dX"},
          .attributes = reductionAttributes(true),
          .infer = infer,
          .reference = reference};
}

}  // namespace msdbg::core
