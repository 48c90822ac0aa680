// Split: a tensor cut into parts along an axis.
#include <numeric>

#include "core_engine/ops/axis_parts.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/gradient.h"

namespace msdbg::core {
namespace {

/// num_outputs parts of equal size, the last one smaller where they do not come out even (ONNX Split-18).
Ints equalParts(std::int64_t size, std::int64_t count) {
  const std::int64_t each = (size + count - 1) / count;
  Ints sizes;
  for (std::int64_t i = 0; i < count; ++i)
    sizes.push_back(std::clamp<std::int64_t>(size - i * each, 0, each));
  return sizes;
}

Result<Ints> partSizes(std::int64_t size, const Attributes& attributes) {
  const std::int64_t count = intAttribute(attributes, "num_outputs", 0);
  const Ints given = intsAttribute(attributes, "split", {});
  if (given.empty() == (count == 0) || count < 0 || count > 65536)
    return inferError("Split", "either attribute split or num_outputs (1 to 65536) must be given");
  if (given.empty()) return equalParts(size, count);
  std::int64_t left = size;
  for (std::int64_t part : given) left = part < 0 || part > left ? -1 : left < 0 ? -1 : left - part;
  if (left == 0) return given;
  return inferError("Split", "attribute split is " + Shape(given).text() + ", but sizes that add up to " +
                                 std::to_string(size) + " were expected");
}

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkInputs("Split", inputs, {"input"}));
  Shape shape = inputs[0].shape;
  MSDBG_ASSIGN(const std::size_t axis, checkAxis("Split", intAttribute(attributes, "axis", 0), shape.rank()));
  MSDBG_ASSIGN(const Ints sizes, partSizes(shape[axis], attributes));
  std::vector<TensorType> parts;
  for (std::int64_t size : sizes) {
    shape[axis] = size;
    parts.push_back({inputs[0].dtype, shape});
  }
  return parts;
}

/// Parts through which no gradient flows count as 0.
Gradients gradient(GradientBuilder& b) {
  Gradients gradients(1);
  if (!b.wanted(0)) return gradients;
  std::vector<Value> parts;
  const std::size_t count = b.forward().outputs.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Value part = b.output(i);
    parts.push_back(b.outputGradient(i)
                        ? *b.outputGradient(i)
                        : b.apply1("Expand", {b.constant(0, part.dtype())}, with({}, "shape", part.shape())));
  }
  gradients[0] = b.apply1("Concat", parts, {{"axis", intAttribute(b.forward().attributes, "axis", 0)}});
  return gradients;
}

Status reference(const KernelArgs& args) {
  const Tensor& whole = *args.inputs[0];
  const std::size_t axis =
      checkAxis("", intAttribute(args.node.attributes, "axis", 0), whole.shape().rank()).value();
  const std::byte* from = whole.byteSpan().data();
  std::int64_t offset = 0;
  for (Tensor* part : args.outputs) {
    std::byte* to = part->byteSpan().data();
    forPartBlocks(whole, *part, axis, offset, args.state.threads,
                  [&](std::int64_t there, std::int64_t here, std::size_t n) {
                    std::memcpy(to + here, from + there, n);
                  });
    offset += part->shape()[axis];
  }
  return Ok{};
}

}  // namespace

OpDef splitOp() {
  return {
      .name = "Split",
      .doc = "input cut into parts along an axis, any dtype. ONNX Split-18 with the sizes as an attribute",
      .inputNames = {"input"},
      .outputNames = {"outputs…"},
      .dataTypes = DataTypes::kAny,
      .attributes = {{"axis", "int", "0", "negative counts from the end"},
                     {"split", "ints", "equal parts", "sizes of the parts"},
                     {"num_outputs", "int", "0", "how many equal parts; the last one may be smaller"}},
      .infer = infer,
      .gradient = gradient,
      .reference = reference};
}

}  // namespace msdbg::core
