// Sick: mistakes that trainings live with. The loss falls a little, or not at all, and nothing is out of
// range.
#include <algorithm>
#include <cmath>

#include "tests/corpus/corpus.h"
#include "tests/corpus/data.h"

namespace msdbg::corpus {
namespace {

constexpr std::int64_t kRows = 4, kLength = 6, kWidth = 16, kWords = 12, kHeads = 2;

Value layer(Graph& g, const char* name, Value x, std::int64_t out) {
  const Scope s = g.scope(name);
  return linear(x, {.out = out});
}

/// [rows * length, width] -> what `heads` makes of it -> a word for each place.
void trainHeads(Session& run, Value (*heads)(Value projected), Value (*joined)(Value seen)) {
  Graph g("attention");
  const Value tokens = g.input("x", {kRows, kLength}, DType::Int64);
  const Value label = g.input("label", {kRows, kLength}, DType::Int64);
  const Value text = reshape(embedding(tokens, {.count = kWords, .width = kWidth}), {-1, kWidth});
  const Value query = heads(layer(g, "query", text, kWidth)), key = heads(layer(g, "key", text, kWidth)),
              value = heads(layer(g, "value", text, kWidth));
  const Value scores = matmul(query, transpose(key, {0, 1, 3, 2})) / std::sqrt(8.0);
  const Value seen = joined(matmul(softmax(scores), value));
  const Value logits = layer(g, "head", text + seen, kWords);
  Trainer t(run, g, softmaxCrossEntropy(logits, reshape(label, {-1})), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 40)) t.step(words(at, {.rows = kRows, .length = kLength}));
}

/// The heads are put before the places by the shape alone.
void headsWithoutTransposition(Session& run) {
  trainHeads(
      run,
      [](Value x) {
        return reshape(x, {kRows, kHeads, kLength, kWidth / kHeads});  // WRONG
      },
      [](Value seen) {
        return reshape(transpose(seen, {0, 2, 1, 3}), {-1, kWidth});
      });
}

/// Split rightly, and put together as if the places came first.
void headsJoinedWithoutTransposition(Session& run) {
  trainHeads(
      run,
      [](Value x) {
        return transpose(reshape(x, {kRows, kLength, kHeads, kWidth / kHeads}), {0, 2, 1, 3});
      },
      [](Value seen) {
        return reshape(seen, {kRows * kLength, kWidth});  // WRONG
      });
}

/// The pixels of a convolution as tokens: channels have to come last, and do not by a reshape.
void channelsAsTokens(Session& run) {
  Graph g("vit");
  const Value x = g.input("x", {8, 1, 8, 8}), label = g.input("label", {8}, DType::Int64);
  const Value patches = conv(x, {.out = 12, .kernel = 2, .stride = 2});
  const Value tokens = reshape(patches, {8, 16, 12});  // WRONG
  const Value hidden = relu(layer(g, "mix", reshape(tokens, {-1, 12}), 24));
  const Value pooled = reduceMean(reshape(hidden, {8, 16, 24}), {1}, false);
  Trainer t(run, g, softmaxCrossEntropy(layer(g, "head", pooled, 3), label), Adam{.lr = 3e-3});
  for (const At at : iterations(run, 40)) t.step(pictures(at));
}

/// Two classes by a formula written by hand, which takes a probability. The model gives one already.
void sigmoidIntoOwnFormula(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const Value out = sigmoid(layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 1));  // WRONG
  const Value p = clip(sigmoid(out), 1e-7, 1 - 1e-7);
  const Value loss = -reduceMean(y * log(p) + (1 - y) * log(1 - p), {}, false);
  Trainer t(run, g, loss, Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60))
    t.step(changed(curve(at), "y", [](float v, std::size_t) { return v > 0 ? 1.f : 0.f; }));
}

/// The stable formula of logits, written by hand: max(z, 0) - z y + log(1 + exp(-|z|)).
void sigmoidIntoStableFormula(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const Value z = sigmoid(layer(g, "fc2", tanh(layer(g, "fc1", x, 16)), 1));  // WRONG
  const Value loss = reduceMean(relu(z) - z * y + log(exp(-abs(z)) + 1), {}, false);
  Trainer t(run, g, loss, Sgd{.lr = 0.1, .momentum = 0.9});
  for (const At at : iterations(run, 60))
    t.step(changed(curve(at), "y", [](float v, std::size_t) { return v > 0 ? 1.f : 0.f; }));
}

