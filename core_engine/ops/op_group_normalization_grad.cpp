// GroupNormalizationGrad: dX, dscale and dbias. With xhat = (X - Mean) * InvStdDev and g = dY * scale, means
// over a group: dX = InvStdDev * (g - mean(g) - xhat * mean(g * xhat)); dscale = sum(dY * xhat) and dbias =
// sum(dY) per channel, over the images in order.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/group_norm.h"
#include "core_engine/ops/normal_row.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kName = "GroupNormalizationGrad";

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkFloatingInputs(kName, inputs, {"dY", "X", "scale", "Mean", "InvStdDev"}));
  MSDBG_TRY(checkShape(kName, "dY", inputs[0], inputs[1].shape));
  MSDBG_ASSIGN(const NormalGroups g, normalGroups(kName, inputs[1], attributes));
  MSDBG_TRY(checkShape(kName, "scale", inputs[2], g.channel()));
  MSDBG_TRY(checkShape(kName, "Mean", inputs[3], g.mean()));
  MSDBG_TRY(checkShape(kName, "InvStdDev", inputs[4], g.mean()));
  return std::vector{inputs[1], inputs[2], inputs[2]};
}

template <typename T>
void runGroup(const NormalOperands<T>& o, const NormalGroups& g, std::int64_t group, T* dx) {
  const std::int64_t begin = group * g.length();
  normalizedRowGradient(
      dx + begin, g.length(), o.inverse[group],
      [&](std::int64_t i) {
        return static_cast<double>(o.dy[begin + i]) * o.scale[g.firstChannel(group) + i / g.plane];
      },
      [&](std::int64_t i) { return o.normal(begin + i, group); });
}

template <typename T>
void runChannel(const KernelArgs& args, const NormalOperands<T>& o, const NormalGroups& g,
                std::int64_t channel) {
  double sum = 0, product = 0;
  for (std::int64_t image = 0; image < g.images; ++image) {
    const std::int64_t begin = (image * g.groups * g.channels + channel) * g.plane;
    const std::int64_t group = image * g.groups + channel / g.channels;
    for (std::int64_t at = begin; at < begin + g.plane; ++at) {
      sum += o.dy[at];
      product += o.dy[at] * o.normal(at, group);
    }
  }
  args.outputs[1]->data<T>()[channel] = static_cast<T>(product);
  args.outputs[2]->data<T>()[channel] = static_cast<T>(sum);
}

Status reference(const KernelArgs& args) {
  const TensorType x{args.inputs[1]->dtype(), args.inputs[1]->shape()};
  const NormalGroups g = normalGroups(kName, x, args.node.attributes).value();
  visitFloating(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const NormalOperands<T> o(args);
    T* dx = args.outputs[0]->data<T>().data();
    parallelFor(g.count(), args.state.threads, 2, [&](std::int64_t group) { runGroup(o, g, group, dx); });
    parallelFor(g.channel()[0], args.state.threads, 2, [&](std::int64_t c) { runChannel(args, o, g, c); });
  });
  return Ok{};
}

}  // namespace

OpDef groupNormalizationGradOp() {
  return {
      .name = kName,
      .doc =
          "With xhat = (X - Mean) * InvStdDev and g = dY * scale: dX = InvStdDev * (g - mean(g) - xhat * "
          "mean(g * xhat)) with means over a group, dscale = sum(dY * xhat), dbias = sum(dY) per channel. "
          "msdbg",
      .minInputs = 5,
      .maxInputs = 5,
      .inputNames = {"dY", "X", "scale", "Mean", "InvStdDev"},
      .outputNames = {"dX", "dscale", "dbias"},
      .attributes = {numGroupsAttribute()},
      .infer = infer,
      .reference = reference};
}

}  // namespace msdbg::core
