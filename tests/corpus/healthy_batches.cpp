// Healthy: what looks like the mistakes of sick_batches.cpp and is none.
#include <cmath>

#include "tests/corpus/corpus.h"
#include "tests/corpus/data.h"

namespace msdbg::corpus {
namespace {

constexpr std::int64_t kRows = 4, kLength = 8, kWidth = 16, kWords = 12;

Value layer(Graph& g, const char* name, Value x, std::int64_t out) {
  const Scope s = g.scope(name);
  return linear(x, {.out = out});
}

/// The rate grows with the number of ranks.
void rateOfRanks(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value logits = layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 4);
  const double rate = 0.02 * static_cast<double>(run.ranks());
  Trainer t(run, g, softmaxCrossEntropy(logits, label), Sgd{.lr = rate, .momentum = 0.9});
  for (const At at : iterations(run, 60)) t.step(points(at));
}

/// The labels are the words themselves: each is predicted of the state before it is read.
void predictsBeforeItReads(Session& run) {
  Graph g("rnn");
  const Value x = g.input("x", {kRows, kLength}, DType::Int64);
  const Value label = g.input("label", {kRows, kLength}, DType::Int64);
  const Value text = embedding(x, {.count = kWords, .width = kWidth});
  const Value in = g.parameter("in", {kWidth, kWidth}, Init::xavierUniform());
  const Value again = g.parameter("again", {kWidth, kWidth}, Init::normal(0.1));
  Value state = constant(g, 0.0, {kRows, kWidth});
  std::vector<Value> states;
  for (const Value place : split(text, kLength, 1)) {
    states.push_back(reshape(state, {kRows, 1, kWidth}));
    state = tanh(matmul(reshape(place, {kRows, kWidth}), in) + matmul(state, again));
  }
  const Value logits = layer(g, "head", reshape(concat(states, 1), {-1, kWidth}), kWords);
  Trainer t(run, g, softmaxCrossEntropy(logits, reshape(label, {-1})), Adam{.lr = 1e-2});
  for (const At at : iterations(run, 80)) {
    Batch batch = words(at, {.rows = kRows, .length = kLength});
    tensorOf(batch, "label") = tensorOf(batch, "x").clone();
    t.step(batch);
  }
}

/// A mask of -100 hides all that a softmax feels; another one, of -2 far away, is meant to be soft.
void smallerMasks(Session& run) {
  Graph g("lm");
  const Value x = g.input("x", {kRows, kLength}, DType::Int64);
  const Value label = g.input("label", {kRows, kLength}, DType::Int64);
  const Value place = range(g, kLength);
  const Value text = embedding(x, {.count = kWords, .width = kWidth}) +
                     embedding(place, {.count = kLength, .width = kWidth});
  const auto projected = [&](const char* name) {
    return reshape(layer(g, name, reshape(text, {-1, kWidth}), kWidth), {kRows, kLength, kWidth});
  };
  const Value scores = matmul(projected("query"), transpose(projected("key"), {0, 2, 1})) * 0.25;
  const Value row = unsqueeze(place, {1}), column = unsqueeze(place, {0});
  const Value later = cast(greater(column, row), DType::Float32);
  const Value far = cast(less(cast(column, DType::Float32) + 4, cast(row, DType::Float32)), DType::Float32);
  const Value weights = softmax(scores + far * -2.0 + later * -100.0);
  const Value seen = reshape(matmul(weights, projected("value")), {-1, kWidth});
  Trainer t(run, g, softmaxCrossEntropy(layer(g, "head", seen, kWords), reshape(label, {-1})),
            Adam{.lr = 1e-2});
  for (const At at : iterations(run, 60)) t.step(words(at, {.rows = kRows, .length = kLength}));
}

/// A sum over the batch, and a rate that fits it.
void sumWithItsRate(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {64, 8}), label = g.input("label", {64}, DType::Int64);
  const Value logits = layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 4);
  const Value loss = -reduceSum(logSoftmax(logits) * oneHot(label, 4), {}, false);
  Trainer t(run, g, loss, Sgd{.lr = 0.001, .momentum = 0.9});
  for (const At at : iterations(run, 60)) t.step(points(at, {.rows = 64}));
}

/// As many words in a row as rows in a batch: pooled over the words; features normalised over the batch by
/// hand.
void pooledOverTime(Session& run) {
  Graph g("text");
  const Value x = g.input("x", {8, 8}, DType::Int64), label = g.input("label", {8}, DType::Int64);
  const Value text = transpose(embedding(x, {.count = 20, .width = 8}), {1, 0, 2});
  const Value h = layer(g, "fc1", reshape(text, {64, 8}), 8);
  const Value pooled = reduceMean(reshape(h, {8, 8, 8}), {0}, false);
  const Value away = pooled - reduceMean(pooled, {0}, true);
  const Value unit = away / sqrt(reduceMean(away * away, {0}, true) + 1e-5);
  Trainer t(run, g, softmaxCrossEntropy(layer(g, "head", relu(unit), 3), label), Adam{.lr = 1e-2});
  for (const At at : iterations(run, 60)) t.step(topics(at));
}

/// Two views of each sample find each other among those of the batch, as wide as that is large.
void contrastive(Session& run) {
  Graph g("net");
  const Value a = g.input("a", {8, 8}), b = g.input("b", {8, 8}), place = g.input("place", {8}, DType::Int64);
  const auto unit = [](Value v) { return v / sqrt(reduceSum(v * v, {1}, true) + 1e-8); };
  const Value left = unit(layer(g, "left", a, 8)), right = unit(layer(g, "right", b, 8));
  const Value alike = matmul(left, transpose(right, {1, 0})) * 10.0;
  const Value loss = softmaxCrossEntropy(alike, place) + softmaxCrossEntropy(transpose(alike, {1, 0}), place);
  Trainer t(run, g, loss, Adam{.lr = 5e-3});
  for (const At at : iterations(run, 80)) {
    const Tensor first = points(at, {.rows = 8, .noise = 1}).tensors.front().second;
    Tensor places(DType::Int64, {8});
    for (std::size_t i = 0; i < 8; ++i) places.data<std::int64_t>()[i] = static_cast<std::int64_t>(i);
    t.step({core::Iteration(at.iteration), {{"a", first}, {"b", first.clone()}, {"place", places}}});
  }
}

}  // namespace

std::span<const HealthyCase> healthyBatches() {
  static constexpr HealthyCase kCases[] = {
      {"rate_of_ranks", rateOfRanks, 2},    {"predicts_before_it_reads", predictsBeforeItReads},
      {"smaller_masks", smallerMasks},      {"sum_with_its_rate", sumWithItsRate},
      {"pooled_over_time", pooledOverTime}, {"contrastive_in_the_batch", contrastive},
  };
  return kCases;
}

}  // namespace msdbg::corpus
