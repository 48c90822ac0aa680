// BatchNormalization and its gradient: the planes of every image are summed by groups of 16 threads, and
// added up in the order of the images (core_engine/cpu/batch_norm.cpp).
#pragma once

#include "core_engine/device/kernels/elementwise.h"
#include "core_engine/device/kernels/group_sums.h"
#include "core_engine/device/kernels/parameters.h"

namespace msdbg::core::device {

MSDBG_KERNEL(batch_norm_sums, BatchNormParameters) {
  for (std::int64_t at = globalGroup(); at < p.images * p.channels; at += allGroups()) {
    const float* x = p.x + at * p.plane;
    const double sum = sumInLanes(p.plane, [x](std::int64_t i) { return static_cast<double>(x[i]); });
    if (laneOfGroup() == 0) p.parts[at] = sum;
  }
}
MSDBG_DEVICE double overImages(const double* parts, std::int64_t images, std::int64_t channels,
                               std::int64_t c) {
  double sum = 0;
  for (std::int64_t image = 0; image < images; ++image) sum += parts[image * channels + c];
  return sum;
}
MSDBG_KERNEL(batch_norm_means, BatchNormParameters) {
  const auto count = static_cast<double>(p.images * p.plane);
  for (std::int64_t c = globalThread(); c < p.channels; c += allThreads())
    p.moments[c] = overImages(p.parts, p.images, p.channels, c) / count;
}
MSDBG_KERNEL(batch_norm_squares, BatchNormParameters) {
  for (std::int64_t at = globalGroup(); at < p.images * p.channels; at += allGroups()) {
    const float* x = p.x + at * p.plane;
    const double mean = p.moments[at % p.channels];
    const double sum = sumWithTail(p.plane, [=](std::int64_t i) {
      const double v = static_cast<double>(x[i]) - mean;
      return v * v;
    });
    if (laneOfGroup() == 0) p.parts[at] = sum;
  }
}
/// batch_norm_internal.h, normalSettings() and storeMoments(): a thread a channel.
MSDBG_KERNEL(batch_norm_moments, BatchNormParameters) {
  const auto count = static_cast<double>(p.images * p.plane);
  for (std::int64_t c = globalThread(); c < p.channels; c += allThreads()) {
    const double runningMean = static_cast<double>(p.runningMean[c]),
                 runningVariance = static_cast<double>(p.runningVariance[c]);
    const double mean = p.usesBatch ? p.moments[c] : runningMean;
    const double variance =
        p.usesBatch ? overImages(p.parts, p.images, p.channels, c) / count : runningVariance;
    const double factor = static_cast<double>(p.scale[c]) / std::sqrt(variance + p.epsilon);
    p.settings[c] = {static_cast<float>(mean), static_cast<float>(factor), p.shift[c]};
    if (!p.savedMean) continue;
    const double share = p.share;
    p.nextMean[c] = static_cast<float>(share == 1 ? runningMean : runningMean * share + mean * (1 - share));
    p.nextVariance[c] =
        static_cast<float>(share == 1 ? runningVariance : runningVariance * share + variance * (1 - share));
    p.savedMean[c] = static_cast<float>(mean);
    p.savedInverse[c] = static_cast<float>(1 / std::sqrt(variance + p.epsilon));
  }
}
MSDBG_KERNEL(batch_norm, BatchNormParameters) {
  for (std::int64_t i = globalThread(); i < p.images * p.channels * p.plane; i += allThreads())
    p.y[i] = normalOf(p.settings[divided(divided(i, p.plane).quotient, p.channels).rest], p.x[i]);
}

MSDBG_KERNEL(batch_norm_grad_sums, BatchNormGradParameters) {
  for (std::int64_t at = globalGroup(); at < p.images * p.channels; at += allGroups()) {
    const float *dy = p.dy + at * p.plane, *x = p.x + at * p.plane;
    const double mean = static_cast<double>(p.mean[at % p.channels]);
    const double sum = sumInLanes(p.plane, [dy](std::int64_t i) { return static_cast<double>(dy[i]); });
    const double product = sumWithTail(p.plane, [=](std::int64_t i) {
      return static_cast<double>(dy[i]) * (static_cast<double>(x[i]) - mean);
    });
    if (laneOfGroup() == 0) p.sums[at] = sum, p.products[at] = product;
  }
}
/// batch_norm_internal.h, storeGradients().
MSDBG_KERNEL(batch_norm_grad_settings, BatchNormGradParameters) {
  for (std::int64_t c = globalThread(); c < p.channels; c += allThreads()) {
    const double sum = overImages(p.sums, p.images, p.channels, c), scale = static_cast<double>(p.scale[c]),
                 inverse = static_cast<double>(p.inverse[c]),
                 product = overImages(p.products, p.images, p.channels, c) * inverse;
    p.dScale[c] = static_cast<float>(product);
    p.dB[c] = static_cast<float>(sum);
    const double share = p.training ? 1 / static_cast<double>(p.images * p.plane) : 0;
    p.settings[c] = {static_cast<float>(scale * inverse), p.mean[c],
                     share == 0 ? 0.0f : static_cast<float>(sum * share),
                     share == 0 ? 0.0f : static_cast<float>(product * inverse * share)};
  }
}
MSDBG_KERNEL(batch_norm_grad, BatchNormGradParameters) {
  for (std::int64_t i = globalThread(); i < p.images * p.channels * p.plane; i += allThreads()) {
    const NormalGradSettings& s = p.settings[divided(divided(i, p.plane).quotient, p.channels).rest];
    p.dx[i] = p.training ? normalGradOf(s, p.dy[i], p.x[i]) : p.dy[i] * s.factor;
  }
}

}  // namespace msdbg::core::device