/// The model ends in a softmax, and the loss begins with one.
void softmaxIntoOwnEntropy(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value probabilities = softmax(layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 4));  // WRONG
  const Value likely = log(clip(softmax(probabilities), 1e-8, 1));
  const Value loss = -reduceMean(reduceSum(oneHot(label, 4) * likely, {1}, false), {}, false);
  Trainer t(run, g, loss, Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) t.step(points(at));
}

/// A softmax of one number is 1.
void softmaxOfOneNumber(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const Value p = softmax(layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 1));  // WRONG
  const Value safe = clip(p, 1e-6, 1 - 1e-6);
  const Value loss = -reduceMean(y * log(safe) + (1 - y) * log(1 - safe), {}, false);
  Trainer t(run, g, loss, Adam{.lr = 5e-3});
  for (const At at : iterations(run, 40))
    t.step(changed(curve(at), "y", [](float v, std::size_t) { return v > 0 ? 1.f : 0.f; }));
}

/// Only the pictures were shuffled.
void labelsOfOthers(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 1, 8, 8}), label = g.input("label", {16}, DType::Int64);
  const Value h = maxPool(relu(conv(x, {.out = 8, .kernel = 3, .pad = 1})));
  const Value logits = layer(g, "fc2", relu(layer(g, "fc1", flatten(h), 32)), 4);
  Trainer t(run, g, softmaxCrossEntropy(logits, label), Adam{.lr = 2e-3});  // WRONG
  for (const At at : iterations(run, 120)) {
    const Batch batch = pictures(at, {.rows = 16, .classes = 4});
    const Batch others = pictures({at.iteration + 1000, at.rank}, {.rows = 16, .classes = 4});
    t.step({batch.iteration, {{"x", batch.tensors.front().second}, {"label", others.tensors.back().second}}});
  }
}

/// The same with numbers to predict: all that is learnt is their mean.
void targetsOfOthers(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {32, 4}), y = g.input("y", {32, 1});
  const Value out = layer(g, "fc2", tanh(layer(g, "fc1", x, 32)), 1);
  Trainer t(run, g, meanSquaredError(out, y), Adam{.lr = 1e-2});  // WRONG
  for (const At at : iterations(run, 120)) {
    const Batch batch = curve(at, {.rows = 32}), others = curve({at.iteration + 1000, at.rank}, {.rows = 32});
    const auto moved = changed(others, "y", [](float v, std::size_t) { return v + 2; });
    t.step({batch.iteration, {{"x", batch.tensors.front().second}, {"y", moved.tensors.back().second}}});
  }
}

void trainPoints(Session& run, const Optimizer& optimizer, int count) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value logits = layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 4);
  Trainer t(run, g, softmaxCrossEntropy(logits, label), optimizer);
  for (const At at : iterations(run, count)) t.step(points(at));
}

/// The steps of the schedule are counted in batches, and were meant in epochs.
void rateGoneEarly(Session& run) {
  Optimizer optimizer = Sgd{.lr = 0.05};
  optimizer.schedule = stepSchedule(8, 0.1);
  trainPoints(run, optimizer, 120);
}

/// A cosine that ends after a fifth of the run.
void cosineTooShort(Session& run) {
  Optimizer optimizer = Adam{.lr = 2e-3};
  optimizer.schedule = cosineSchedule(24);
  trainPoints(run, optimizer, 120);
}

/// 5000 iterations of warm-up in a run of 150.
void warmUpWithoutEnd(Session& run) {
  Optimizer optimizer = Sgd{.lr = 0.2};
  optimizer.schedule = constantSchedule(5000);
  trainPoints(run, optimizer, 150);
}

void trainRanks(Session& run, void (*change)(Batch& batch)) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value logits = layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 4);
  Trainer t(run, g, softmaxCrossEntropy(logits, label), Sgd{.lr = 0.05, .momentum = 0.9});
  for (const At at : iterations(run, 60)) {
    Batch batch = points(at);
    if (at.rank == 1) change(batch);
    t.step(batch);
  }
}

/// The folders of one host come in another order: two of four classes have each other's number.
void twoClassesSwapped(Session& run) {
  trainRanks(run, [](Batch& batch) {
    for (std::int64_t& each : tensorOf(batch, "label").data<std::int64_t>())
      if (each < 2) each = 1 - each;
  });
}

/// One host does not subtract the mean.
void meanNotSubtracted(Session& run) {
  trainRanks(run, [](Batch& batch) {
    for (float& v : tensorOf(batch, "x").data<float>()) v = 0.5f * v + 2;
  });
}

