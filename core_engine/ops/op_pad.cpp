// Pad: a tensor with a rim of a constant or of its own elements.
#include <type_traits>

#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/padding.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkInputs("Pad", inputs, {"data"}));
  MSDBG_ASSIGN(const Padding p, makePadding("Pad", inputs[0].shape, attributes));
  return std::vector<TensorType>{{inputs[0].dtype, p.shape()}};
}

Gradients gradient(GradientBuilder& b) {
  Attributes attributes = with(b.forward().attributes, "shape", b.input(0).shape());
  attributes.erase("value");
  return unaryGradient(b, "PadGrad", {}, std::move(attributes));
}

/// The constant in the tensor's dtype; what an integer cannot hold counts as 0.
template <typename T>
T constantOf(double value) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    if (!(value >= -9e18 && value <= 9e18)) return T(0);
  if constexpr (std::is_same_v<T, bool>)
    return value != 0;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::int64_t>(value));
  else
    return static_cast<T>(value);
}

Status reference(const KernelArgs& args) {
  const Padding p = makePadding("Pad", args.inputs[0]->shape(), args.node.attributes).value();
  const double value = floatAttribute(args.node.attributes, "value", 0);
  visitComputed(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T fill = constantOf<T>(value);
    const T* x = args.inputs[0]->data<T>().data();
    T* y = args.outputs[0]->data<T>().data();
    parallelFor(args.outputs[0]->elements(), args.state.threads, [&](std::int64_t i) {
      const std::int64_t from = p.origin(i);
      y[i] = from < 0 ? fill : x[from];
    });
  });
  return Ok{};
}

}  // namespace

OpDef padOp() {
  OpDef op{.name = "Pad",
           .doc =
               "data with a rim of a constant (or of its own elements: reflect, edge, wrap), any dtype. ONNX "
               "Pad-19 with pads and value as attributes",
           .inputNames = {"data"},
           .outputNames = {"output"},
           .dataTypes = DataTypes::kAny,
           .attributes = paddingAttributes(),
           .infer = infer,
           .gradient = gradient,
           .reference = reference};
  op.attributes.push_back({"value", "float", "0", "the constant"});
  return op;
}

}  // namespace msdbg::core
