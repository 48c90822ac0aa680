// What inputs are made from: the recipe by closed forms, the loaders' own words about their batches,
// refusals.
#include "core_engine/tensor/input_source.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "core_engine/train/data.h"
#include "tests/support/temp_dir.h"
#include "tests/train/idx_writer.h"
#include "tests/train/mnist_dir.h"

using namespace msdbg;
using namespace msdbg::core;
using Catch::Matchers::Contains;

namespace {

bool sameBits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

const InputSource& sourceOf(const Batch& batch, const std::string& name) {
  for (const auto& [known, source] : batch.sources)
    if (known == name) return source;
  throw std::runtime_error("no source of " + name);
}

Tensor bytes(Shape shape, const std::vector<std::uint8_t>& values) {
  return Tensor::of<std::uint8_t>(std::move(shape), values);
}

/// That the loader's sources make its batch, and how many bytes they have.
std::size_t checkRemade(const DataLoader& loader, std::int64_t iteration) {
  const Batch batch = loader.batch(Iteration(iteration), Rank(0), 1);
  REQUIRE(batch.sources.size() == batch.tensors.size());
  std::size_t size = 0;
  for (const auto& [name, tensor] : batch.tensors) {
    const InputSource& source = sourceOf(batch, name);
    CHECK(sameBits(*makeInput(source, tensor.dtype(), tensor.shape()), tensor));
    CHECK(makes(source, tensor));
    CHECK(makes({source.values, source.divisor}, tensor));
    Tensor changed = tensor.clone();
    auto* const first = static_cast<std::byte*>(changed.raw());
    first[changed.bytes() / 2] ^= std::byte{1};
    CHECK_FALSE(makes(source, changed));
    CHECK_FALSE(makes({source.values, source.divisor}, changed));
    size += source.values.bytes();
  }
  return size;
}

std::string refusal(const InputSource& source, DType dtype, const Shape& shape) {
  const auto made = makeInput(source, dtype, shape);
  REQUIRE_FALSE(made.ok());
  CHECK(made.error().code() == ErrorCode::kUsage);
  return made.error().message();
}

}  // namespace

TEST_CASE("pixels become floats divided, in every channel; integers are converted") {
  const InputSource pixels{bytes({2, 1, 1, 2}, {0, 1, 128, 255}), 255};
  const Tensor x = *makeInput(pixels, DType::Float32, {2, 3, 1, 2});
  const std::uint8_t from[] = {0, 1, 0, 1, 0, 1, 128, 255, 128, 255, 128, 255};
  for (std::size_t i = 0; i < 12; ++i) CHECK(x.data<float>()[i] == static_cast<float>(from[i]) / 255.0f);
  const Tensor wide = *makeInput(pixels, DType::Float64, {2, 1, 1, 2});
  CHECK(wide.data<double>()[1] == static_cast<double>(1.0f / 255.0f));  // float32's rounding, not float64's
  const Tensor tokens = *makeInput({bytes({3}, {7, 0, 255}), 1}, DType::Int64, {3});
  CHECK(std::vector<std::int64_t>(tokens.data<std::int64_t>().begin(), tokens.data<std::int64_t>().end()) ==
        std::vector<std::int64_t>{7, 0, 255});
}

TEST_CASE("a source may have any dtype but bool and complex, and is rounded once") {
  for (const DType dtype : kDTypes) {
    CAPTURE(dtypeName(dtype));
    const double values[] = {0, 1, 2};
    const InputSource source{Tensor::of<double>({3}, values).cast(dtype), 4};
    if (dtype == DType::Bool || isComplex(dtype)) {
      CHECK_THAT(refusal(source, DType::Float32, {3}), Contains(std::string(dtypeName(dtype))));
      continue;
    }
    const Tensor x = makeInput(source, DType::Float32, {3}).orThrow();
    for (std::size_t i = 0; i < 3; ++i) CHECK(x.data<float>()[i] == static_cast<float>(i) / 4);
    CHECK(makeInput({source.values, 1}, DType::Int64, {3}).ok() == !isFloating(dtype));
  }
  const std::int64_t odd =
      (std::int64_t{1} << 60) + (std::int64_t{1} << 36) + 1;  // a double would end in the middle
  const Tensor x = *makeInput({Tensor::scalar(odd), 1}, DType::Float32, {});
  CHECK(x.data<float>()[0] == static_cast<float>(odd));
}

TEST_CASE("the loaders say what their batches are made from, to the bit and a quarter or less of the bytes") {
  const test::TempDir folder;
  test::writePlainMnist(folder.path(), 64, 9);
  for (const std::string& spec : {std::string("digits"), "mnist:" + folder.path().string()})
    for (const ImageSpec& image :
         {ImageSpec{1, 28, 28}, ImageSpec{3, 32, 32}, ImageSpec{2, 9, 9}, ImageSpec{1, 5, 31}}) {
      const auto loader = makeLoader(spec, {.image = image, .batch = 8, .seed = 3}).orThrow();
      const Batch batch = loader->batch(Iteration(0), Rank(0), 1);
      CAPTURE(spec, image.channels, image.height);
      const std::size_t size = checkRemade(*loader, 0);
      checkRemade(*loader, 13);
      CHECK(sourceOf(batch, "x").values.dtype() == DType::UInt8);
      CHECK(sourceOf(batch, "label").values.dtype() == DType::UInt8);
      if (spec == "digits")
        CHECK(size * 4 * static_cast<std::size_t>(image.channels) <= batch.find("x")->bytes() + 1000);
    }
}

TEST_CASE("the real MNIST images, resized to three channels, are made again from their bytes") {
  if (test::mnistDir().empty()) {
    WARN("skipped: no MNIST files (set MSDBG_MNIST_DIR)");
    return;
  }
  const auto loader = makeLoader("mnist:" + test::mnistDir(), {.image = {3, 32, 32}, .batch = 100}).orThrow();
  CHECK(checkRemade(*loader, 5) == 100 * (28 * 28 + 1));
}

TEST_CASE("a source that cannot be the input's is refused before memory is taken") {
  const InputSource pixels{bytes({2, 1, 1, 2}, {0, 1, 128, 255}), 255};
  CHECK_THAT(refusal(pixels, DType::Float32, {3, 1, 1, 2}),
             Contains("uint8[2, 1, 1, 2]") && Contains("float32[3, 1, 1, 2]"));
  CHECK_THAT(refusal(pixels, DType::Float32, {2, 1, 2}), Contains("only images"));
  CHECK_THAT(refusal(pixels, DType::Int64, {2, 1, 1, 2}), Contains("undivided"));
  CHECK_THAT(refusal({bytes({3}, {1, 2, 3}), 1}, DType::Int64, {4}), Contains("same shape"));
  CHECK_THAT(refusal({pixels.values, 0}, DType::Float32, {2, 1, 1, 2}), Contains("divisor"));
  const std::int64_t huge = std::int64_t{1} << 40;
  CHECK_THAT(refusal(pixels, DType::Float32, {2, huge, huge, huge}), Contains("grow too much"));
  CHECK_THAT(refusal(pixels, DType::Float32, {2, 1, 4096, 4096}), Contains("grow too much"));
  CHECK_THAT(refusal(pixels, DType::Float32, {2, 1, -1, 2}), Contains("nothing to convert"));
  CHECK_THAT(refusal({}, DType::Float32, {2}), Contains("nothing to convert"));
}
