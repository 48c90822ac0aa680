// Random flips and crops of images, as they are usual for CIFAR-10 (He et al. 2016, section 4.2): mirrored
// with probability 1/2; padded by 4 black pixels on each side and cut out again anywhere. What is drawn
// depends on (seed, epoch, place of the image in the epoch over all ranks) alone. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core_engine/train/data.h"

namespace msdbg::core {

inline constexpr std::int64_t kCropPadding = 4;

struct Augmentation {
  bool flip = false, crop = false;
  bool any() const { return flip || crop; }
};

/// In place; image is channels x height x width.
void augment(std::span<std::uint8_t> image, const ImageSpec& size, const Augmentation& augmentation,
             std::uint64_t seed, std::int64_t epoch, std::int64_t place);

/// ", flipped and cropped at random"; "" for none.
std::string augmentationText(const Augmentation& augmentation);

}  // namespace msdbg::core
