#include "core_engine/train/data.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <set>

#include "tests/support/temp_dir.h"
#include "tests/train/idx_writer.h"
#include "tests/train/mnist_dir.h"

using namespace msdbg;
using namespace msdbg::core;
using Catch::Matchers::Contains;

namespace {

std::unique_ptr<DataLoader> loader(const std::string& spec, const LoaderOptions& options) {
  auto made = makeLoader(spec, options);
  if (!made.ok()) FAIL(made.error().message());
  return std::move(made).value();
}

std::vector<std::byte> bytesOf(const Batch& batch, const char* name) {
  const auto bytes = batch.find(name)->byteSpan();
  return {bytes.begin(), bytes.end()};
}

bool same(const Batch& a, const Batch& b) {
  return bytesOf(a, "x") == bytesOf(b, "x") && bytesOf(a, "label") == bytesOf(b, "label");
}

// Of a set written by writePlainMnist: which images a batch holds.
std::vector<int> imagesIn(const Batch& batch) {
  const Tensor& x = *batch.find("x");
  std::vector<int> images;
  const std::int64_t size = x.elements() / x.shape()[0];
  for (std::int64_t row = 0; row < x.shape()[0]; ++row)
    images.push_back(static_cast<int>(std::lround(x.at(row * size) * 255)));
  return images;
}

std::vector<int> epochOf(const DataLoader& data, std::int64_t epoch, int ranks = 1) {
  std::vector<int> images;
  const std::int64_t n = data.iterationsPerEpoch(ranks);
  for (std::int64_t i = epoch * n; i < (epoch + 1) * n; ++i)
    for (int rank = 0; rank < ranks; ++rank)
      for (const int image : imagesIn(data.batch(Iteration{i}, Rank{rank}, ranks))) images.push_back(image);
  return images;
}

}  // namespace

TEST_CASE("digits are a function of the seed") {
  const LoaderOptions options{.batch = 20, .seed = 7};
  const auto a = loader("digits", options), b = loader("digits", options);
  const auto other = loader("digits", {.batch = 20, .seed = 8});
  const Batch batch = a->batch(Iteration{3}, Rank{0}, 1);
  CHECK(same(batch, b->batch(Iteration{3}, Rank{0}, 1)));
  CHECK(same(batch, a->batch(Iteration{3}, Rank{0}, 1)));
  CHECK_FALSE(same(batch, a->batch(Iteration{4}, Rank{0}, 1)));
  CHECK_FALSE(same(batch, other->batch(Iteration{3}, Rank{0}, 1)));
  CHECK(batch.iteration == Iteration{3});
}

