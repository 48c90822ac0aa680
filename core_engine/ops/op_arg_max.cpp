// ArgMax: where along an axis the largest element is; a NaN is larger than every number.
#include "core_engine/ops/axis_lines.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/extremes.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkInputs("ArgMax", inputs, {"data"}));
  const Shape& x = inputs[0].shape;
  MSDBG_ASSIGN(const std::size_t axis, checkAxis("ArgMax", intAttribute(attributes, "axis", 0), x.rank()));
  if (x[axis] == 0) return inferError("ArgMax", describeInput("data", inputs[0]) + ", but the axis is empty");
  const bool keepdims = intAttribute(attributes, "keepdims", 1) != 0;
  Ints dims;
  for (std::size_t d = 0; d < x.rank(); ++d)
    if (d != axis || keepdims) dims.push_back(d == axis ? 1 : x[d]);
  return std::vector<TensorType>{{DType::Int64, Shape(std::move(dims))}};
}

/// The first (or last) place of the largest of a line.
template <typename T>
std::int64_t largestAt(const T* x, const AxisLines& lines, bool last) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < lines.length; ++i) {
    const T value = x[i * lines.inner], most = x[best * lines.inner];
    const bool equal = value == most || (isNan(value) && isNan(most));
    const bool larger = !isNan(most) && (value > most || isNan(value));
    if (larger || (equal && last)) best = i;
  }
  return best;
}

Status reference(const KernelArgs& args) {
  const Shape& x = args.inputs[0]->shape();
  const Attributes& attributes = args.node.attributes;
  const AxisLines lines = axisLines(x, checkAxis("", intAttribute(attributes, "axis", 0), x.rank()).value());
  const bool last = intAttribute(attributes, "select_last_index", 0) != 0;
  const auto y = args.outputs[0]->data<std::int64_t>();
  visitComputed(args.inputs[0]->dtype(), [&](auto zero) {
    const auto* data = args.inputs[0]->data<decltype(zero)>().data();
    parallelFor(lines.lines(), args.state.threads, 64, [&](std::int64_t line) {
      y[static_cast<std::size_t>(line)] = largestAt(data + lines.begin(line), lines, last);
    });
  });
  return Ok{};
}

}  // namespace

OpDef argMaxOp() {
  return {.name = "ArgMax",
          .doc =
              "The index (int64) of the largest element along an axis, any dtype; of equals the first; a NaN "
              "is largest. ONNX ArgMax-13",
          .inputNames = {"data"},
          .outputNames = {"reduced"},
          .dataTypes = DataTypes::kAny,
          .attributes = {{"axis", "int", "0", "negative counts from the end"},
                         {"keepdims", "int", "1", "1: the axis stays, with size 1"},
                         {"select_last_index", "int", "0", "1: of equals the last"}},
          .infer = infer,
          .reference = reference};
}

}  // namespace msdbg::core
