// BatchNormalizationGrad: dX, dscale and dB. With xhat = (X - mean) * inv_std and sums over a channel's count
// elements: dB = sum(dY), dscale = sum(dY * xhat), dX = scale * inv_std * (dY - (dB + xhat * dscale) /
// count), without the last term where mean and inv_std are constants.
#include "core_engine/ops/batch_norm.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/elementwise.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kName = "BatchNormalizationGrad";

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  const InputNames kNames = {"dY", "X", "scale", "mean", "inv_std"};
  MSDBG_TRY(checkFloatingInputs(kName, inputs, kNames));
  MSDBG_TRY(checkShape(kName, "dY", inputs[0], inputs[1].shape));
  MSDBG_ASSIGN(const Shape channels, channelShape(kName, inputs[1]));
  for (std::size_t i = 2; i < 5; ++i) MSDBG_TRY(checkShape(kName, kNames.begin()[i], inputs[i], channels));
  return std::vector{inputs[1], inputs[2], inputs[2]};
}

template <typename T>
void runChannel(const KernelArgs& args, const ChannelPlanes& p, std::int64_t c) {
  const T *dy = args.inputs[0]->data<T>().data(), *x = args.inputs[1]->data<T>().data();
  T* dx = args.outputs[0]->data<T>().data();
  const double scale = args.inputs[2]->data<T>()[c], mean = args.inputs[3]->data<T>()[c],
               inverse = args.inputs[4]->data<T>()[c];
  double sum = 0, product = 0;
  forPlanes(p, c, [&](std::int64_t at) {
    for (std::int64_t i = at; i < at + p.plane; ++i) {
      sum += dy[i];
      product += dy[i] * ((x[i] - mean) * inverse);
    }
  });
  args.outputs[1]->data<T>()[c] = static_cast<T>(product);
  args.outputs[2]->data<T>()[c] = static_cast<T>(sum);
  const double share = batchNormTrains(args.node.attributes) ? 1 / static_cast<double>(p.count()) : 0;
  forPlanes(p, c, [&](std::int64_t at) {
    for (std::int64_t i = at; i < at + p.plane; ++i) {
      const double normal = (x[i] - mean) * inverse;
      const double rest = share == 0 ? 0 : (sum + normal * product) * share;
      dx[i] = static_cast<T>(scale * inverse * (dy[i] - rest));
    }
  });
}

Status reference(const KernelArgs& args) {
  const ChannelPlanes p = channelPlanes(args.inputs[1]->shape());
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    parallelFor(p.channels, args.state.threads, 2, [&](std::int64_t c) { runChannel<T>(args, p, c); });
  });
  return Ok{};
}

}  // namespace

OpDef batchNormalizationGradOp() {
  return {.name = kName,
          .doc =
              "dB = sum(dY), dscale = sum(dY * xhat), dX = scale * inv_std * (dY - (dB + xhat * dscale) / "
              "count), xhat = (X - mean) * inv_std, per channel; without the last term unless training_mode. "
              "msdbg",
          .minInputs = 5,
          .maxInputs = 5,
          .inputNames = {"dY", "X", "scale", "mean", "inv_std"},
          .outputNames = {"dX", "dscale", "dB"},
          .attributes = {{"training_mode", "int", "0", "1: mean and inv_std are those of X itself"}},
          .infer = infer,
          .reference = reference};
}

}  // namespace msdbg::core