/// One host reads the channels the other way round.
void featuresTurnedRound(Session& run) {
  trainRanks(run, [](Batch& batch) {
    const auto values = tensorOf(batch, "x").data<float>();
    for (std::size_t row = 0; row < 16; ++row)
      std::reverse(values.begin() + static_cast<std::ptrdiff_t>(row * 8),
                   values.begin() + static_cast<std::ptrdiff_t>(row * 8 + 8));
  });
}

/// Six Sigmoids as they are initialised by default: the first layers get a millionth.
void sixSigmoids(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  Value h = x;
  for (const char* name : {"fc1", "fc2", "fc3", "fc4", "fc5", "fc6"}) {
    const Scope s = g.scope(name);
    h = sigmoid(linear(h, {.out = 16, .init = Init::xavierUniform()}));
  }
  Trainer t(run, g, softmaxCrossEntropy(layer(g, "head", h, 4), label), Adam{.lr = 1e-3});
  for (const At at : iterations(run, 80)) t.step(points(at));
}

/// Tanh with weights of deviation 0.02, as large models have them, in a narrow and deep one.
void tanhOfSmallWeights(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  Value h = x;
  for (const char* name : {"fc1", "fc2", "fc3", "fc4", "fc5"}) {
    const Scope s = g.scope(name);
    h = tanh(linear(h, {.out = 32, .init = Init::normal(0.02)}));
  }
  Trainer t(run, g, softmaxCrossEntropy(layer(g, "head", h, 4), label), Sgd{.lr = 0.05});
  for (const At at : iterations(run, 80)) t.step(points(at));
}

/// The file with the trained backbone was never read.
void frozenAtRandom(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {8, 1, 8, 8}), label = g.input("label", {8}, DType::Int64);
  Value h = x;
  for (const char* name : {"conv1", "conv2", "conv3"}) {
    const Scope s = g.scope(name);
    h = relu(conv(h, {.out = 8, .kernel = 3, .pad = 1}));  // WRONG
  }
  freeze(g, "net/*");
  const Value logits = layer(g, "head", flatten(globalAveragePool(h)), 3);
  Trainer t(run, g, softmaxCrossEntropy(logits, label), Adam{.lr = 1e-3});
  for (const At at : iterations(run, 60)) t.step(pictures(at));
}

}  // namespace

std::span<const SickCase> sickSilent() {
  // A rate is no line of the model: any update, and the rate itself; nor are data: the loss shows it.
  constexpr std::string_view kUpdate = "update/*", kRate = "*learning_rate*";
  constexpr std::string_view kRateWords = "rate|warm|schedule";
  static const std::vector<std::string_view> kRates = {kUpdate, kRate},
                                             kData = {"net/x", "net/label", "net/y"};
  static const SickCase kCases[] = {
      {"heads_without_transposition", headsWithoutTransposition, "transpos"},
      {"heads_joined_without_transposition", headsJoinedWithoutTransposition, "transpos"},
      {"channels_as_tokens", channelsAsTokens, "transpos"},
      {"sigmoid_into_own_formula", sigmoidIntoOwnFormula, "twice|already|squash"},
      {"sigmoid_into_stable_formula", sigmoidIntoStableFormula, "twice|already|squash"},
      {"softmax_into_own_entropy", softmaxIntoOwnEntropy, "twice|already"},
      {"softmax_of_one_number", softmaxOfOneNumber, "always 1|single|one element"},
      {"labels_of_others",
       labelsOfOthers,
       "shuffle|belong",
       {"net/SoftmaxCrossEntropyLoss*", "net/x", "net/label"}},
      {"targets_of_others", targetsOfOthers, "shuffle|belong", {"net/*ReduceMean*", "net/x", "net/y"}},
      {"rate_gone_early", rateGoneEarly, kRateWords, kRates},
      {"cosine_too_short", cosineTooShort, kRateWords, kRates},
      {"warm_up_without_end", warmUpWithoutEnd, kRateWords, kRates},
      {"two_classes_swapped_on_one_rank", twoClassesSwapped, "label|class", kData, 4, 1},
      {"mean_not_subtracted_on_one_rank", meanNotSubtracted, "normali|preprocess|other (mean|data)", kData, 4,
       1},
      {"features_turned_round_on_one_rank", featuresTurnedRound, "data|preprocess", kData, 3, 1},
      {"six_sigmoids",
       sixSigmoids,
       "sigmoid.{0,80}(gradient|passes|saturat|contract)",
       {"grad/*", "net/fc*"}},
      {"tanh_of_small_weights", tanhOfSmallWeights, "small|vanish", {"grad/*", "net/fc*"}},
      {"frozen_at_random", frozenAtRandom, "frozen|load"},
  };
  return kCases;
}

}  // namespace msdbg::corpus
