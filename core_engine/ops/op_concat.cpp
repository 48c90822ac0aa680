// Concat: tensors one after another along an axis.
#include "core_engine/ops/axis_parts.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/gradient.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkAnyInputs("Concat", inputs, "inputs"));
  Shape shape = inputs[0].shape;
  MSDBG_ASSIGN(const std::size_t axis,
               checkAxis("Concat", intAttribute(attributes, "axis", 0), shape.rank()));
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const TensorType& input = inputs[i];
    const std::string name = "input " + std::to_string(i);
    MSDBG_TRY(checkDType("Concat", name, input, inputs[0].dtype));
    MSDBG_TRY(checkRank("Concat", name, input, shape.rank()));
    for (std::size_t d = 0; d < shape.rank(); ++d)
      if (d != axis && input.shape[d] != shape[d])
        return inferError("Concat", name + " is " + input.shape.text() + " and input 0 " +
                                        inputs[0].shape.text() + ": they may differ along axis " +
                                        std::to_string(axis) + " only, not along " + std::to_string(d));
    shape[axis] += input.shape[axis];
  }
  return std::vector<TensorType>{{inputs[0].dtype, shape}};
}

std::size_t axisOf(const Attributes& attributes, std::size_t rank) {
  return checkAxis("", intAttribute(attributes, "axis", 0), rank).value();
}

Gradients gradient(GradientBuilder& b) {
  const std::size_t count = b.forward().inputs.size();
  const std::size_t axis = axisOf(b.forward().attributes, b.output(0).shape().rank());
  Ints sizes;
  for (std::size_t i = 0; i < count; ++i) sizes.push_back(b.input(i).shape()[axis]);
  const std::vector<Value> parts =
      b.apply("Split", {*b.outputGradient(0)}, {{"axis", static_cast<std::int64_t>(axis)}, {"split", sizes}});
  return {parts.begin(), parts.end()};
}

Status reference(const KernelArgs& args) {
  Tensor& whole = *args.outputs[0];
  const std::size_t axis = axisOf(args.node.attributes, whole.shape().rank());
  std::byte* to = whole.byteSpan().data();
  std::int64_t offset = 0;
  for (const Tensor* part : args.inputs) {
    const std::byte* from = part->byteSpan().data();
    forPartBlocks(whole, *part, axis, offset, args.state.threads,
                  [&](std::int64_t there, std::int64_t here, std::size_t n) {
                    std::memcpy(to + there, from + here, n);
                  });
    offset += part->shape()[axis];
  }
  return Ok{};
}

}  // namespace

OpDef concatOp() {
  return {.name = "Concat",
          .doc = "The inputs one after another along an axis, any dtype. ONNX Concat-13",
          .maxInputs = kAnyNumber,
          .inputNames = {"inputs…"},
          .outputNames = {"concat_result"},
          .dataTypes = DataTypes::kAny,
          .attributes = {{"axis", "int", "required", "negative counts from the end"}},
          .infer = infer,
          .gradient = gradient,
          .reference = reference};
}

}  // namespace msdbg::core
