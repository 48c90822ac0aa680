// What `digits`, `mnist` and `cifar10` share: an ImageSource draws one image of bytes by number; ImageLoader
// turns a slice of it into shuffled batches of a model's size and says what they were made from. A source is
// immutable; any thread may draw.
#pragma once

#include <memory>
#include <span>

#include "core_engine/train/augment_internal.h"
#include "core_engine/train/data.h"
#include "core_engine/train/sample_order_internal.h"

namespace msdbg::core {

class ImageSource {
 public:
  virtual ~ImageSource() = default;
  virtual std::int64_t samples() const = 0;  // in one epoch
  /// Whether there are samples beyond samples(): every epoch then has new ones, in the order of their
  /// numbers.
  virtual bool endless() const { return false; }
  virtual ImageSpec size() const = 0;  // of its images
  /// Draws sample `index` as channels x height x width (of gray ones, 255 is ink); returns its label.
  virtual std::uint8_t draw(std::int64_t index, std::span<std::uint8_t> image) const = 0;
  virtual std::string describe(std::int64_t samples) const = 0;
};

/// Sources; digits are drawn in the height and width of `image`.
std::unique_ptr<ImageSource> makeDigits(std::uint64_t seed, const ImageSpec& image);
Result<std::unique_ptr<ImageSource>> openMnist(const std::string& folder);
Result<std::unique_ptr<ImageSource>> openCifar10(const std::string& path);

/// kUsage: the slice is not inside the source, or its images have other channels than the model.
Result<std::unique_ptr<DataLoader>> makeImageLoader(std::unique_ptr<ImageSource> source,
                                                    const LoaderOptions& options,
                                                    const Augmentation& augmentation);

}  // namespace msdbg::core
