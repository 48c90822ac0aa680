// What data tell that train on in silence: a column that was left out, an input that nothing reads, noise
// that is drawn once, indices that never leave the first rows, a parameter along the samples. Each with the
// healthy program that looks like it.
#include <catch2/catch.hpp>
#include <cmath>

#include "core_engine/train/layers.h"
#include "core_engine/train/losses.h"
#include "tests/watchpoints/healthy_source.h"
#include "tests/watchpoints/traced_program.h"

using namespace msdbg::core;
using namespace msdbg::watch;
using Catch::Matchers::Contains;
using msdbg::test::FakeSource;
using msdbg::test::Named;
using msdbg::test::runRecommended;
using msdbg::test::Trace;
using msdbg::test::traceTraining;

namespace {

std::string hinted(const char* condition, FakeSource& source) {
  std::string all;
  for (const Hit& hit : runRecommended(source, condition).hints) all += hit.detail + "\n";
  return all;
}

std::string hinted(const char* condition, const msdbg::test::Program& program, const Named& inputs) {
  const Trace trace = traceTraining(program, inputs);
  return hinted(condition, *trace.source);
}

Tensor waves(const Shape& shape, double size = 1) {
  Tensor tensor(DType::Float32, shape);
  double next = 0;
  for (float& each : tensor.data<float>()) each = static_cast<float>(size * std::sin(next += 1.7));
  return tensor;
}

Tensor counted(const Shape& shape, std::int64_t below) {
  Tensor tensor(DType::Int64, shape);
  std::int64_t next = 0;
  for (std::int64_t& each : tensor.data<std::int64_t>()) each = next++ % below;
  return tensor;
}

/// Prices of six columns, of which the last is multiplied by `size`.
std::string ofColumn(double size) {
  Tensor x = waves({16, 6});
  for (std::int64_t row = 0; row < 16; ++row)
    x.data<float>()[static_cast<std::size_t>(row * 6 + 5)] *= static_cast<float>(size);
  return hinted("batch_content",
                [](Graph& g) {
                  const Value in = g.input("x", {16, 6}), price = g.input("price", {16, 1});
                  return meanSquaredError(linear(relu(linear(in, {.out = 8})), {.out = 1}), price);
                },
                {{"network/x", x}, {"network/price", waves({16, 1})}});
}

}  // namespace

TEST_CASE("batch_content hints at one column of another scale") {
  CHECK_THAT(ofColumn(1000), Contains("column 5 of 6 (counted from 0) is of another scale"));
  CHECK(ofColumn(10).empty());
  CHECK(ofColumn(1).empty());
}

TEST_CASE("batch_content hints at an input that nothing reads") {
  const auto ofLoss = [](bool clean) {
    static bool compared;
    compared = clean;
    return hinted("batch_content",
                  [](Graph& g) {
                    const Value noisy = g.input("noisy", {16, 6}), wanted = g.input("clean", {16, 6});
                    return meanSquaredError(linear(relu(linear(noisy, {.out = 8})), {.out = 6}),
                                            compared ? wanted : noisy);
                  },
                  {{"network/noisy", waves({16, 6})}, {"network/clean", waves({16, 6}, 0.5)}});
  };
  CHECK_THAT(ofLoss(false), Contains("the batch brings network/clean, and nothing reads it"));
  CHECK(ofLoss(true).empty());
}

TEST_CASE("same_batch hints at one input whose drawn numbers never change") {
  const auto ofNoise = [](double size, bool same, bool rest) {
    Graph g("network");
    const Value x = g.input("x", {16, 6}), noise = g.input("noise", {16, 6});
    reduceMean((x + noise) * x);
    FakeSource source(std::move(g), 1, 12);
    for (int k = 0; k < 12; ++k) {
      source.record(Rank(0), Iteration(k), source.id("network/x"), waves({16, 6}, rest ? 1 : 1 + 0.1 * k));
      source.record(Rank(0), Iteration(k), source.id("network/noise"),
                    waves({16, 6}, same ? size : size + 0.1 * k));
    }
    return hinted("same_batch", source);
  };
  CHECK_THAT(ofNoise(2, true, false), Contains("network/noise has the same bits in all 12 iterations"));
  CHECK(ofNoise(2, false, false).empty());
  CHECK(ofNoise(1, true, false).empty());                              // sines of places
  CHECK_THAT(ofNoise(2, true, true), !Contains("network/noise has"));  // one batch, for ever
}

TEST_CASE("same_batch speaks of the loader, not of ranks, where one rank reads one batch for ever") {
  Graph g("network");
  const Value x = g.input("x", {16, 6});
  reduceMean(x * x);
  FakeSource source(std::move(g), 1, 12);
  for (int k = 0; k < 12; ++k) source.record(Rank(0), Iteration(k), source.id("network/x"), waves({16, 6}));
  const CheckReport report = runRecommended(source, "same_batch");
  REQUIRE(report.hints.size() == 1);
  CHECK_THAT(std::string(report.hints[0].whatNext()),
             Contains("next batch of the loader") && !Contains("rank"));
}

