// Sick: mistakes about what a batch is: its samples, its labels, the ranks that share it, what it is divided
// by; found by a stranger who knew only the guide.
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

/// The rate grows with the number of the rank, where the number of ranks was meant.
void rateOfRankZero(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value logits = layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 4);
  const double rate = 0.05 * static_cast<double>(run.rank().value);
  Trainer t(run, g, softmaxCrossEntropy(logits, label), Sgd{.lr = rate, .momentum = 0.9});  // WRONG
  for (const At at : iterations(run, 60)) t.step(points(at));
}

/// A recurrent model of the next word whose labels are the words that it reads.
void labelsAreTheWords(Session& run) {
  Graph g("rnn");
  const Value x = g.input("x", {kRows, kLength}, DType::Int64);
  const Value label = g.input("label", {kRows, kLength}, DType::Int64);  // WRONG
  const Value text = embedding(x, {.count = kWords, .width = kWidth});
  const Value in = g.parameter("in", {kWidth, kWidth}, Init::xavierUniform());
  const Value again = g.parameter("again", {kWidth, kWidth}, Init::normal(0.1));
  Value state = constant(g, 0.0, {kRows, kWidth});
  std::vector<Value> states;
  for (const Value place : split(text, kLength, 1)) {
    state = tanh(matmul(reshape(place, {kRows, kWidth}), in) + matmul(state, again));
    states.push_back(reshape(state, {kRows, 1, kWidth}));
  }
  const Value logits = layer(g, "head", reshape(concat(states, 1), {-1, kWidth}), kWords);
  Trainer t(run, g, softmaxCrossEntropy(logits, reshape(label, {-1})), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) {
    Batch batch = words(at, {.rows = kRows, .length = kLength});
    tensorOf(batch, "label") = tensorOf(batch, "x").clone();
    t.step(batch);
  }
}

/// -1e9 was meant.
void maskOfNextToNothing(Session& run) {
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
  const Value later = cast(greater(unsqueeze(place, {0}), unsqueeze(place, {1})), DType::Float32);
  const Value weights = softmax(scores + later * -1e-9);  // WRONG
  const Value seen = reshape(matmul(weights, projected("value")), {-1, kWidth});
  Trainer t(run, g, softmaxCrossEntropy(layer(g, "head", seen, kWords), reshape(label, {-1})),
            Adam{.lr = 1e-2});
  for (const At at : iterations(run, 60)) t.step(words(at, {.rows = kRows, .length = kLength}));
}

/// A sum over the batch at a rate for its mean: the Relus die of the first steps.
void sumKillsRelus(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {64, 8}), label = g.input("label", {64}, DType::Int64);
  const Value logits = layer(g, "fc3", relu(layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 24)), 4);
  const Value shifted = logits - reduceMax(logits, {1}, true);
  const Value logs = shifted - log(reduceSum(exp(shifted), {1}, true));
  const Value loss = reduceSum(logs * oneHot(label, 4), {}, false) * -1.0;  // WRONG
  Trainer t(run, g, loss, Sgd{.lr = 0.05, .momentum = 0.9});
  for (const At at : iterations(run, 60)) t.step(points(at, {.rows = 64}));
}

/// As many words in a row as rows in a batch: the shapes fit when the batch is pooled over.
void pooledOverTheBatch(Session& run) {
  Graph g("text");
  const Value x = g.input("x", {8, 8}, DType::Int64), label = g.input("label", {8}, DType::Int64);
  const Value text = embedding(x, {.count = 20, .width = kWidth});
  const Value h = relu(layer(g, "fc1", reshape(text, {64, kWidth}), kWidth));
  const Value pooled = reduceMean(reshape(h, {8, 8, kWidth}), {0}, false);  // WRONG
  Trainer t(run, g, softmaxCrossEntropy(layer(g, "head", pooled, 3), label), Adam{.lr = 1e-2});
  for (const At at : iterations(run, 60)) t.step(topics(at));
}

/// The logits are left time first, the labels are not.
void timeFirst(Session& run) {
  Graph g("text");
  const Value x = g.input("x", {kRows, kLength}, DType::Int64);
  const Value label = g.input("label", {kRows, kLength}, DType::Int64);
  const Value text = transpose(embedding(x, {.count = kWords, .width = kWidth}), {1, 0, 2});  // WRONG
  const Value h = tanh(layer(g, "fc1", reshape(text, {-1, kWidth}), kWidth));
  Trainer t(run, g, softmaxCrossEntropy(layer(g, "head", h, kWords), reshape(label, {-1})), Adam{.lr = 1e-2});
  for (const At at : iterations(run, 60)) t.step(words(at, {.rows = kRows, .length = kLength}));
}

}  // namespace

std::span<const SickCase> sickBatches() {
  static const std::vector<std::string_view> kRates = {"update/*", "*learning_rate*"};
  static const SickCase kCases[] = {
      {"rate_of_rank_0_is_zero", rateOfRankZero, "learning.rate", kRates, 2},
      {"labels_are_the_words", labelsAreTheWords, "nothing to predict|shift|itself", {"rnn/x"}},
      {"mask_of_next_to_nothing", maskOfNextToNothing, "hides nothing|-1e-09|next to nothing"},
      {"sum_kills_relus", sumKillsRelus, "sum over 64 samples"},
      {"pooled_over_the_batch", pooledOverTheBatch, "takes the batch away"},
      {"time_first", timeFirst, "moves the batch"},
  };
  return kCases;
}

}  // namespace msdbg::corpus
