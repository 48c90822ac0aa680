// Slice: every step-th element from a start to an end along some axes, as NumPy's x[start:end:step].
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/slicing.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkInputs("Slice", inputs, {"data"}));
  MSDBG_ASSIGN(const Slicing s, makeSlicing("Slice", inputs[0].shape, attributes));
  return std::vector<TensorType>{{inputs[0].dtype, s.shape}};
}

Gradients gradient(GradientBuilder& b) {
  return unaryGradient(b, "SliceGrad", {}, with(b.forward().attributes, "shape", b.input(0).shape()));
}

Status reference(const KernelArgs& args) {
  return readStrided(args, makeSlicing("Slice", args.inputs[0]->shape(), args.node.attributes).value().grid);
}

}  // namespace

OpDef sliceOp() {
  return {.name = "Slice",
          .doc =
              "data[start:end:step] along some axes as NumPy does, any dtype. ONNX Slice-13 with starts, "
              "ends, axes and steps as attributes",
          .inputNames = {"data"},
          .outputNames = {"output"},
          .dataTypes = DataTypes::kAny,
          .attributes = slicingAttributes(),
          .infer = infer,
          .gradient = gradient,
          .reference = reference};
}

}  // namespace msdbg::core
