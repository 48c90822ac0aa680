// What BatchNormalization and its gradient share: X as channels, each a set of rows of one plane per image.
// Pure functions.
#pragma once

#include "core_engine/ops/infer.h"

namespace msdbg::core {

/// X [N, C, …]: plane p of image n and channel c begins at (n * channels + c) * plane.
struct ChannelPlanes {
  std::int64_t images = 1, channels = 1, plane = 1;
  std::int64_t begin(std::int64_t image, std::int64_t channel) const {
    return (image * channels + channel) * plane;
  }
  std::int64_t count() const { return images * plane; }  // elements of a channel
};

inline ChannelPlanes channelPlanes(const Shape& x) {
  ChannelPlanes p{x[0], x[1], 1};
  for (std::size_t d = 2; d < x.rank(); ++d) p.plane *= x[d];
  return p;
}

/// f(offset of the first element of a plane) for the planes of a channel, in order.
template <typename F>
void forPlanes(const ChannelPlanes& p, std::int64_t channel, const F& f) {
  for (std::int64_t image = 0; image < p.images; ++image) f(p.begin(image, channel));
}

/// [C] for X [N, C, …]; kUsage when X has no channels.
inline Result<Shape> channelShape(std::string_view op, const TensorType& x) {
  if (x.shape.rank() >= 2) return Shape{x.shape[1]};
  return inferError(op, describeInput("X", x) + ", but [N, C, …] was expected");
}

inline bool batchNormTrains(const Attributes& attributes) {
  return intAttribute(attributes, "training_mode", 0) != 0;
}

}  // namespace msdbg::core