TEST_CASE("table_lookup hints at indices of data that never leave the first rows") {
  const auto ofShops = [](std::int64_t below, bool places) {
    Graph g("network");
    const Value shop = places ? range(g, 40) : cast(g.input("shop", {40}), DType::Int64);
    reduceMean(embedding(shop, {.count = 50, .width = 4}));
    FakeSource source(std::move(g), 1, 30);
    for (const TensorInfo& info : source.graph().tensors())
      if (info.dtype == DType::Int64 && info.shape == Shape{40})
        for (int k = 0; k < 30; ++k) source.record(Rank(0), Iteration(k), info.id, counted({40}, below));
    return hinted("table_lookup", source);
  };
  CHECK_THAT(ofShops(2, false),
             Contains("of the 50 rows of") && Contains("no index of the 1200 reaches beyond row 1"));
  CHECK(ofShops(40, false).empty());
  CHECK(ofShops(2, true).empty());  // places of short texts
}

TEST_CASE("reshape_mixes_axes hints at a parameter along the samples") {
  const auto ofPlaces = [](std::int64_t axis, std::int64_t length) {
    Graph g("network");
    const Value token = g.input("token", {8, length}, DType::Int64);
    const Value places = embedding(range(g, axis == 1 ? 8 : length), {.count = 16, .width = 4});
    const Value x = embedding(token, {.count = 9, .width = 4}) + unsqueeze(places, {axis});
    reduceMean(x * x);
    FakeSource source(std::move(g), 1, 1);
    source.record(Rank(0), Iteration(0), source.id("network/token"), counted({8, length}, 9));
    return hinted("reshape_mixes_axes", source);
  };
  CHECK_THAT(ofPlaces(1, 8), Contains("along axis 0, which is that of the 8 samples"));
  CHECK(ofPlaces(0, 8).empty());
  CHECK(ofPlaces(0, 6).empty());
}

TEST_CASE("reshape_mixes_axes hints at sines of places along the samples, not at what tells samples apart") {
  const auto ofSines = [](std::int64_t axis, bool samples) {
    Graph g("network");
    const Value token = g.input("token", {8, 8}, DType::Int64);
    const Value place = cast(range(g, 8), DType::Float32);
    const Value rate = unsqueeze(exp(cast(range(g, 4), DType::Float32) * -0.5), {0});
    Value x =
        embedding(token, {.count = 9, .width = 4}) + unsqueeze(sin(unsqueeze(place, {1}) * rate), {axis});
    if (samples) {  // each beside each other one, but for itself
      const Value mean = reduceMean(x, {1}, false);
      const Value self = cast(equal(unsqueeze(place, {1}), unsqueeze(place, {0})), DType::Float32);
      x = matmul(mean, transpose(mean, {1, 0})) - self * 1e9;
    }
    reduceMean(x * x);
    FakeSource source(std::move(g), 1, 1);
    source.record(Rank(0), Iteration(0), source.id("network/token"), counted({8, 8}, 9));
    return hinted("reshape_mixes_axes", source);
  };
  CHECK_THAT(ofSines(1, false), Contains("as [8, 1, 4], holds no data") && Contains("of the 8 samples"));
  CHECK(ofSines(0, false).empty());
  CHECK(ofSines(0, true).empty());
}

TEST_CASE("no_activation lets the scores of an attention by a learnt query be") {
  const auto ofQuery = [](bool attends) {
    static bool weighs;
    weighs = attends;
    return hinted("no_activation",
                  [](Graph& g) {
                    const Value x = g.input("x", {16, 6}), y = g.input("y", {1, 8});
                    const Value score = linear(linear(x, {.out = 8}), {.out = 1});
                    const Value weights = softmax(score / 2.0, 0);
                    const Value pooled = matmul(transpose(weights, {1, 0}), linear(x, {.out = 8}));
                    return meanSquaredError(weighs ? pooled : reshape(slice(score, 0, 0, 8), {1, 8}), y);
                  },
                  {{"network/x", waves({16, 6})}, {"network/y", waves({1, 8})}});
  };
  CHECK(ofQuery(true).empty());
  CHECK_THAT(ofQuery(false), Contains("with no activation function between them"));
}

TEST_CASE("batch_content hints at a rank whose batches are zero now and then, labels included") {
  const auto ofZeros = [](int every, bool labels) {
    Graph g("network");
    const Value x = g.input("x", {16, 6}), y = g.input("y", {16}, DType::Int64);
    reduceMean(x * x);
    oneHot(y, 3);
    FakeSource source(std::move(g), 2, 12);
    for (int rank = 0; rank < 2; ++rank)
      for (int k = 0; k < 12; ++k) {
        const bool zero = rank == 1 && k % every == 0;
        source.record(Rank(rank), Iteration(k), source.id("network/x"), waves({16, 6}, zero ? 0 : 1));
        source.record(Rank(rank), Iteration(k), source.id("network/y"),
                      zero && labels ? Tensor::zeros(DType::Int64, {16}) : counted({16}, 3));
      }
    return hinted("batch_content", source);
  };
  CHECK_THAT(ofZeros(3, true), Contains("brings to rank 1 are zero") && Contains("in 4 of 12 iterations"));
  CHECK(ofZeros(3, false).empty());                             // a state that begins anew
  CHECK(ofZeros(12, true).empty());                             // once
  CHECK_THAT(ofZeros(1, true), !Contains("brings to rank 1"));  // in all: told of elsewhere
}
