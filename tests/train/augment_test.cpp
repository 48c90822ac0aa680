// Flips and crops: found again in the batch by trying all 81 places and both directions.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "core_engine/train/data.h"
#include "tests/support/temp_dir.h"
#include "tests/train/idx_writer.h"

using namespace msdbg;
using namespace msdbg::core;
using Catch::Matchers::Contains;

namespace {

constexpr std::int64_t kSide = 12;
using Image = std::vector<int>;

/// Every pixel of every image is different from its neighbours, none is black.
int pixelAt(int image, std::int64_t row, std::int64_t column) {
  return static_cast<int>(1 + (image * 31 + row * 17 + column * 5) % 255);
}

void writeImages(const test::TempDir& folder, int count) {
  std::string pixels, labels;
  for (int i = 0; i < count; ++i) {
    for (std::int64_t row = 0; row < kSide; ++row)
      for (std::int64_t column = 0; column < kSide; ++column)
        pixels += static_cast<char>(pixelAt(i, row, column));
    labels += static_cast<char>(i % 10);
  }
  const auto number = static_cast<std::uint32_t>(count);
  test::writeFile(folder / "train-images-idx3-ubyte", test::idxText({number, kSide, kSide}, pixels));
  test::writeFile(folder / "train-labels-idx1-ubyte", test::idxText({number}, labels));
}

/// Where an image of the batch was cut out, and whether it was mirrored.
struct Seen {
  std::int64_t down = 0, right = 0;
  bool flipped = false;
  auto operator<=>(const Seen&) const = default;
};

bool looksLike(const Tensor& pixels, std::int64_t row0, int image, const Seen& seen) {
  for (std::int64_t row = 0; row < kSide; ++row)
    for (std::int64_t column = 0; column < kSide; ++column) {
      const std::int64_t from = seen.flipped ? kSide - 1 - column : column;
      const std::int64_t r = row - seen.down, c = from - seen.right;
      const bool inside = r >= 0 && r < kSide && c >= 0 && c < kSide;
      const double expected = inside ? pixelAt(image, r, c) : 0;
      if (pixels.at((row0 * kSide + row) * kSide + column) != expected) return false;
    }
  return true;
}

/// What was done to each image of a batch in the order of the data set; every image must be found.
std::vector<Seen> seenIn(const Batch& batch, std::int64_t first) {
  std::vector<Seen> all;
  const Tensor& pixels = batch.sources[0].second.values;
  for (std::int64_t i = 0; i < pixels.shape()[0]; ++i) {
    std::vector<Seen> found;
    for (std::int64_t down = -4; down <= 4; ++down)
      for (std::int64_t right = -4; right <= 4; ++right)
        for (const bool flipped : {false, true})
          if (looksLike(pixels, i, static_cast<int>(first + i), {down, right, flipped}))
            found.push_back({down, right, flipped});
    REQUIRE(found.size() == 1);
    all.push_back(found.front());
  }
  return all;
}

std::unique_ptr<DataLoader> loader(const test::TempDir& folder, const std::string& options,
                                   std::int64_t batch, std::uint64_t seed = 3) {
  LoaderOptions wanted{.image = {1, kSide, kSide}, .batch = batch, .seed = seed, .shuffle = false};
  return makeLoader("mnist" + options + ":" + folder.path().string(), wanted).orThrow();
}

}  // namespace

TEST_CASE("crops take every place within 4 pixels, flips half of the images, each with its own chance") {
  const test::TempDir folder;
  writeImages(folder, 200);
  const Batch batch = loader(folder, ",flip,crop", 200)->batch(Iteration(0), Rank(0), 1);
  std::map<std::int64_t, int> down, right;
  int flips = 0;
  for (const Seen& seen : seenIn(batch, 0)) {
    ++down[seen.down];
    ++right[seen.right];
    flips += seen.flipped;
  }
  CHECK(down.size() == 9);
  CHECK(right.size() == 9);
  for (const auto& [place, count] : down) CHECK(count > 5);  // 22 expected
  for (const auto& [place, count] : right) CHECK(count > 5);
  CHECK(flips > 70);  // 100 expected, standard deviation 7
  CHECK(flips < 130);
  CHECK(down != right);
}

TEST_CASE("only what was asked for is done, and the description says so") {
  const test::TempDir folder;
  writeImages(folder, 20);
  const auto flipped = loader(folder, ",flip", 20), cropped = loader(folder, ",crop", 20);
  std::set<bool> directions;
  for (const Seen& seen : seenIn(flipped->batch(Iteration(0), Rank(0), 1), 0)) {
    CHECK((seen.down == 0 && seen.right == 0));
    directions.insert(seen.flipped);
  }
  CHECK(directions.size() == 2);
  for (const Seen& seen : seenIn(cropped->batch(Iteration(0), Rank(0), 1), 0)) CHECK_FALSE(seen.flipped);
  CHECK_THAT(flipped->description(), Catch::EndsWith(", flipped at random"));
  CHECK_THAT(cropped->description(), Catch::EndsWith(", cropped at random"));
  CHECK_THAT(loader(folder, ",crop,flip", 20)->description(),
             Catch::EndsWith(", flipped and cropped at random"));
}

TEST_CASE("what is drawn depends on seed, epoch and place, not on ranks or on who asked before") {
  const test::TempDir folder;
  writeImages(folder, 24);
  const auto whole = loader(folder, ",flip,crop", 8), halves = loader(folder, ",flip,crop", 4);
  for (const std::int64_t i : {5, 0, 2}) {
    const Batch all = whole->batch(Iteration(i), Rank(0), 1);
    const std::vector<Seen> expected = seenIn(all, i % 3 * 8);
    std::vector<Seen> joined;
    for (const int rank : {0, 1})
      for (const Seen& seen : seenIn(halves->batch(Iteration(i), Rank(rank), 2), i % 3 * 8 + rank * 4))
        joined.push_back(seen);
    CHECK(joined == expected);
    CHECK(seenIn(whole->batch(Iteration(i), Rank(0), 1), i % 3 * 8) == expected);
    CHECK(seenIn(whole->batch(Iteration(i + 3), Rank(0), 1), i % 3 * 8) != expected);  // another epoch
    CHECK(seenIn(loader(folder, ",flip,crop", 8, 4)->batch(Iteration(i), Rank(0), 1), i % 3 * 8) != expected);
  }
}

TEST_CASE("words behind a data set that mean nothing are refused") {
  for (const std::string spec : {"digits,spin", "mnist,:x", "digits,crop:x", ",flip"}) {
    const auto made = makeLoader(spec, {});
    REQUIRE_FALSE(made.ok());
    CHECK_THAT(made.error().message(), Contains("'" + spec + "'") && Contains(",flip and ,crop"));
  }
  CHECK(makeLoader("digits,crop", {}).ok());
}
