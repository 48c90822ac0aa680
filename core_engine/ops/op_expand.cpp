// Expand: repeats dimensions of 1, and adds leading ones, as NumPy broadcasting with a shape does.
#include "core_engine/ops/broadcast.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/infer.h"
#include "core_engine/ops/strided_copy.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkInputs("Expand", inputs, {"input"}));
  Shape shape(intsAttribute(attributes, "shape", {}));
  MSDBG_TRY(checkSize("Expand", "attribute shape", shape));
  MSDBG_TRY(widenShape("Expand", "input", inputs[0], shape));
  MSDBG_TRY(checkSize("Expand", "the result", shape));
  return std::vector<TensorType>{{inputs[0].dtype, shape}};
}

Gradients gradient(GradientBuilder& b) {
  Gradients gradients(1);
  if (b.wanted(0)) gradients[0] = b.reduceTo(*b.outputGradient(0), b.input(0).shape());
  return gradients;
}

Status reference(const KernelArgs& args) {
  const Shape& shape = args.outputs[0]->shape();
  return readStrided(args, {0, broadcastStrides(args.inputs[0]->shape(), shape)});
}

}  // namespace

OpDef expandOp() {
  return {.name = "Expand",
          .doc = "input broadcast with a shape, any dtype. ONNX Expand-13 with the shape as an attribute",
          .inputNames = {"input"},
          .outputNames = {"output"},
          .dataTypes = DataTypes::kAny,
          .attributes = {{"shape", "ints", "required", "dimensions of 1 keep those of the input"}},
          .infer = infer,
          .gradient = gradient,
          .reference = reference};
}

}  // namespace msdbg::core
