// Sick: what the model is fed.
#include <limits>

#include "tests/corpus/corpus.h"
#include "tests/corpus/data.h"

namespace msdbg::corpus {
namespace {

using Change = float (*)(At at, float value, std::size_t index);

/// A classifier that is right, on points of which some are not.
void classify(Session& run, Change change, int count = 30) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);  // WRONG
  Value h;
  {
    const Scope s = g.scope("fc1");
    h = relu(linear(x, {.out = 24}));
  }
  const Scope s = g.scope("fc2");
  Trainer t(run, g, softmaxCrossEntropy(linear(h, {.out = 4}), label), Sgd{.lr = 0.05, .momentum = 0.9});
  for (const At at : iterations(run, count))
    t.step(changed(points(at), "x", [&](float v, std::size_t i) { return change(at, v, i); }));
}

void nanInOneBatch(Session& run) {
  classify(run, [](At at, float v, std::size_t i) {
    return at.iteration == 7 && i == 29 ? std::numeric_limits<float>::quiet_NaN() : v;
  });
}
void infinityInOneBatch(Session& run) {
  classify(run, [](At at, float v, std::size_t i) {
    return at.iteration == 11 && i / 8 == 3 ? std::numeric_limits<float>::infinity() : v;
  });
}
/// Pixels divided as integers.
void allZero(Session& run) {
  classify(run, [](At, float, std::size_t) { return 0.0f; });
}
void timesAMillion(Session& run) {
  classify(run, [](At, float v, std::size_t) { return 1e6f * v; });
}
/// A sensor that failed once.
void outlier(Session& run) {
  classify(run, [](At at, float v, std::size_t i) { return at.iteration == 13 && i == 40 ? 1e25f : v; });
}

/// A loader that never goes on.
void sameBatch(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value loss = softmaxCrossEntropy(linear(relu(linear(x, {.out = 24})), {.out = 4}), label);
  Trainer t(run, g, loss, Sgd{.lr = 0.05});
  for (const At at : iterations(run, 30)) t.step(points({0, at.rank}));
}

/// A vocabulary of 10 and an embedding of 10 rows, a text with a word 10.
void wordOutOfRange(Session& run) {
  Graph g("words");
  const Value tokens = g.input("x", {4, 6}, DType::Int64), label = g.input("label", {4, 6}, DType::Int64);
  const Value x = embedding(tokens, {.count = 10, .width = 12});  // WRONG
  const Value loss = softmaxCrossEntropy(linear(reshape(x, {24, 12}), {.out = 10}), reshape(label, {-1}));
  Trainer t(run, g, loss, Adam{.lr = 1e-2});
  for (const At at : iterations(run, 30)) {
    Batch batch = words(at);
    if (at.iteration == 6) tensorOf(batch, "x").data<std::int64_t>()[9] = 10;
    t.step(batch);
  }
}

/// Prices in cents: the loss begins at 1e12.
void targetsNotNormalised(Session& run) {
  Graph g("prices");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const Value difference = linear(relu(linear(x, {.out = 24})), {.out = 1}) - y;  // WRONG
  const Value loss = reduceMean(difference * difference, {}, false);              // WRONG
  Trainer t(run, g, loss, Sgd{.lr = 0.01});
  for (const At at : iterations(run, 30))
    t.step(changed(curve(at), "y", [](float v, std::size_t) { return 1e6f * (v + 2); }));
}

/// An accumulator that is never reset: what the model is fed grows from iteration to iteration.
void neverReset(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);  // WRONG
  const Value loss = softmaxCrossEntropy(linear(relu(linear(x, {.out = 24})), {.out = 4}), label);
  Trainer t(run, g, loss, Sgd{.lr = 0.05});
  Tensor sum = Tensor::zeros(DType::Float32, {16, 8});
  for (const At at : iterations(run, 100)) {
    Batch batch = points(at);
    for (std::size_t i = 0; i < 128; ++i) sum.data<float>()[i] += tensorOf(batch, "x").data<float>()[i];
    tensorOf(batch, "x") = sum.clone();
    t.step(batch);
  }
}

}  // namespace

std::span<const SickCase> sickData() {
  static const std::vector<std::string_view> kInput = {"*/x"}, kTarget = {"*/y"};
  static const std::vector<std::string_view> kBatch = {"*/x", "*/label"};
  // Not "its inputs are all finite": that what the program feeds is wrong.
  constexpr std::string_view kFed =
      "(input|batch|data).{0,60}(nan|\\binf|not a number|non-?finite)|(nan|\\binf).{0,40}(input|batch|data)|"
      "fed|given|where it enters";
  constexpr std::string_view kScale =
      "(input|batch|data|x).{0,80}(large|scale|normali|range)|normali[sz]|not scaled";
  static const SickCase kCases[] = {
      {"nan_in_one_batch", nanInOneBatch, kFed, kInput, 1, -1, 7},
      {"infinity_in_one_batch", infinityInOneBatch, kFed, kInput, 1, -1, 11},
      {"inputs_all_zero", allZero, "zero", kInput},
      // The first layer's step is the first thing that comes out too large, if the words lead to the input.
      {"inputs_times_a_million", timesAMillion, kScale, {"*/x", "update/net/fc1/*", "*/fc1/weight"}},
      {"outlier_in_one_batch", outlier, "large|extreme|outlier|overflow|range|e\\+2[0-9]", kInput, 1, -1, 13},
      {"same_batch_every_iteration", sameBatch, "same|repeat|equal|identical", kBatch},
      {"word_out_of_range", wordOutOfRange, "out of range|outside|range|row 10|index 10", kInput, 1, -1, 6},
      {"targets_not_normalised", targetsNotNormalised, "target|label|scale|normali|\\by\\b", kTarget},
      {"accumulator_never_reset", neverReset, "grow|accumul|range|scale|larger", kInput},
  };
  return kCases;
}

}  // namespace msdbg::corpus
