#include "core_engine/train/array_loader.h"

#include <catch2/catch.hpp>
#include <set>

using namespace msdbg::core;
using Catch::Matchers::Contains;

namespace {

/// Row i of x is [i, 10 i], label i.
Arrays numbered(std::int64_t count) {
  Tensor x(DType::Float32, {count, 2}), label(DType::Int64, {count});
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    x.data<float>()[2 * at] = static_cast<float>(i);
    x.data<float>()[2 * at + 1] = static_cast<float>(10 * i);
    label.data<std::int64_t>()[at] = i;
  }
  return {{"x", x}, {"label", label}};
}

std::vector<std::int64_t> labelsOf(const DataLoader& loader, std::int64_t iteration, std::int64_t rank = 0,
                                   int ranks = 1) {
  const Batch batch = loader.batch(Iteration{iteration}, Rank(rank), ranks);
  const auto labels = batch.find("label")->data<std::int64_t>();
  return {labels.begin(), labels.end()};
}

std::string errorOf(Arrays arrays, const ArrayLoaderOptions& options = {}) {
  const auto loader = makeArrayLoader(std::move(arrays), options);
  return loader.ok() ? "no error" : loader.error().message();
}

}  // namespace

TEST_CASE("Rows of all arrays stay together") {
  const auto loader = makeArrayLoader(numbered(20), {.batch = 4, .seed = 3}).orThrow();
  CHECK(loader->batchSize() == 4);
  for (std::int64_t i = 0; i < 5; ++i) {
    const Batch batch = loader->batch(Iteration{i}, Rank{0}, 1);
    CHECK(batch.find("x")->shape() == Shape{4, 2});
    for (std::int64_t row = 0; row < 4; ++row) {
      const double label = batch.find("label")->at(row);
      CHECK(batch.find("x")->at(2 * row) == label);
      CHECK(batch.find("x")->at(2 * row + 1) == 10 * label);
    }
  }
}

TEST_CASE("An epoch has every sample once, over all ranks, in another order than the next") {
  const auto loader = makeArrayLoader(numbered(24), {.batch = 4, .seed = 1}).orThrow();
  CHECK(loader->iterationsPerEpoch(2) == 3);
  std::vector<std::int64_t> epochs[2];
  for (std::int64_t i = 0; i < 6; ++i)
    for (std::int64_t rank : {0, 1})
      for (std::int64_t label : labelsOf(*loader, i, rank, 2)) epochs[i / 3].push_back(label);
  for (const auto& epoch : epochs) CHECK(std::set<std::int64_t>(epoch.begin(), epoch.end()).size() == 24);
  CHECK(epochs[0] != epochs[1]);
  CHECK(labelsOf(*loader, 4, 1, 2) == labelsOf(*loader, 4, 1, 2));
}

TEST_CASE("Without shuffling, samples come in order and begin again; a slice has its own only") {
  const auto loader =
      makeArrayLoader(numbered(10), {.batch = 2, .firstSample = 4, .samples = 3, .shuffle = false}).orThrow();
  CHECK(labelsOf(*loader, 0) == std::vector<std::int64_t>{4, 5});
  CHECK(labelsOf(*loader, 1) == std::vector<std::int64_t>{6, 4});
}

TEST_CASE("The description says what there is") {
  const auto loader = makeArrayLoader(numbered(10), {.batch = 2}).orThrow();
  CHECK(loader->description() == "arrays in memory, 10 samples, x float32[10, 2], label int64[10]");
}

TEST_CASE("Arrays and options that do not fit together are refused by name and number") {
  Arrays uneven = numbered(10);
  uneven[1].second = numbered(9)[1].second;
  CHECK_THAT(errorOf(uneven), Contains("x float32[10, 2] and label int64[9]"));
  Arrays twice = numbered(10);
  twice[1].first = "x";
  CHECK_THAT(errorOf(twice), Contains("two arrays x"));
  CHECK_THAT(errorOf({}), Contains("no arrays"));
  CHECK_THAT(errorOf({{"x", Tensor::scalar(1.0f)}}), Contains("x float32[] has no samples"));
  CHECK_THAT(errorOf(numbered(10), {.batch = 0}), Contains("a batch of 0 rows"));
  CHECK_THAT(errorOf(numbered(10), {.firstSample = 8, .samples = 3}),
             Contains("3 samples from 8") && Contains("10"));
  CHECK_THAT(errorOf(numbered(10), {.firstSample = -1}), Contains("from -1 on"));
  CHECK_THAT(errorOf(numbered(5), {.batch = 8}), Contains("a batch of 8 rows") && Contains("only 5"));
  CHECK_THAT(errorOf(numbered(10), {.batch = 4, .samples = 3}), Contains("only 3"));
}

TEST_CASE("Ranks that together want more rows than there are have no epoch: no row serves twice") {
  const auto loader = makeArrayLoader(numbered(10), {.batch = 4}).orThrow();
  CHECK(loader->iterationsPerEpoch(2) == 1);
  CHECK(loader->iterationsPerEpoch(3) == 0);
  CHECK(checkLoader(*loader, 2).ok());
  CHECK_THAT(checkLoader(*loader, 3).error().message(), Contains("3 ranks") && Contains("4 rows"));
}