TEST_CASE("a batch of images has the model's shape, pixels in [0, 1], equal channels and all ten labels") {
  const auto data = loader("digits", {.image = {3, 32, 30}, .batch = 200});
  const Batch batch = data->batch(Iteration{0}, Rank{0}, 1);
  const Tensor &x = *batch.find("x"), &label = *batch.find("label");
  CHECK(x.shape() == Shape{200, 3, 32, 30});
  CHECK(x.dtype() == DType::Float32);
  CHECK(label.shape() == Shape{200});
  CHECK(label.dtype() == DType::Int64);
  const auto pixels = x.data<float>();
  CHECK(*std::ranges::min_element(pixels) == 0);
  CHECK(*std::ranges::max_element(pixels) <= 1);
  CHECK(*std::ranges::max_element(pixels) > 0.9f);
  const std::size_t plane = 32 * 30;
  CHECK(std::ranges::equal(pixels.subspan(0, plane), pixels.subspan(plane, plane)));
  CHECK(std::ranges::equal(pixels.subspan(0, plane), pixels.subspan(2 * plane, plane)));
  const auto labels = label.data<std::int64_t>();
  CHECK(std::set<std::int64_t>(labels.begin(), labels.end()) ==
        std::set<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(batch.find("y") == nullptr);
}

TEST_CASE("two digits of one label look more alike than two of different labels") {
  const auto data = loader("digits", {.batch = 500});
  const Batch batch = data->batch(Iteration{0}, Rank{0}, 1);
  const auto pixels = batch.find("x")->data<float>();
  const auto labels = batch.find("label")->data<std::int64_t>();
  double distance[2] = {0, 0};
  std::int64_t pairs[2] = {0, 0};
  for (std::size_t a = 0; a < 100; ++a)
    for (std::size_t b = a + 1; b < 500; ++b) {
      double sum = 0;
      for (std::size_t i = 0; i < 784; ++i) sum += std::pow(pixels[a * 784 + i] - pixels[b * 784 + i], 2);
      const bool alike = labels[a] == labels[b];
      distance[alike] += sum;
      ++pairs[alike];
    }
  CHECK(distance[1] / static_cast<double>(pairs[1]) < 0.85 * distance[0] / static_cast<double>(pairs[0]));
}

TEST_CASE("the batches of the ranks make up the batch of one rank") {
  const test::TempDir folder;
  test::writePlainMnist(folder.path(), 256);
  const std::string spec = GENERATE(true, false) ? "digits" : "mnist:" + folder.path().string();
  const int ranks = GENERATE(2, 4);
  const auto whole = loader(spec, {.batch = 64, .seed = 5});
  const auto shared = loader(spec, {.batch = 64 / ranks, .seed = 5});
  CHECK(whole->iterationsPerEpoch(1) == shared->iterationsPerEpoch(ranks));
  for (const std::int64_t i : {0, 2, 4, 9}) {
    std::vector<std::byte> x, label;
    for (int rank = 0; rank < ranks; ++rank) {
      const Batch slice = shared->batch(Iteration{i}, Rank{rank}, ranks);
      for (const std::byte b : bytesOf(slice, "x")) x.push_back(b);
      for (const std::byte b : bytesOf(slice, "label")) label.push_back(b);
    }
    const Batch all = whole->batch(Iteration{i}, Rank{0}, 1);
    CHECK(x == bytesOf(all, "x"));
    CHECK(label == bytesOf(all, "label"));
  }
}

TEST_CASE("an epoch takes every sample once, the next one in another order, and the rest is left out") {
  const test::TempDir folder;
  test::writePlainMnist(folder.path(), 103);
  const auto data = loader("mnist:" + folder.path().string(), {.batch = 10, .seed = 2});
  CHECK(data->iterationsPerEpoch(1) == 10);
  CHECK(data->iterationsPerEpoch(2) == 5);
  const std::vector<int> first = epochOf(*data, 0), second = epochOf(*data, 1);
  CHECK(first.size() == 100);
  CHECK(std::set<int>(first.begin(), first.end()).size() == 100);
  CHECK(std::set<int>(second.begin(), second.end()).size() == 100);
  CHECK(first != second);
  CHECK_FALSE(std::ranges::is_sorted(first));
  CHECK(epochOf(*data, 0, 2) == first);
  const auto other = loader("mnist:" + folder.path().string(), {.batch = 10, .seed = 3});
  CHECK(epochOf(*other, 0) != first);
}

TEST_CASE("a slice of the data set gives its own samples only; unshuffled it wraps around") {
  const test::TempDir folder;
  test::writePlainMnist(folder.path(), 50);
  const LoaderOptions slice{.batch = 4, .firstSample = 40, .samples = 10, .shuffle = false};
  const auto data = loader("mnist:" + folder.path().string(), slice);
  CHECK(imagesIn(data->batch(Iteration{0}, Rank{0}, 1)) == std::vector<int>{40, 41, 42, 43});
  CHECK(imagesIn(data->batch(Iteration{2}, Rank{0}, 1)) == std::vector<int>{48, 49, 40, 41});
  CHECK(data->batch(Iteration{2}, Rank{0}, 1).find("label")->at(1) == 9);
  CHECK_THAT(data->description(), Contains("MNIST, 10 images") && Contains(folder.path().string()));
}

TEST_CASE("digits never repeat, unless a slice of them was asked for") {
  const auto endless = loader("digits", {.batch = 4000});
  CHECK(endless->iterationsPerEpoch(1) == 2);
  const auto sliced = loader("digits", {.batch = 5, .firstSample = 100000, .samples = 5});
  const auto sum = [](const Batch& batch) {  // of whole multiples of 1/255: exact in any order
    double total = 0;
    for (const float pixel : batch.find("x")->data<float>()) total += std::lround(pixel * 255);
    return total;
  };
  CHECK(sum(sliced->batch(Iteration{0}, Rank{0}, 1)) == sum(sliced->batch(Iteration{1}, Rank{0}, 1)));
  const auto few = loader("digits", {.batch = 5});
  CHECK_FALSE(same(few->batch(Iteration{0}, Rank{0}, 1), few->batch(Iteration{1600}, Rank{0}, 1)));
}

TEST_CASE("images are resized bilinearly") {
  const test::TempDir folder;
  test::writeFile(folder / "t10k-images.idx3-ubyte", test::idxText({1, 1, 2}, std::string{'\x00', '\x64'}));
  test::writeFile(folder / "t10k-labels.idx1-ubyte", test::idxText({1}, std::string{'\x03'}));
  const auto data = loader("mnist:" + folder.path().string(), {.image = {1, 2, 4}, .batch = 1});
  const Batch batch = data->batch(Iteration{0}, Rank{0}, 1);
  const double expected[] = {0, 25, 75, 100, 0, 25, 75, 100};  // a quarter and three quarters of the way
  for (std::int64_t i = 0; i < 8; ++i)
    CHECK(batch.find("x")->at(i) * 255 == Approx(expected[i]).margin(1e-4));
}

TEST_CASE("data that is not known, or cannot be, is refused with what would do") {
  const auto message = [](const std::string& spec, const LoaderOptions& options, ErrorCode code) {
    const auto made = makeLoader(spec, options);
    REQUIRE_FALSE(made.ok());
    CHECK(made.error().code() == code);
    return made.error().message();
  };
  CHECK_THAT(message("cifar", {}, ErrorCode::kUsage),
             Contains("'cifar'") && Contains("digits") && Contains("mnist:DIR"));
  CHECK_THAT(message("mnist:", {}, ErrorCode::kUsage), Contains("mnist:DIR"));
  CHECK_THAT(message("digits", {.batch = 0}, ErrorCode::kUsage), Contains("batch of 0"));
  CHECK_THAT(message("digits", {.image = {1, 0, 5}}, ErrorCode::kUsage), Contains("pixels"));
  CHECK_THAT(message("mnist:/no/such/folder", {}, ErrorCode::kMissing), Contains("/no/such/folder"));
  const test::TempDir folder;
  test::writePlainMnist(folder.path(), 20);
  const std::string spec = "mnist:" + folder.path().string();
  CHECK_THAT(message(spec, {.firstSample = 15, .samples = 6}, ErrorCode::kUsage),
             Contains("15 to 20") && Contains("20 images"));
  CHECK_THAT(message(spec, {.firstSample = 20}, ErrorCode::kUsage), Contains("20 images"));
}

TEST_CASE("the real MNIST test set is read from gzip'd files") {
  const std::string folder = test::mnistDir();
  if (folder.empty()) {
    WARN("skipped: no MNIST files (set MSDBG_MNIST_DIR)");
    return;
  }
  const auto data = loader("mnist:" + folder, {.batch = 10000, .shuffle = false});
  const Batch batch = data->batch(Iteration{0}, Rank{0}, 1);
  const auto labels = batch.find("label")->data<std::int64_t>();
  CHECK(std::vector<std::int64_t>(labels.begin(), labels.begin() + 10) ==
        std::vector<std::int64_t>{7, 2, 1, 0, 4, 1, 4, 9, 5, 9});  // known to everybody
  const auto pixels = batch.find("x")->data<float>();
  const double mean = std::accumulate(pixels.begin(), pixels.end(), 0.0) / static_cast<double>(pixels.size());
  CHECK(mean == Approx(0.1325).margin(0.0005));  // of the 10,000 test images
}
