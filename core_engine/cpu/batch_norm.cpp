// BatchNormalization and its gradient, a channel at a time: its planes (256 KiB in resnet20) stay in the
// second-level cache from the sums to the last pass. A channel is computed by one thread: the bits do not
// depend on the thread count.
#include "core_engine/ops/batch_norm.h"

#include <cmath>

#include "core_engine/cpu/kernel_factory.h"
#include "core_engine/cpu/norm_fallback.h"
#include "core_engine/cpu/parallel.h"
#include "core_engine/cpu/tile_kernels.h"

namespace msdbg::core::cpu {
namespace {

struct Moments {
  double mean = 0, variance = 0;
};

Moments momentsOf(const ChannelPlanes& p, const float* x, std::int64_t channel) {
  Moments m;
  const auto count = static_cast<double>(p.count());
  forPlanes(p, channel, [&](std::int64_t at) { m.mean += sumTile(x + at, p.plane); });
  m.mean /= count;
  forPlanes(p, channel, [&](std::int64_t at) { m.variance += squaresTile(x + at, m.mean, p.plane); });
  m.variance /= count;
  return m;
}

struct Settings {
  ChannelPlanes planes;
  double epsilon, momentum;
  bool training;
};

double number(const Tensor& t, std::int64_t channel) {
  return static_cast<double>(t.data<float>()[static_cast<std::size_t>(channel)]);
}
void store(Tensor& t, std::int64_t channel, double value) {
  t.data<float>()[static_cast<std::size_t>(channel)] = static_cast<float>(value);
}

/// As the reference does: outside training the running values stay as they are.
void storeMoments(const KernelArgs& args, const Settings& s, std::int64_t c, const Moments& used) {
  const double share = args.state.training ? s.momentum : 1;
  const double mean = number(*args.inputs[3], c), variance = number(*args.inputs[4], c);
  store(*args.outputs[1], c, share == 1 ? mean : mean * share + used.mean * (1 - share));
  store(*args.outputs[2], c, share == 1 ? variance : variance * share + used.variance * (1 - share));
  store(*args.outputs[3], c, used.mean);
  store(*args.outputs[4], c, 1 / std::sqrt(used.variance + s.epsilon));
}

void runChannel(const KernelArgs& args, const Settings& s, std::int64_t c) {
  const float* x = args.inputs[0]->data<float>().data();
  float* y = args.outputs[0]->data<float>().data();
  const bool own = s.training && args.state.training;
  const Moments used =
      own ? momentsOf(s.planes, x, c) : Moments{number(*args.inputs[3], c), number(*args.inputs[4], c)};
  const double factor = number(*args.inputs[1], c) / std::sqrt(used.variance + s.epsilon);
  const NormalSettings n{static_cast<float>(used.mean), static_cast<float>(factor),
                         args.inputs[2]->data<float>()[static_cast<std::size_t>(c)]};
  forPlanes(s.planes, c, [&](std::int64_t at) { normalTile(x + at, n, y + at, s.planes.plane); });
  if (s.training) storeMoments(args, s, c, used);
}

void runChannelGrad(const KernelArgs& args, const Settings& s, std::int64_t c) {
  const float *dy = args.inputs[0]->data<float>().data(), *x = args.inputs[1]->data<float>().data();
  float* dx = args.outputs[0]->data<float>().data();
  const double scale = number(*args.inputs[2], c), mean = number(*args.inputs[3], c),
               inverse = number(*args.inputs[4], c);
  double sum = 0, product = 0;
  forPlanes(s.planes, c, [&](std::int64_t at) {
    sum += sumTile(dy + at, s.planes.plane);
    product += centredDotTile(dy + at, x + at, mean, s.planes.plane);
  });
  product *= inverse;
  store(*args.outputs[1], c, product);
  store(*args.outputs[2], c, sum);
  const double share = s.training ? 1 / static_cast<double>(s.planes.count()) : 0;
  const NormalGradSettings n{static_cast<float>(scale * inverse), static_cast<float>(mean),
                             share == 0 ? 0.0f : static_cast<float>(sum * share),
                             share == 0 ? 0.0f : static_cast<float>(product * inverse * share)};
  forPlanes(s.planes, c, [&](std::int64_t at) {
    if (share == 0)
      mulTile(dy + at, 1, &n.factor, 0, dx + at, s.planes.plane);
    else
      normalGradTile(dy + at, x + at, n, dx + at, s.planes.plane);
  });
}

using Channel = void (*)(const KernelArgs& args, const Settings& s, std::int64_t channel);

Backend::Answer channelwise(const CompileRequest& r, const Shape& x, Channel run, ReferenceFn fallback) {
  const Attributes& a = r.node.attributes;
  const Settings s{channelPlanes(x), floatAttribute(a, "epsilon", 1e-5), floatAttribute(a, "momentum", 0.9),
                   batchNormTrains(a)};
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
  return channelwise(r, r.input(0).shape, runChannel, nullptr);
}
Backend::Answer batchNormGradKernel(const CompileRequest& r) {
  return channelwise(r, r.input(1).shape, runChannelGrad, findOp(r.node.opType)->reference);
}

}  // namespace msdbg::core::cpu
