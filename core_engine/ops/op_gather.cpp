// Gather: slices of a tensor along an axis, picked by indices (an embedding's rows).
#include <cstring>

#include "core_engine/ops/axis_parts.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/indices.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkInputs("Gather", inputs, {"data", "indices"}));
  MSDBG_TRY(checkIndexType("Gather", inputs[1]));
  const Shape& data = inputs[0].shape;
  MSDBG_ASSIGN(const std::size_t axis, checkAxis("Gather", intAttribute(attributes, "axis", 0), data.rank()));
  Ints dims = intsOf(data);
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), inputs[1].shape.dims().begin(),
              inputs[1].shape.dims().end());
  Shape shape(std::move(dims));
  MSDBG_TRY(checkSize("Gather", "the result", shape));
  return std::vector<TensorType>{{inputs[0].dtype, shape}};
}

Gradients gradient(GradientBuilder& b) {
  return unaryGradient(b, "GatherGrad", {b.input(1)},
                       with(b.forward().attributes, "shape", b.input(0).shape()));
}

Status reference(const KernelArgs& args) {
  const Tensor& data = *args.inputs[0];
  const std::size_t axis =
      checkAxis("", intAttribute(args.node.attributes, "axis", 0), data.shape().rank()).value();
  MSDBG_ASSIGN(const Ints picked, readIndices(args.node, *args.inputs[1], data.shape()[axis]));
  const AxisBytes a = axisBytes(data, axis);
  const std::byte* from = data.byteSpan().data();
  std::byte* to = args.outputs[0]->byteSpan().data();
  const auto count = static_cast<std::int64_t>(picked.size());
  if (a.step == 0) return Ok{};
  parallelFor(a.outer * count, args.state.threads, 64, [&](std::int64_t i) {
    const std::int64_t place = i / count * data.shape()[axis] + picked[static_cast<std::size_t>(i % count)];
    std::memcpy(to + i * a.step, from + place * a.step, static_cast<std::size_t>(a.step));
  });
  return Ok{};
}

}  // namespace

OpDef gatherOp() {
  return {.name = "Gather",
          .doc =
              "Y = data[indices] along an axis, any dtype; negative indices count from the end, one outside "
              "is an error. ONNX Gather-13",
          .minInputs = 2,
          .maxInputs = 2,
          .inputNames = {"data", "indices"},
          .outputNames = {"output"},
          .dataTypes = DataTypes::kAny,
          .attributes = {{"axis", "int", "0", "negative counts from the end"}},
          .infer = infer,
          .gradient = gradient,
          .reference = reference};
}

}  // namespace msdbg::core
