// Healthy: what looks like the mistakes of sick_silent.cpp and is none.
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

/// Heads as they are meant: split, transposed, put together again.
void headsTransposed(Session& run) {
  Graph g("attention");
  const Value tokens = g.input("x", {kRows, kLength}, DType::Int64);
  const Value label = g.input("label", {kRows, kLength}, DType::Int64);
  const Value text = reshape(embedding(tokens, {.count = kWords, .width = kWidth}), {-1, kWidth});
  const auto heads = [&](const char* name) {
    return transpose(reshape(layer(g, name, text, kWidth), {kRows, kLength, kHeads, kWidth / kHeads}),
                     {0, 2, 1, 3});
  };
  const Value scores = matmul(heads("query"), transpose(heads("key"), {0, 1, 3, 2})) / std::sqrt(8.0);
  const Value seen = transpose(matmul(softmax(scores), heads("value")), {0, 2, 1, 3});
  const Value logits = layer(g, "head", text + reshape(seen, {-1, kWidth}), kWords);
  Trainer t(run, g, softmaxCrossEntropy(logits, reshape(label, {-1})), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 40)) t.step(words(at, {.rows = kRows, .length = kLength}));
}

/// Pictures cut into patches, channels taken to the end, groups of channels, a picture put together again.
void patchesAndGroups(Session& run) {
  Graph g("patches");
  const Value x = g.input("x", {8, 1, 8, 8}), label = g.input("label", {8}, DType::Int64);
  const Value cut = transpose(reshape(x, {8, 4, 2, 4, 2}), {0, 1, 3, 2, 4});
  const Value patches = layer(g, "patch", reshape(cut, {8 * 16, 4}), 12);
  const Value picture = transpose(reshape(patches, {8, 16, 12}), {0, 2, 1});
  const Value h = relu(conv(reshape(picture, {8, 12, 4, 4}), {.out = 12, .kernel = 3, .pad = 1}));
  const Value mixed = reshape(transpose(reshape(h, {8, 3, 4, 4, 4}), {0, 2, 1, 3, 4}), {8, 12, 4, 4});
  const Value groups = reduceMean(reshape(mixed, {8, 4, 48}), {2}, false);
  const Value pooled = concat({groups, flatten(globalAveragePool(h))}, 1);
  Trainer t(run, g, softmaxCrossEntropy(layer(g, "head", pooled, 3), label), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) t.step(pictures(at));
}

/// Formulas written by hand that are given what they take.
void ownFormulas(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value h = relu(layer(g, "fc1", x, 24));
  const Value gate = sigmoid(layer(g, "gate", sigmoid(layer(g, "squeeze", h, 8)), 24));
  const Value p = clip(softmax(layer(g, "classes", h * gate, 4)), 1e-7, 1 - 1e-7);
  const Value rows = oneHot(label, 4);
  const Value entropy = -reduceMean(reduceSum(rows * log(p), {1}, false), {}, false);
  const Value each = clip(sigmoid(layer(g, "flags", h, 4)), 1e-7, 1 - 1e-7);
  const Value flags = -reduceMean(rows * log(each) + (1 - rows) * log(1 - each), {}, false);
  Trainer t(run, g, entropy + flags, Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) t.step(points(at));
}

/// A warm-up over most of a short run that learns all the same.
void longWarmUp(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value logits = layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 4);
  Optimizer optimizer = Adam{.lr = 1e-2};
  optimizer.schedule = constantSchedule(80);
  Trainer t(run, g, softmaxCrossEntropy(logits, label), optimizer);
  for (const At at : iterations(run, 60)) t.step(points(at));
}

/// A cosine down to nothing, and a rest at that rate: all was learnt before.
void restAfterCosine(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value logits = layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 4);
  Optimizer optimizer = Adam{.lr = 2e-2};
  optimizer.schedule = cosineSchedule(40);
  Trainer t(run, g, softmaxCrossEntropy(logits, label), optimizer);
  for (const At at : iterations(run, 120)) t.step(points(at));
}

/// The data of one rank are somewhat noisier and brighter than those of the others.
void harderRank(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value logits = layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 4);
  Trainer t(run, g, softmaxCrossEntropy(logits, label), Sgd{.lr = 0.05, .momentum = 0.9});
  for (const At at : iterations(run, 60)) {
    Batch batch = points(at, {.noise = at.rank == 1 ? 0.55 : 0.5});
    t.step(
        changed(std::move(batch), "x", [&](float v, std::size_t) { return at.rank == 1 ? v + 0.05f : v; }));
  }
}

/// Four Sigmoids that learn, slowly.
void fourSigmoids(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {32, 8}), label = g.input("label", {32}, DType::Int64);
  Value h = x;
  for (const char* name : {"fc1", "fc2", "fc3", "fc4"}) h = sigmoid(layer(g, name, h, 24));
  Trainer t(run, g, softmaxCrossEntropy(layer(g, "head", h, 4), label), Adam{.lr = 2e-2});
  for (const At at : iterations(run, 120)) t.step(points(at, {.rows = 32}));
}

/// A frozen backbone whose weights came from elsewhere.
void frozenAndLoaded(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value h = relu(layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 24));
  freeze(g, "net/*");
  const Value logits = layer(g, "head", h, 4);
  Trainer t(run, g, softmaxCrossEntropy(logits, label), Adam{.lr = 1e-2});
  core::TrainingState state = t.state();
  for (auto& [name, tensor] : state.tensors)
    if (name.find("net/fc") != std::string::npos && tensor.dtype() == DType::Float32)
      for (std::size_t i = 0; i < tensor.data<float>().size(); ++i)
        tensor.data<float>()[i] = 0.7f * tensor.data<float>()[i] + 0.05f * std::sin(static_cast<float>(i));
  t.restore(state);
  for (const At at : iterations(run, 60)) t.step(points(at));
}

/// Noise that cannot be predicted on top of what can: the error ends above a half of the targets' variance.
void noisyTargets(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {32, 4}), y = g.input("y", {32, 1});
  const Value out = layer(g, "fc2", tanh(layer(g, "fc1", x, 32)), 1);
  Trainer t(run, g, meanSquaredError(out, y), Adam{.lr = 1e-2});
  for (const At at : iterations(run, 150)) {
    const Batch batch = curve(at, {.rows = 32}), noise = curve({at.iteration + 1000, at.rank}, {.rows = 32});
    t.step(changed(batch, "y", [&](float v, std::size_t i) {
      return v + 0.7f * noise.tensors.back().second.data<float>()[i];
    }));
  }
}

}  // namespace

std::span<const HealthyCase> healthyLookalikes() {
  static constexpr HealthyCase kCases[] = {
      {"heads_transposed", headsTransposed},  {"patches_and_groups", patchesAndGroups},
      {"own_formulas", ownFormulas},          {"warm_up_longer_than_the_run", longWarmUp},
      {"rest_after_cosine", restAfterCosine}, {"one_rank_somewhat_harder", harderRank, 4},
      {"four_sigmoids", fourSigmoids},        {"frozen_and_loaded", frozenAndLoaded},
      {"noisy_targets", noisyTargets},
  };
  return kCases;
}

}  // namespace msdbg::corpus
