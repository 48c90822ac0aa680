// BatchNormalization and its gradient (kernels/batch_norm.h).
#include "core_engine/ops/batch_norm.h"

#include "core_engine/device/kernel_factory.h"

namespace msdbg::core::device {
namespace {

/// Where what lies one behind the other begins, in bytes.
struct Places {
  std::size_t next = 0;
  std::size_t take(std::int64_t count, std::size_t size) {
    const std::size_t at = next;
    next += (static_cast<std::size_t>(count) * size + 255) / 256 * 256;
    return at;
  }
};

}  // namespace

Backend::Answer batchNormKernel(const DeviceRequest& r) {
  const ChannelPlanes planes = channelPlanes(r.input(0).shape);
  const bool training = batchNormTrains(r.node.attributes);
  const double epsilon = floatAttribute(r.node.attributes, "epsilon", 1e-5),
               momentum = floatAttribute(r.node.attributes, "momentum", 0.9);
  Places places;
  const std::size_t parts = places.take(planes.images * planes.channels, sizeof(double)),
                    moments = places.take(planes.channels, sizeof(double)),
                    settings = places.take(planes.channels, sizeof(NormalSettings));
  r.context.reserve(places.next);
  return deviceKernel(r, [=, &context = r.context](const KernelArgs& args) {
    BatchNormParameters p{};
    p.x = in(args, 0), p.scale = in(args, 1), p.shift = in(args, 2);
    p.runningMean = in(args, 3), p.runningVariance = in(args, 4);
    p.y = out(args);
    if (training) {
      p.nextMean = out(args, 1), p.nextVariance = out(args, 2);
      p.savedMean = out(args, 3), p.savedInverse = out(args, 4);
    }
    p.parts = context.work<double>(parts);
    p.moments = context.work<double>(moments);
    p.settings = context.work<NormalSettings>(settings);
    p.images = planes.images, p.channels = planes.channels, p.plane = planes.plane;
    p.epsilon = epsilon;
    p.share = args.state.training ? momentum : 1;
    p.usesBatch = training && args.state.training;
    const std::int64_t groups = planes.images * planes.channels * kGroup;
    if (p.usesBatch) {
      context.launch("batch_norm_sums", groups, p);
      context.launch("batch_norm_means", planes.channels, p);
      context.launch("batch_norm_squares", groups, p);
    }
    context.launch("batch_norm_moments", planes.channels, p);
    context.launch("batch_norm", planes.channels * planes.count(), p);
  });
}

Backend::Answer batchNormGradKernel(const DeviceRequest& r) {
  const ChannelPlanes planes = channelPlanes(r.input(1).shape);
  Places places;
  const std::size_t sums = places.take(planes.images * planes.channels, sizeof(double)),
                    products = places.take(planes.images * planes.channels, sizeof(double)),
                    settings = places.take(planes.channels, sizeof(NormalGradSettings));
  r.context.reserve(places.next);
  return deviceKernel(
      r, [=, &context = r.context, training = batchNormTrains(r.node.attributes)](const KernelArgs& args) {
        BatchNormGradParameters p{};
        p.dy = in(args, 0), p.x = in(args, 1), p.scale = in(args, 2), p.mean = in(args, 3),
        p.inverse = in(args, 4);
        p.dx = out(args, 0), p.dScale = out(args, 1), p.dB = out(args, 2);
        p.sums = context.work<double>(sums);
        p.products = context.work<double>(products);
        p.settings = context.work<NormalGradSettings>(settings);
        p.images = planes.images, p.channels = planes.channels, p.plane = planes.plane;
        p.training = training;
        context.launch("batch_norm_grad_sums", planes.images * planes.channels * kGroup, p);
        context.launch("batch_norm_grad_settings", planes.channels, p);
        context.launch("batch_norm_grad", planes.channels * planes.count(), p);
      });
}

}  // namespace msdbg::core::device
