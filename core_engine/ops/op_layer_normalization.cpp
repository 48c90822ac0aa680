// LayerNormalization (Ba et al. 2016): every row brought to mean 0 and variance 1, then scaled and shifted.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/layer_norm.h"
#include "core_engine/ops/normal_row.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kName = "LayerNormalization";

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkFloatingInputs(kName, inputs, {"X", "Scale", "B"}, 2));
  MSDBG_ASSIGN(const NormalRows r, normalRows(kName, inputs[0].shape, attributes));
  MSDBG_TRY(checkShape(kName, "Scale", inputs[1], r.row));
  if (inputs.size() > 2) MSDBG_TRY(checkShape(kName, "B", inputs[2], r.row));
  return std::vector<TensorType>{inputs[0], {inputs[0].dtype, r.mean}, {inputs[0].dtype, r.mean}};
}

Gradients gradient(GradientBuilder& b) {
  b.refuseGradientOf(1);
  b.refuseGradientOf(2);
  const Attributes attributes{{"axis", intAttribute(b.forward().attributes, "axis", -1)}};
  Gradients gradients(b.forward().inputs.size());
  if (!b.outputGradient(0)) return gradients;
  const std::vector<Value> made =
      b.apply("LayerNormalizationGrad",
              {*b.outputGradient(0), b.input(0), b.input(1), b.output(1), b.output(2)}, attributes);
  for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i] = made[i];
  return gradients;
}

template <typename T>
void run(const KernelArgs& args, const NormalRows& r) {
  const double epsilon = floatAttribute(args.node.attributes, "epsilon", 1e-5);
  const T* scale = args.inputs[1]->data<T>().data();
  const T* shift = args.inputs.size() > 2 ? args.inputs[2]->data<T>().data() : nullptr;
  parallelFor(r.rows, args.state.threads, 8, [&](std::int64_t row) {
    const RowMoments moments = normalizeRow(
        args.inputs[0]->data<T>().data() + row * r.length, args.outputs[0]->data<T>().data() + row * r.length,
        r.length, epsilon, [&](std::int64_t i) { return scale[i]; },
        [&](std::int64_t i) { return shift ? shift[i] : T(0); });
    args.outputs[1]->data<T>()[row] = static_cast<T>(moments.mean);
    args.outputs[2]->data<T>()[row] = static_cast<T>(moments.inverse);
  });
}

Status reference(const KernelArgs& args) {
  const NormalRows r = normalRows(kName, args.inputs[0]->shape(), args.node.attributes).value();
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) { run<decltype(zero)>(args, r); });
  return Ok{};
}

}  // namespace

OpDef layerNormalizationOp() {
  return {
      .name = kName,
      .doc =
          "Y = (X - Mean) * InvStdDev * Scale + B over the dimensions from axis on, InvStdDev = 1 / "
          "sqrt(population variance + epsilon). ONNX LayerNormalization-17 with Scale and B of those "
          "dimensions",
      .minInputs = 2,
      .maxInputs = 3,
      .inputNames = {"X", "Scale", "B"},
      .outputNames = {"Y", "Mean", "InvStdDev"},
      .attributes = {{"axis", "int", "-1", "the first dimension to normalise over; negative from the end"},
                     {"epsilon", "float", "1e-05", "added to the variance"}},
      .infer = infer,
      .gradient = gradient,
      .reference = reference};
}

}  // namespace msdbg::core
