// Files that are not what they should be: one clear line each, whatever their header promises.
#include <zlib.h>

#include <catch2/catch.hpp>

#include "core_engine/train/data.h"
#include "tests/support/temp_dir.h"
#include "tests/train/idx_writer.h"

using namespace msdbg;
using namespace msdbg::core;
using Catch::Matchers::Contains;

namespace {

constexpr const char* kImages = "train-images-idx3-ubyte";
constexpr const char* kLabels = "train-labels-idx1-ubyte";

std::string gzipped(const std::string& text) {
  const test::TempDir folder;
  const std::string path = (folder / "a.gz").string();
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Bytes that do not get smaller when packed.
std::string unpackable(std::size_t count) {
  std::string bytes;
  for (std::uint32_t state = 1; bytes.size() < count; state = state * 1664525 + 1013904223)
    bytes += static_cast<char>(state >> 24);
  return bytes;
}

Error errorOf(const std::filesystem::path& folder) {
  const auto made = makeLoader("mnist:" + folder.string(), {.batch = 1});
  if (made.ok()) return {ErrorCode::kInternal, "no error"};
  return made.error();
}

const std::string kGood = test::idxText({2, 2, 2}, "abcdefgh");

}  // namespace

TEST_CASE("plain and gzip'd IDX files give the same images") {
  const test::TempDir plain, packed;
  test::writeFile(plain / kImages, kGood);
  test::writeFile(plain / kLabels, test::idxText({2}, std::string{1, 2}));
  test::writeFile(packed / "t10k-images-idx3-ubyte.gz", gzipped(kGood));
  test::writeFile(packed / "t10k-labels-idx1-ubyte.gz", gzipped(test::idxText({2}, std::string{1, 2})));
  const LoaderOptions options{.image = {1, 2, 2}, .batch = 2, .shuffle = false};
  const auto a = makeLoader("mnist:" + plain.path().string(), options);
  const auto b = makeLoader("mnist:" + packed.path().string(), options);
  REQUIRE(a.ok());
  REQUIRE(b.ok());
  const Batch x = (*a)->batch(Iteration{0}, Rank{0}, 1), y = (*b)->batch(Iteration{0}, Rank{0}, 1);
  for (std::int64_t i = 0; i < 8; ++i) {
    CHECK(x.find("x")->at(i) == Approx(("abcdefgh"[i]) / 255.0));
    CHECK(x.find("x")->at(i) == y.find("x")->at(i));
  }
}

TEST_CASE("a damaged image file is named, and what is wrong with it") {
  struct Case {
    const char* what;
    std::string text;
    const char* said;
  };
  const std::string broken = [] {
    std::string t = gzipped(kGood);
    t[t.size() - 6] ^= 1;
    return t;
  }();
  const std::string cut = gzipped(test::idxText({200, 28, 28}, unpackable(200 * 784)));
  const Case c = GENERATE_COPY(
      Case{"empty", "", "ends within its header"},
      Case{"cut in its header", kGood.substr(0, 9), "ends within its header"},
      Case{"cut in its data", kGood.substr(0, kGood.size() - 1), "shorter than its header says"},
      Case{"too long", kGood + "i", "longer than its header says"},
      Case{"of no images", test::idxText({0, 2, 2}, ""), "is empty"},
      Case{"a label file", test::idxText({2}, "ab"), "magic number"},
      Case{"text", "hello, this is not an IDX file", "magic number"},
      Case{"promising 64 bits of bytes", test::idxText({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, "abc"),
           "shorter than its header says"},
      Case{"promising 2 GB when unpacked", gzipped(test::idxText({2048, 1024, 1024}, "abc")),
           "shorter than its header says"},
      Case{"with a wrong check sum", broken, "incorrect data check"},
      Case{"cut when packed", cut.substr(0, cut.size() / 2), "ends within its data"});
  INFO(c.what);
  const test::TempDir folder;
  test::writeFile(folder / kImages, c.text);
  test::writeFile(folder / kLabels, test::idxText({2}, std::string{1, 2}));
  const Error error = errorOf(folder.path());
  CHECK(error.code() == ErrorCode::kDamaged);
  CHECK_THAT(error.message(), Contains((folder / kImages).string()) && Contains(c.said));
}

TEST_CASE("labels that do not fit the images are refused") {
  const test::TempDir folder;
  test::writeFile(folder / kImages, kGood);
  CHECK(errorOf(folder.path()).code() == ErrorCode::kMissing);
  CHECK_THAT(errorOf(folder.path()).message(), Contains("train-labels-idx1-ubyte"));
  test::writeFile(folder / kLabels, test::idxText({3}, std::string{1, 2, 3}));
  CHECK_THAT(errorOf(folder.path()).message(), Contains("3 labels for 2 images"));
  test::writeFile(folder / kLabels, test::idxText({2}, std::string{1, 11}));
  CHECK_THAT(errorOf(folder.path()).message(), Contains("label 11 of image 1"));
  CHECK(errorOf(folder.path()).code() == ErrorCode::kDamaged);
}
