// BatchNormalization and its gradient for activations in channels of 16. Planes of 16 channels are summed by
// themselves, shared among threads, and added up in the order of the images: the bits of batch_norm.cpp.
#include <functional>

#include "core_engine/base/simd.h"
#include "core_engine/cpu/batch_norm_internal.h"
#include "core_engine/cpu/channel_bodies.h"
#include "core_engine/cpu/norm_fallback.h"
#include "core_engine/cpu/parallel.h"
#include "core_engine/cpu/tile_op.h"
#include "core_engine/runtime/layout_adapter.h"

namespace msdbg::core::cpu {
namespace {

MSDBG_SIMD_CLONES void channelSums(const float* x, std::int64_t n, double* sums) {
  channelSumsBody(x, n, sums);
}
MSDBG_SIMD_CLONES void channelSquares(const float* x, const double* means, std::int64_t n, double* sums) {
  channelSquaresBody(x, means, n, sums);
}
MSDBG_SIMD_CLONES void channelDots(const float* a, const float* x, const double* means, std::int64_t n,
                                   double* sums) {
  channelDotsBody(a, x, means, n, sums);
}
MSDBG_SIMD_CLONES void channelNormal(const float* x, const ChannelSettings& s, float* y, std::int64_t n) {
  channelNormalBody(x, s, y, n);
}
MSDBG_SIMD_CLONES void channelGrad(const float* dy, const float* x, const ChannelGradSettings& s, float* dx,
                                   std::int64_t n) {
  channelGradBody(dy, x, s, dx, n);
}
MSDBG_SIMD_CLONES void channelScale(const float* dy, const ChannelGradSettings& s, float* dx,
                                    std::int64_t n) {
  channelScaleBody(dy, s, dx, n);
}

/// The planes of 16 channels of a tensor, in the order of memory.
struct Blocks {
  ChannelPlanes planes;
  int threads;

  std::int64_t perImage() const { return planes.channels / kChannels; }
  std::int64_t count() const { return planes.images * perImage(); }
  std::int64_t begin(std::int64_t block) const { return block * planes.plane * kChannels; }
  std::int64_t firstChannel(std::int64_t block) const { return block % perImage() * kChannels; }

  template <typename F>
  void each(const F& f) const {
    parallelRanges(count(), 1, threads, planes.channels * planes.count(),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t b = begin; b < end; ++b) f(b);
                   });
  }

  /// sum(block, 16 doubles) for every block; the sums of a channel added up over the images.
  template <typename Sum>
  std::vector<double> sums(const Sum& sum) const {
    std::vector<double> parts(static_cast<std::size_t>(count() * kChannels)),
        all(static_cast<std::size_t>(planes.channels), 0.0);
    each([&](std::int64_t b) { sum(b, parts.data() + b * kChannels); });
    for (std::size_t i = 0; i < parts.size(); ++i) all[i % all.size()] += parts[i];
    return all;
  }
};

std::vector<Moments> batchMoments(const Blocks& blocks, const float* x) {
  const auto count = static_cast<double>(blocks.planes.count());
  const std::int64_t plane = blocks.planes.plane;
  std::vector<double> means =
      blocks.sums([&](std::int64_t b, double* sums) { channelSums(x + blocks.begin(b), plane, sums); });
  for (double& mean : means) mean /= count;
  const std::vector<double> squares = blocks.sums([&](std::int64_t b, double* sums) {
    channelSquares(x + blocks.begin(b), means.data() + blocks.firstChannel(b), plane, sums);
  });
  std::vector<Moments> moments;
  for (std::size_t c = 0; c < means.size(); ++c) moments.push_back({means[c], squares[c] / count});
  return moments;
}

/// What the elements of 16 channels are normalised with, by group of channels; stores the other outputs.
std::vector<ChannelSettings> prepareChannels(const KernelArgs& args, const BatchNormSettings& s,
                                             int threads) {
  const Blocks blocks{s.planes, threads};
  std::vector<Moments> moments;
  if (usesBatch(args, s)) moments = batchMoments(blocks, args.inputs[0]->data<float>().data());
  std::vector<ChannelSettings> settings(static_cast<std::size_t>(blocks.perImage()));
  for (std::int64_t c = 0; c < s.planes.channels; ++c) {
    const Moments used = moments.empty() ? runningMoments(args, c) : moments[static_cast<std::size_t>(c)];
    const NormalSettings n = normalSettings(args, s, c, used);
    ChannelSettings& group = settings[static_cast<std::size_t>(c / kChannels)];
    group.mean[c % kChannels] = n.mean;
    group.factor[c % kChannels] = n.factor;
    group.shift[c % kChannels] = n.shift;
    if (s.training) storeMoments(args, s, c, used);
  }
  return settings;
}

