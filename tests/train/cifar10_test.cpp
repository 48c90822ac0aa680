// CIFAR-10's binary files, written here by the description of the format: a byte of label, then 1024 red,
// 1024 green, 1024 blue pixels, row by row.
#include <catch2/catch.hpp>
#include <fstream>

#include "core_engine/train/data.h"
#include "tests/support/temp_dir.h"

using namespace msdbg;
using namespace msdbg::core;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

std::string imageText(int label, int image) {
  std::string text(1, static_cast<char>(label));
  for (int channel = 0; channel < 3; ++channel)
    for (int pixel = 0; pixel < 1024; ++pixel)
      text += static_cast<char>((image * 7 + channel * 50 + pixel / 32 * 3 + pixel % 32) % 256);
  return text;
}

void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

/// Images `first` to `first + count - 1`; image i has the label i % 10.
void writeImages(const fs::path& path, int first, int count) {
  std::string text;
  for (int i = first; i < first + count; ++i) text += imageText(i % 10, i);
  write(path, text);
}

void writeSet(const test::TempDir& folder, int each = 3) {
  for (int i = 0; i < 5; ++i)
    writeImages(folder / ("data_batch_" + std::to_string(i + 1) + ".bin"), i * each, each);
  writeImages(folder / "test_batch.bin", 100, 2);
}

std::unique_ptr<DataLoader> loader(const std::string& spec, LoaderOptions options) {
  options.image = {3, 32, 32};
  return makeLoader(spec, options).orThrow();
}

std::string refused(const std::string& spec, ErrorCode code, const ImageSpec& image = {3, 32, 32}) {
  const auto made = makeLoader(spec, {.image = image, .batch = 1});
  REQUIRE_FALSE(made.ok());
  CHECK(made.error().code() == code);
  return made.error().message();
}

}  // namespace

TEST_CASE("CIFAR-10 is read image by image, channel by channel, in the order of its five files") {
  const test::TempDir folder;
  writeSet(folder);
  const auto data = loader("cifar10:" + folder.path().string(), {.batch = 15, .shuffle = false});
  CHECK(data->description() == "CIFAR-10, 15 images, from " + folder.path().string());
  const Batch batch = data->batch(Iteration(0), Rank(0), 1);
  const Tensor &x = *batch.find("x"), &label = *batch.find("label");
  REQUIRE(x.shape() == Shape{15, 3, 32, 32});
  for (std::int64_t i = 0; i < 15; ++i) {
    CHECK(label.at(i) == static_cast<double>(i % 10));
    for (const auto& [channel, row, column] : {std::tuple{0, 0, 0}, {0, 2, 5}, {1, 31, 0}, {2, 30, 31}}) {
      const std::int64_t byte = (i * 7 + channel * 50 + row * 3 + column) % 256;
      CHECK(x.at(((i * 3 + channel) * 32 + row) * 32 + column) ==
            static_cast<double>(static_cast<float>(byte) / 255.0f));
    }
  }
  REQUIRE(batch.sources.size() == 2);  // what a recording keeps: a byte a pixel
  CHECK(batch.sources[0].second.values.bytes() == 15 * 3072);
}

TEST_CASE("a single file of CIFAR-10 is read by itself, and a folder with the test file alone too") {
  const test::TempDir folder, other;
  writeSet(folder);
  const auto test = loader("cifar10:" + (folder / "test_batch.bin").string(), {.batch = 2, .shuffle = false});
  fs::copy(folder / "test_batch.bin", other / "test_batch.bin");
  const auto alone = loader("cifar10:" + other.path().string(), {.batch = 2, .shuffle = false});
  for (const auto* data : {test.get(), alone.get()}) {
    const Batch batch = data->batch(Iteration(0), Rank(0), 1);
    CHECK(batch.find("x")->at(0) == static_cast<double>(static_cast<float>(700 % 256) / 255.0f));
    CHECK(batch.find("label")->at(1) == 1);
  }
}

TEST_CASE("files that are not CIFAR-10's are refused with the file and what is wrong with it") {
  const test::TempDir folder;
  const std::string spec = "cifar10:" + folder.path().string();
  CHECK_THAT(refused(spec, ErrorCode::kMissing), Contains("data_batch_1.bin") && Contains("test_batch.bin"));
  CHECK_THAT(refused("cifar10:/no/such/file.bin", ErrorCode::kMissing), Contains("/no/such/file.bin"));
  CHECK_THAT(refused("cifar10:/dev/null", ErrorCode::kUsage), Contains("no file"));
  CHECK_THAT(refused("cifar10:", ErrorCode::kUsage), Contains("cifar10:PATH"));
  writeSet(folder);
  fs::remove(folder / "data_batch_4.bin");
  CHECK_THAT(refused(spec, ErrorCode::kMissing), Contains("data_batch_4.bin") && Contains("no such file"));
  for (const std::size_t size : {0, 1, 3072, 3074, 2 * 3073 - 1}) {
    write(folder / "data_batch_4.bin", std::string(size, '\1'));
    CHECK_THAT(refused(spec, ErrorCode::kDamaged),
               Contains("data_batch_4.bin: " + std::to_string(size) + " bytes") && Contains("3073"));
  }
  write(folder / "data_batch_4.bin", imageText(9, 0) + imageText(10, 0));
  CHECK_THAT(refused(spec, ErrorCode::kDamaged),
             Contains("label 10 of image 1") && Contains("data_batch_4.bin"));
  write(folder / "data_batch_4.bin", imageText(9, 0));
  CHECK_THAT(refused(spec, ErrorCode::kUsage, {1, 28, 28}), Contains("1 channel") && Contains("have 3"));
  CHECK(makeLoader(spec, {.image = {3, 24, 24}, .batch = 1}).ok());  // resized
}
