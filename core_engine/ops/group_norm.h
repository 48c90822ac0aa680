// What GroupNormalization and its gradient share: X [N, C, …] as groups of neighbouring channels, each
// normalised by itself. Pure functions.
#pragma once

#include "core_engine/ops/infer.h"

namespace msdbg::core {

/// Group g of image n begins at (n * groups + g) * length() and holds `channels` planes.
struct NormalGroups {
  std::int64_t images = 1, groups = 1, channels = 1 /* of a group */, plane = 1;
  std::int64_t count() const { return images * groups; }
  std::int64_t length() const { return channels * plane; }
  /// The first channel of a group, which is counted over all images.
  std::int64_t firstChannel(std::int64_t group) const { return group % groups * channels; }
  Shape channel() const { return {groups * channels}; }
  Shape mean() const { return {images, groups}; }
};

/// kUsage: X has no channels, or num_groups does not divide them.
inline Result<NormalGroups> normalGroups(std::string_view op, const TensorType& x,
                                         const Attributes& attributes) {
  if (x.shape.rank() < 2) return inferError(op, describeInput("X", x) + ", but [N, C, …] was expected");
  const std::int64_t groups = intAttribute(attributes, "num_groups", 0), channels = x.shape[1];
  if (groups < 1 || channels % groups != 0)
    return inferError(op, "attribute num_groups is " + std::to_string(groups) + ", but a divisor of the " +
                              std::to_string(channels) + " channels was expected");
  NormalGroups g{x.shape[0], groups, channels / groups, 1};
  for (std::size_t d = 2; d < x.shape.rank(); ++d) g.plane *= x.shape[d];
  return g;
}

inline AttributeDoc numGroupsAttribute() {
  return {"num_groups", "int", "required", "how many groups the channels form; a divisor of their number"};
}

}  // namespace msdbg::core
