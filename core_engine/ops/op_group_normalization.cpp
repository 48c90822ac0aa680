// GroupNormalization (Wu and He 2018): groups of channels brought to mean 0 and variance 1 within each image,
// then scaled and shifted per channel.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/group_norm.h"
#include "core_engine/ops/normal_row.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kName = "GroupNormalization";

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkFloatingInputs(kName, inputs, {"X", "scale", "bias"}));
  MSDBG_ASSIGN(const NormalGroups g, normalGroups(kName, inputs[0], attributes));
  MSDBG_TRY(checkShape(kName, "scale", inputs[1], g.channel()));
  MSDBG_TRY(checkShape(kName, "bias", inputs[2], g.channel()));
  const TensorType statistic{inputs[0].dtype, g.mean()};
  return std::vector<TensorType>{inputs[0], statistic, statistic};
}

Gradients gradient(GradientBuilder& b) {
  b.refuseGradientOf(1);
  b.refuseGradientOf(2);
  Gradients gradients(3);
  if (!b.outputGradient(0)) return gradients;
  const Attributes attributes{{"num_groups", intAttribute(b.forward().attributes, "num_groups", 0)}};
  const std::vector<Value> made =
      b.apply("GroupNormalizationGrad",
              {*b.outputGradient(0), b.input(0), b.input(1), b.output(1), b.output(2)}, attributes);
  for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i] = made[i];
  return gradients;
}

template <typename T>
void run(const KernelArgs& args, const NormalGroups& g) {
  const double epsilon = floatAttribute(args.node.attributes, "epsilon", 1e-5);
  const T *scale = args.inputs[1]->data<T>().data(), *bias = args.inputs[2]->data<T>().data();
  parallelFor(g.count(), args.state.threads, 2, [&](std::int64_t group) {
    const auto channel = [&](std::int64_t i) { return g.firstChannel(group) + i / g.plane; };
    const RowMoments moments = normalizeRow(
        args.inputs[0]->data<T>().data() + group * g.length(),
        args.outputs[0]->data<T>().data() + group * g.length(), g.length(), epsilon,
        [&](std::int64_t i) { return scale[channel(i)]; }, [&](std::int64_t i) { return bias[channel(i)]; });
    args.outputs[1]->data<T>()[group] = static_cast<T>(moments.mean);
    args.outputs[2]->data<T>()[group] = static_cast<T>(moments.inverse);
  });
}

Status reference(const KernelArgs& args) {
  const TensorType x{args.inputs[0]->dtype(), args.inputs[0]->shape()};
  const NormalGroups g = normalGroups(kName, x, args.node.attributes).value();
  visitFloating(x.dtype, [&](auto zero) { run<decltype(zero)>(args, g); });
  return Ok{};
}

}  // namespace

OpDef groupNormalizationOp() {
  return {.name = kName,
          .doc =
              "Y = (X - Mean) * InvStdDev * scale + bias for X [N,C,…], Mean and InvStdDev = 1 / "
              "sqrt(population variance + epsilon) over each of num_groups groups of channels of an image, "
              "scale and bias per channel. ONNX GroupNormalization-21; Mean and InvStdDev are for the "
              "gradient",
          .minInputs = 3,
          .maxInputs = 3,
          .inputNames = {"X", "scale", "bias"},
          .outputNames = {"Y", "Mean", "InvStdDev"},
          .attributes = {numGroupsAttribute(), {"epsilon", "float", "1e-05", "added to the variance"}},
          .infer = infer,
          .gradient = gradient,
          .reference = reference};
}

}  // namespace msdbg::core
