// `mnist:DIR`: the images and labels of one of MNIST's two sets, read at once (10,000 images are 8 MB).
#include <algorithm>

#include "core_engine/train/idx_file_internal.h"
#include "core_engine/train/image_loader_internal.h"

namespace msdbg::core {
namespace {

namespace fs = std::filesystem;

class Mnist : public ImageSource {
 public:
  Mnist(std::string folder, IdxFile images, IdxFile labels)
      : m_folder(std::move(folder)), m_images(std::move(images)), m_labels(std::move(labels)) {}

  std::int64_t samples() const override { return m_images.dims[0]; }
  std::string describe(std::int64_t samples) const override {
    return "MNIST, " + std::to_string(samples) + " images, from " + m_folder;
  }

  ImageSpec size() const override { return {1, m_images.dims[1], m_images.dims[2]}; }
  std::uint8_t draw(std::int64_t index, std::span<std::uint8_t> image) const override {
    const auto first = m_images.bytes.begin() + index * static_cast<std::int64_t>(image.size());
    std::copy_n(first, image.size(), image.begin());
    return m_labels.bytes[static_cast<std::size_t>(index)];
  }

 private:
  std::string m_folder;
  IdxFile m_images, m_labels;
};

/// The file under any of the names in use; empty when there is none.
fs::path findFile(const fs::path& folder, const std::string& set, const std::string& what) {
  std::error_code ignored;
  for (const char* separator : {"-", "."})
    for (const char* ending : {"", ".gz"}) {
      const std::string rank = what == "images" ? "idx3" : "idx1";
      const fs::path path = folder / (set + "-" + what + separator + rank + "-ubyte" + ending);
      if (fs::is_regular_file(path, ignored)) return path;
    }
  return {};
}

Status checkPair(const IdxFile& images, const fs::path& imagePath, const IdxFile& labels,
                 const fs::path& labelPath) {
  if (images.dims[1] > 4096 || images.dims[2] > 4096)
    return Error(ErrorCode::kDamaged, imagePath.string() + ": images of more than 4096 pixels a side");
  if (labels.dims[0] != images.dims[0])
    return Error(ErrorCode::kDamaged, labelPath.string() + ": " + std::to_string(labels.dims[0]) +
                                          " labels for " + std::to_string(images.dims[0]) + " images in " +
                                          imagePath.string());
  const auto wrong = std::ranges::find_if(labels.bytes, [](std::uint8_t label) { return label > 9; });
  if (wrong != labels.bytes.end())
    return Error(ErrorCode::kDamaged, labelPath.string() + ": label " + std::to_string(*wrong) +
                                          " of image " + std::to_string(wrong - labels.bytes.begin()) +
                                          " is not a digit");
  return Ok{};
}

}  // namespace

Result<std::unique_ptr<ImageSource>> openMnist(const std::string& folder) {
  std::string set = "train";
  fs::path imagePath = findFile(folder, set, "images");
  if (imagePath.empty()) imagePath = findFile(folder, set = "t10k", "images");
  if (imagePath.empty())
    return Error(ErrorCode::kMissing,
                 "mnist: no train-images-idx3-ubyte or t10k-images-idx3-ubyte (or .gz) in " + folder);
  const fs::path labelPath = findFile(folder, set, "labels");
  if (labelPath.empty())
    return Error(ErrorCode::kMissing,
                 "mnist: " + imagePath.string() + " has no " + set + "-labels-idx1-ubyte (or .gz) beside it");
  MSDBG_ASSIGN(IdxFile images, readIdx(imagePath, 3));
  MSDBG_ASSIGN(IdxFile labels, readIdx(labelPath, 1));
  MSDBG_TRY(checkPair(images, imagePath, labels, labelPath));
  return std::unique_ptr<ImageSource>(std::make_unique<Mnist>(folder, std::move(images), std::move(labels)));
}

}  // namespace msdbg::core