void normalisePart(const TilePart& part, const ChannelPlanes& planes,
                   const std::vector<ChannelSettings>& settings) {
  const float* x = part.args.inputs[0]->data<float>().data();
  const std::int64_t size = planes.plane * kChannels;
  for (std::int64_t at = part.begin; at < part.end;) {
    const std::int64_t block = at / size, count = std::min((block + 1) * size, part.end) - at;
    channelNormal(x + at, settings[static_cast<std::size_t>(block) % settings.size()],
                  part.out + (at - part.begin), count / kChannels);
    at += count;
  }
}

void normaliseGrad(const KernelArgs& args, const BatchNormSettings& s, int threads) {
  const Blocks blocks{s.planes, threads};
  const float *dy = args.inputs[0]->data<float>().data(), *x = args.inputs[1]->data<float>().data();
  float* dx = args.outputs[0]->data<float>().data();
  const std::int64_t plane = s.planes.plane;
  std::vector<double> means;
  for (std::int64_t c = 0; c < s.planes.channels; ++c) means.push_back(number(*args.inputs[3], c));
  const std::vector<double> sums =
      blocks.sums([&](std::int64_t b, double* out) { channelSums(dy + blocks.begin(b), plane, out); });
  const std::vector<double> products = blocks.sums([&](std::int64_t b, double* out) {
    channelDots(dy + blocks.begin(b), x + blocks.begin(b), means.data() + blocks.firstChannel(b), plane, out);
  });
  std::vector<ChannelGradSettings> settings(static_cast<std::size_t>(blocks.perImage()));
  for (std::int64_t c = 0; c < s.planes.channels; ++c) {
    const auto i = static_cast<std::size_t>(c);
    const NormalGradSettings n = storeGradients(args, s, c, sums[i], products[i]);
    ChannelGradSettings& group = settings[i / kChannels];
    group.factor[i % kChannels] = n.factor;
    group.mean[i % kChannels] = n.mean;
    group.constant[i % kChannels] = n.constant;
    group.slope[i % kChannels] = n.slope;
  }
  blocks.each([&](std::int64_t b) {
    const ChannelGradSettings& own = settings[static_cast<std::size_t>(b % blocks.perImage())];
    if (s.training)
      channelGrad(dy + blocks.begin(b), x + blocks.begin(b), own, dx + blocks.begin(b), plane);
    else
      channelScale(dy + blocks.begin(b), own, dx + blocks.begin(b), plane);
  });
}

}  // namespace

TileAnswer batchNormTiles(const CompileRequest& r) {
  if (r.inputLayout(0) != Layout::kChannels16)
    return noTiles("row-major, a channel goes through its passes while it is in the cache");
  const BatchNormSettings s = batchNormSettings(r.node.attributes, r.input(0).shape);
  const auto settings = std::make_shared<std::vector<ChannelSettings>>();
  return {
      TileOp{{kChannels},
             [planes = s.planes, settings](const TilePart& part) { normalisePart(part, planes, *settings); },
             [s, settings, threads = r.threads](const KernelArgs& args) {
               *settings = prepareChannels(args, s, threads);
             }},
      ""};
}

Backend::Answer batchNormGradChannels16(const CompileRequest& r) {
  const BatchNormSettings s = batchNormSettings(r.node.attributes, r.input(1).shape);
  const std::shared_ptr<KernelImpl> reference = adaptLayouts(
      makeReferenceBackend()->compile(r.graph, r.node, r.threads).kernel, {true, true, false, false, false},
      {true, false, false}, std::make_shared<LayoutScratch>());
  return functionKernel(r, [s, reference, threads = r.threads](const KernelArgs& args) -> Status {
    if (!hasFiniteDeviations(args)) return reference->run(args);
    normaliseGrad(args, s, threads);
    return Ok{};
  });
}

}  // namespace msdbg::core::cpu
