#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core_engine/base/philox.h"
#include "core_engine/train/augment_internal.h"

namespace msdbg::core {
namespace {

/// The image moved by (down, right); black comes in.
void shift(std::span<std::uint8_t> image, const ImageSpec& size, std::int64_t down, std::int64_t right) {
  const std::vector<std::uint8_t> before(image.begin(), image.end());
  std::ranges::fill(image, std::uint8_t{0});
  const std::int64_t width = size.width - std::min(std::abs(right), size.width);
  const std::int64_t from = std::max<std::int64_t>(0, -right), to = std::max<std::int64_t>(0, right);
  if (width == 0) return;
  for (std::int64_t line = 0; line < size.channels * size.height; ++line) {
    const std::int64_t source = line % size.height - down;
    if (source < 0 || source >= size.height) continue;
    const auto first = before.begin() + (line - down) * size.width + from;
    std::copy_n(first, width, image.begin() + line * size.width + to);
  }
}

void mirror(std::span<std::uint8_t> image, const ImageSpec& size) {
  for (std::int64_t line = 0; line < size.channels * size.height; ++line)
    std::ranges::reverse(
        image.subspan(static_cast<std::size_t>(line * size.width), static_cast<std::size_t>(size.width)));
}

}  // namespace

void augment(std::span<std::uint8_t> image, const ImageSpec& size, const Augmentation& augmentation,
             std::uint64_t seed, std::int64_t epoch, std::int64_t place) {
  const RandomStream random(seed, "data/augment", epoch);
  const auto draw = [&](std::uint64_t which, std::uint64_t choices) {  // 0 … choices - 1
    return static_cast<std::int64_t>(
        std::uint64_t{random.bits(3 * static_cast<std::uint64_t>(place) + which)} * choices >> 32);
  };
  constexpr std::uint64_t kOffsets = 2 * kCropPadding + 1;
  if (augmentation.crop)
    shift(image, size, draw(0, kOffsets) - kCropPadding, draw(1, kOffsets) - kCropPadding);
  if (augmentation.flip && draw(2, 2) == 1) mirror(image, size);
}

std::string augmentationText(const Augmentation& augmentation) {
  if (!augmentation.any()) return "";
  const bool both = augmentation.flip && augmentation.crop;
  return std::string(", ") + (augmentation.flip ? "flipped" : "") + (both ? " and " : "") +
         (augmentation.crop ? "cropped" : "") + " at random";
}

}  // namespace msdbg::core
