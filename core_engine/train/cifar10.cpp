// `cifar10:PATH`: CIFAR-10 in its binary version (https://www.cs.toronto.edu/~kriz/cifar.html). A row is a
// byte of label and 3072 of pixels: 32 x 32 red ones, green, blue. A folder is its five training files, or
// its test file where it has none of those; a file is itself. Read at once (50,000 images are 150 MB); not
// trusted: sizes and labels are checked.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "core_engine/train/image_loader_internal.h"

namespace msdbg::core {
namespace {

namespace fs = std::filesystem;

constexpr ImageSpec kImage{3, 32, 32};
constexpr std::size_t kPixels = 3 * 32 * 32, kRow = 1 + kPixels;
constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30;  // of a file; CIFAR-10's have 31 MB
constexpr std::uint8_t kLabels = 10;

class Cifar10 : public ImageSource {
 public:
  Cifar10(std::string path, std::vector<std::uint8_t> rows)
      : m_path(std::move(path)), m_rows(std::move(rows)) {}

  std::int64_t samples() const override { return static_cast<std::int64_t>(m_rows.size() / kRow); }
  std::string describe(std::int64_t samples) const override {
    return "CIFAR-10, " + std::to_string(samples) + " images, from " + m_path;
  }
  ImageSpec size() const override { return kImage; }
  std::uint8_t draw(std::int64_t index, std::span<std::uint8_t> image) const override {
    const auto row = m_rows.begin() + index * static_cast<std::int64_t>(kRow);
    std::copy_n(row + 1, kPixels, image.begin());
    return *row;
  }

 private:
  std::string m_path;
  std::vector<std::uint8_t> m_rows;
};

Error inFile(ErrorCode code, const fs::path& path, const std::string& what) {
  return {code, "cifar10: " + path.string() + ": " + what};
}

Result<std::size_t> sizeOf(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return inFile(ErrorCode::kMissing, path, "there is no such file");
  if (!fs::is_regular_file(path, error)) return inFile(ErrorCode::kUsage, path, "is no file to read");
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) return inFile(ErrorCode::kIo, path, error.message());
  if (size == 0 || size > kMostBytes || size % kRow != 0)
    return inFile(ErrorCode::kDamaged, path,
                  std::to_string(size) + " bytes are no whole number of images of " + std::to_string(kRow) +
                      " bytes: not CIFAR-10's binary version, or not all of it");
  return static_cast<std::size_t>(size);
}

Status appendFile(const fs::path& path, std::vector<std::uint8_t>& rows) {
  MSDBG_ASSIGN(const std::size_t size, sizeOf(path));
  const std::size_t before = rows.size();
  rows.resize(before + size);
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(rows.data() + before), static_cast<std::streamsize>(size)))
    return inFile(ErrorCode::kIo, path, std::string("cannot be read: ") + std::strerror(errno));
  for (std::size_t at = before; at < rows.size(); at += kRow)
    if (rows[at] >= kLabels)
      return inFile(ErrorCode::kDamaged, path,
                    "label " + std::to_string(rows[at]) + " of image " +
                        std::to_string((at - before) / kRow) + " is none of the ten");
  return Ok{};
}

Result<std::vector<fs::path>> filesOf(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return std::vector{path};
  std::vector<fs::path> files;
  bool any = false;
  for (int i = 1; i <= 5; ++i) {
    files.push_back(path / ("data_batch_" + std::to_string(i) + ".bin"));
    any = any || fs::exists(files.back(), ignored);
  }
  if (any) return files;  // one that is missing is told
  if (fs::exists(path / "test_batch.bin", ignored)) return std::vector{path / "test_batch.bin"};
  return inFile(ErrorCode::kMissing, path,
                "neither data_batch_1.bin to data_batch_5.bin nor test_batch.bin are in it");
}

}  // namespace

Result<std::unique_ptr<ImageSource>> openCifar10(const std::string& path) {
  MSDBG_ASSIGN(const std::vector<fs::path> files, filesOf(path));
  std::vector<std::uint8_t> rows;
  for (const fs::path& file : files) MSDBG_TRY(appendFile(file, rows));
  return std::unique_ptr<ImageSource>(std::make_unique<Cifar10>(path, std::move(rows)));
}

}  // namespace msdbg::core
