// Text as batches of bytes.
#include <catch2/catch.hpp>
#include <fstream>

#include "core_engine/train/data.h"
#include "tests/support/temp_dir.h"

using namespace msdbg::core;
using Catch::Matchers::Contains;
using msdbg::test::TempDir;

namespace {

std::unique_ptr<DataLoader> loader(const std::string& spec, const LoaderOptions& options) {
  auto made = makeLoader(spec, options);
  if (!made.ok()) FAIL(made.error().message());
  return std::move(made).value();
}
std::string messageOf(const std::string& spec, const LoaderOptions& options) {
  const auto made = makeLoader(spec, options);
  REQUIRE_FALSE(made.ok());
  return made.error().message();
}
std::string fileWith(const TempDir& folder, const std::string& text) {
  const auto path = folder.path() / "book.txt";
  std::ofstream(path, std::ios::binary) << text;
  return "text:" + path.string();
}
std::string rowOf(const Batch& batch, const char* name, std::int64_t row) {
  const Tensor& t = *batch.find(name);
  std::string text;
  for (std::int64_t i = 0; i < t.shape()[1]; ++i) text += static_cast<char>(t.at(row * t.shape()[1] + i));
  return text;
}

const std::string kText = "abcdefghijklmnopqrstuvwxyz";

}  // namespace

TEST_CASE("A row of text is labelled by the bytes that follow each of its bytes") {
  TempDir folder;
  const auto data = loader(fileWith(folder, kText), {.sequence = 5, .batch = 4});
  for (std::int64_t k = 0; k < 20; ++k) {
    const Batch batch = data->batch(Iteration{k}, Rank{0}, 1);
    CHECK(batch.find("x")->shape() == Shape{4, 5});
    CHECK(batch.find("x")->dtype() == DType::Int64);
    for (std::int64_t row = 0; row < 4; ++row) {
      const std::string x = rowOf(batch, "x", row), label = rowOf(batch, "label", row);
      CHECK(kText.find(x) != std::string::npos);
      CHECK(kText.find(x) + 1 == kText.find(label));
    }
  }
}

TEST_CASE("Rows depend on seed, iteration and place in the global batch alone") {
  TempDir folder;
  const std::string spec = fileWith(folder, kText);
  const auto data = loader(spec, {.sequence = 3, .batch = 4, .seed = 1});
  const auto half = loader(spec, {.sequence = 3, .batch = 2, .seed = 1});
  const auto other = loader(spec, {.sequence = 3, .batch = 4, .seed = 2});
  const auto textOf = [](const DataLoader& d, std::int64_t k, std::int64_t rank, int ranks) {
    const Batch b = d.batch(Iteration{k}, Rank{rank}, ranks);
    std::string all;
    for (std::int64_t row = 0; row < d.batchSize(); ++row) all += rowOf(b, "x", row);
    return all;
  };
  CHECK(textOf(*data, 7, 0, 1) == textOf(*data, 7, 0, 1));
  CHECK(textOf(*data, 7, 0, 1) == textOf(*half, 7, 0, 2) + textOf(*half, 7, 1, 2));
  CHECK(textOf(*data, 7, 0, 1) != textOf(*data, 8, 0, 1));
  CHECK(textOf(*data, 7, 0, 1) != textOf(*other, 7, 0, 1));
}

TEST_CASE("Without shuffling rows lie side by side, and a slice is all there is") {
  TempDir folder;
  const auto data = loader(fileWith(folder, kText),
                           {.sequence = 5, .batch = 2, .firstSample = 1, .samples = 3, .shuffle = false});
  const Batch first = data->batch(Iteration{0}, Rank{0}, 1), second = data->batch(Iteration{1}, Rank{0}, 1);
  CHECK(rowOf(first, "x", 0) == "fghij");
  CHECK(rowOf(first, "x", 1) == "klmno");
  CHECK(rowOf(second, "x", 0) == "pqrst");
  CHECK(rowOf(second, "x", 1) == "fghij");
  CHECK_THAT(data->description(), Contains("book.txt, 3 rows of 5 bytes"));
}

TEST_CASE("Drawn words are the same for the same seed and need no file") {
  const auto a = loader("words", {.sequence = 64, .batch = 2, .seed = 3}),
             b = loader("words", {.sequence = 64, .batch = 2, .seed = 3});
  CHECK(rowOf(a->batch(Iteration{0}, Rank{0}, 1), "x", 0) ==
        rowOf(b->batch(Iteration{0}, Rank{0}, 1), "x", 0));
  const std::string text = rowOf(a->batch(Iteration{5}, Rank{0}, 1), "x", 1);
  CHECK(text.find(' ') != std::string::npos);
  CHECK(text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ .\n") ==
        std::string::npos);
}

TEST_CASE("Wrong text is refused with the file or the kind of data that would do") {
  TempDir folder;
  const std::string spec = fileWith(folder, "abcdef");
  CHECK_THAT(messageOf("text:/nowhere/book", {.sequence = 5}), Contains("/nowhere/book"));
  CHECK_THAT(messageOf("text:" + folder.path().string(), {.sequence = 5}), Contains(folder.path().string()));
  CHECK_THAT(messageOf(spec, {.sequence = 6}), Contains("0 rows of 6 bytes"));
  CHECK_THAT(messageOf(fileWith(folder, ""), {.sequence = 6}), Contains("0 rows"));
  CHECK_THAT(messageOf(spec, {}), Contains("digits"));
  CHECK_THAT(messageOf("digits", {.sequence = 5}), Contains("text:FILE"));
  CHECK_THAT(messageOf(fileWith(folder, "ab\xe2z"), {.sequence = 2, .vocabulary = 128}),
             Contains("the byte 226 at 2") && Contains("a vocabulary of 128"));
  CHECK(makeLoader(fileWith(folder, "ab\x7f"), {.sequence = 2, .vocabulary = 128, .batch = 1}).ok());
  CHECK_THAT(messageOf(spec, {.sequence = -1}), Contains("rows of -1 bytes"));
}
