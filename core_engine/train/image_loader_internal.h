// What `digits` and `mnist` share: an ImageSource draws one gray image by number; ImageLoader turns a slice
// of it into shuffled batches of a model's size. A source is immutable; any thread may draw.
#pragma once

#include <memory>
#include <mutex>
#include <span>

#include "core_engine/train/data.h"

namespace msdbg::core {

class ImageSource {
 public:
  virtual ~ImageSource() = default;
  virtual std::int64_t samples() const = 0;  // in one epoch
  /// Whether there are samples beyond samples(): every epoch then has new ones, in the order of their
  /// numbers.
  virtual bool endless() const { return false; }
  /// Draws sample `index` as image height x width in [0, 1]; returns its label.
  virtual std::int64_t draw(std::int64_t index, std::span<float> image) const = 0;
  virtual std::string describe(std::int64_t samples) const = 0;
};

/// Sources; `image` gives height and width.
std::unique_ptr<ImageSource> makeDigits(std::uint64_t seed, const ImageSpec& image);
Result<std::unique_ptr<ImageSource>> openMnist(const std::string& folder, const ImageSpec& image);

/// kUsage: the slice is not inside the source.
Result<std::unique_ptr<DataLoader>> makeImageLoader(std::unique_ptr<ImageSource> source,
                                                    const LoaderOptions& options);

/// A permutation of 0 … count-1 that depends on seed and epoch alone (Fisher-Yates over a Philox stream).
std::vector<std::int64_t> shuffledOrder(std::int64_t count, std::uint64_t seed, std::int64_t epoch);

}  // namespace msdbg::core
