// BatchNormalization and its gradient, a channel at a time: its planes (256 KiB in resnet20) stay in the
// second-level cache from the sums to the last pass. A channel is computed by one thread: the bits do not
// depend on the thread count.
#include "core_engine/cpu/batch_norm_internal.h"
#include "core_engine/cpu/kernel_factory.h"
#include "core_engine/cpu/norm_fallback.h"
#include "core_engine/cpu/parallel.h"
#include "core_engine/cpu/tile_kernels.h"
#include "core_engine/cpu/tile_op.h"

namespace msdbg::core::cpu {
namespace {

Moments momentsOf(const ChannelPlanes& p, const float* x, std::int64_t channel) {
  Moments m;
  const auto count = static_cast<double>(p.count());
  forPlanes(p, channel, [&](std::int64_t at) { m.mean += sumTile(x + at, p.plane); });
  m.mean /= count;
  forPlanes(p, channel, [&](std::int64_t at) { m.variance += squaresTile(x + at, m.mean, p.plane); });
  m.variance /= count;
  return m;
}

void runChannel(const KernelArgs& args, const BatchNormSettings& s, std::int64_t c) {
  const float* x = args.inputs[0]->data<float>().data();
  float* y = args.outputs[0]->data<float>().data();
  const Moments used = usesBatch(args, s) ? momentsOf(s.planes, x, c) : runningMoments(args, c);
  const NormalSettings n = normalSettings(args, s, c, used);
  forPlanes(s.planes, c, [&](std::int64_t at) { normalTile(x + at, n, y + at, s.planes.plane); });
  if (s.training) storeMoments(args, s, c, used);
}

void runChannelGrad(const KernelArgs& args, const BatchNormSettings& s, std::int64_t c) {
  const float *dy = args.inputs[0]->data<float>().data(), *x = args.inputs[1]->data<float>().data();
  float* dx = args.outputs[0]->data<float>().data();
  const double mean = number(*args.inputs[3], c);
  double sum = 0, product = 0;
  forPlanes(s.planes, c, [&](std::int64_t at) {
    sum += sumTile(dy + at, s.planes.plane);
    product += centredDotTile(dy + at, x + at, mean, s.planes.plane);
  });
  const NormalGradSettings n = storeGradients(args, s, c, sum, product);
  forPlanes(s.planes, c, [&](std::int64_t at) {
    if (!s.training)
      mulTile(dy + at, 1, &n.factor, 0, dx + at, s.planes.plane);
    else
      normalGradTile(dy + at, x + at, n, dx + at, s.planes.plane);
  });
}

using Channel = void (*)(const KernelArgs& args, const BatchNormSettings& s, std::int64_t channel);

Backend::Answer channelwise(const CompileRequest& r, const Shape& x, Channel run, ReferenceFn fallback) {
  const BatchNormSettings s = batchNormSettings(r.node.attributes, x);
  return functionKernel(r, [s, run, fallback, threads = r.threads](const KernelArgs& args) -> Status {
    if (fallback && !hasFiniteDeviations(args)) return fallback(args);
    parallelRanges(s.planes.channels, 1, threads, s.planes.channels * s.planes.count(),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t c = begin; c < end; ++c) run(args, s, c);
                   });
    return Ok{};
  });
}

}  // namespace

Backend::Answer batchNormKernel(const CompileRequest& r) {
  if (r.inputLayout(0) == Layout::kChannels16) return wholeKernel(r, batchNormTiles(r));
  return channelwise(r, r.input(0).shape, runChannel, nullptr);
}
Backend::Answer batchNormGradKernel(const CompileRequest& r) {
  if (r.inputLayout(0) == Layout::kChannels16) return batchNormGradChannels16(r);
  return channelwise(r, r.input(1).shape, runChannelGrad, findOp(r.node.opType)->reference);
}

}  // namespace msdbg::core::cpu
