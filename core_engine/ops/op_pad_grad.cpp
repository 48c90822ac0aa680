// PadGrad: every element of dY added to the element that Pad took it from, in row-major order.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/padding.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kName = "PadGrad";

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkFloatingInputs(kName, inputs, {"dY"}));
  const Shape x(intsAttribute(attributes, "shape", {}));
  MSDBG_TRY(checkSize(kName, "attribute shape", x));
  MSDBG_ASSIGN(const Padding p, makePadding(kName, x, attributes));
  MSDBG_TRY(checkShape(kName, "dY", inputs[0], p.shape()));
  return std::vector<TensorType>{{inputs[0].dtype, x}};
}

Status reference(const KernelArgs& args) {
  const Padding p = makePadding(kName, args.outputs[0]->shape(), args.node.attributes).value();
  std::vector<double> sums(static_cast<std::size_t>(args.outputs[0]->elements()), 0.0);
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto dy = args.inputs[0]->data<T>();
    for (std::size_t i = 0; i < dy.size(); ++i)
      if (const std::int64_t to = p.origin(static_cast<std::int64_t>(i)); to >= 0)
        sums[static_cast<std::size_t>(to)] += dy[i];
    const auto dx = args.outputs[0]->data<T>();
    for (std::size_t i = 0; i < dx.size(); ++i) dx[i] = static_cast<T>(sums[i]);
  });
  return Ok{};
}

}  // namespace

OpDef padGradOp() {
  OpDef op{.name = kName,
           .doc = "dX receives each dY where Pad took it from; the constant's go nowhere. msdbg",
           .inputNames = {"dY"},
           .outputNames = {"dX"},
           .attributes = paddingAttributes(),
           .infer = infer,
           .reference = reference};
  op.attributes.push_back({"shape", "ints", "required", "the shape of the unpadded tensor"});
  return op;
}

}  // namespace msdbg::core
