// Healthy: attention. A bias of the keys moves all scores of a row alike, and softmax does not see it.
#include <cmath>
#include <limits>

#include "tests/corpus/corpus.h"
#include "tests/corpus/data.h"

namespace msdbg::corpus {
namespace {

constexpr std::int64_t kRows = 4, kLength = 6, kWidth = 16, kWords = 12;

struct Projections {
  Value query, key, value;  // [rows, length, width]
};

/// x [rows * length, width], each projection with a bias of its own.
Projections separateProjections(Graph& g, Value x) {
  const auto projected = [&](const char* name) {
    const Scope s = g.scope(name);
    return reshape(linear(x, {.out = kWidth}), {kRows, kLength, kWidth});
  };
  return {projected("query"), projected("key"), projected("value")};
}

Value scoresOf(const Projections& p) {
  return matmul(p.query, transpose(p.key, {0, 2, 1})) * (1 / std::sqrt(static_cast<double>(kWidth)));
}

Value embedded(Graph& g, Value tokens) {
  const Scope s = g.scope("words");
  return reshape(embedding(tokens, {.count = kWords, .width = kWidth}), {kRows * kLength, kWidth});
}

/// From weighted values to a word for every place.
Value wordLoss(Graph& g, Value y, Value label) {
  const Scope s = g.scope("head");
  const Value logits = linear(reshape(y, {kRows * kLength, kWidth}), {.out = kWords});
  return softmaxCrossEntropy(logits, reshape(label, {-1}));
}

void trainAttention(Session& run, const Optimizer& optimizer, Value (*masked)(Graph&, Value)) {
  Graph g("attention");
  const Value tokens = g.input("x", {kRows, kLength}, DType::Int64);
  const Value label = g.input("label", {kRows, kLength}, DType::Int64);
  const Projections p = separateProjections(g, embedded(g, tokens));
  const Value weights = softmax(masked(g, scoresOf(p)));
  Trainer t(run, g, wordLoss(g, matmul(weights, p.value), label), optimizer);
  for (const At at : iterations(run, 40)) t.step(words(at));
}

Value unmasked(Graph&, Value scores) { return scores; }

/// Large and negative, but finite.
Value largeMask(Graph& g, Value scores) {
  const Value ones = constant(g, -1e9, {kLength, kLength}, DType::Float32, std::source_location::current());
  return scores + trilu(ones, true, 1);
}

/// The real -inf, chosen by Where: softmax makes zeros of it.
Value infiniteMask(Graph& g, Value scores) {
  const Value places = range(g, kLength);
  const Value later = greater(unsqueeze(places, {0}), unsqueeze(places, {1}));
  const Value never = constant(g, -std::numeric_limits<double>::infinity(), {}, DType::Float32,
                               std::source_location::current());
  return where(later, never, scores);
}

void separateAdam(Session& run) { trainAttention(run, Adam{.lr = 3e-3}, unmasked); }
void separateSgd(Session& run) { trainAttention(run, Sgd{.lr = 0.1, .momentum = 0.9}, unmasked); }
void maskedByLarge(Session& run) { trainAttention(run, Adam{.lr = 3e-3}, largeMask); }
void maskedByInfinity(Session& run) { trainAttention(run, Adam{.lr = 3e-3}, infiniteMask); }

/// As BERT hides its padding, and too short to learn much: the mask, of -1e9, is the largest thing there is.
void paddingHiddenByLarge(Session& run) {
  Graph g("attention");
  const Value tokens = g.input("x", {kRows, kLength}, DType::Int64);
  const Value label = g.input("label", {kRows, kLength}, DType::Int64);
  const Value kept = g.input("kept", {kRows, 1, kLength});
  const Projections p = separateProjections(g, embedded(g, tokens));
  const Value weights = softmax(scoresOf(p) + (1 - kept) * -1e9);
  Trainer t(run, g, wordLoss(g, matmul(weights, p.value), label), Sgd{.lr = 0.01});
  for (const At at : iterations(run, 8)) {
    core::Batch batch = words(at);
    batch.tensors.emplace_back("kept", filled({kRows, 1, kLength}, [](std::int64_t i) {
                                 return i % kLength < kLength - 2 ? 1.f : 0.f;
                               }));
    t.step(batch);
  }
}

/// The mask comes with the batch, 0 and -inf, and is added.
void maskGivenWithBatch(Session& run) {
  Graph g("attention");
  const Value tokens = g.input("x", {kRows, kLength}, DType::Int64);
  const Value label = g.input("label", {kRows, kLength}, DType::Int64);
  const Value mask = g.input("mask", {kLength, kLength});
  const Projections p = separateProjections(g, embedded(g, tokens));
  const Value weights = softmax(scoresOf(p) + mask);
  Trainer t(run, g, wordLoss(g, matmul(weights, p.value), label), Adam{.lr = 3e-3});
  const Tensor later = filled({kLength, kLength}, [](std::int64_t i) {
    return i % kLength > i / kLength ? -std::numeric_limits<double>::infinity() : 0.0;
  });
  for (const At at : iterations(run, 30)) {
    Batch batch = words(at);
    batch.tensors.emplace_back("mask", later);
    t.step(batch);
  }
}

Value normed(Graph& g, Value x, const char* name) {
  const Scope s = g.scope(name);
  return layerNorm(x);
}

/// Normalisation first, as GPT-2 has it; the head's weight is the embedding's.
void tiedTransformer(Session& run) {
  Graph g("transformer");
  const Value tokens = g.input("x", {kRows, kLength}, DType::Int64);
  const Value label = g.input("label", {kRows, kLength}, DType::Int64);
  const Value table =
      parameter(g, "table", {kWords, kWidth}, DType::Float32,
                {core::Initializer::Kind::kKaimingNormal, kWidth}, std::source_location::current());
  Value x = reshape(gather(table, tokens), {kRows * kLength, kWidth});
  for (const char* name : {"block1", "block2"}) {
    const Scope s = g.scope(name);
    const Projections p = separateProjections(g, normed(g, x, "norm1"));
    const Value seen = matmul(softmax(largeMask(g, scoresOf(p))), p.value);
    {
      const Scope out = g.scope("out");
      x = x + dropout(linear(reshape(seen, {kRows * kLength, kWidth}), {.out = kWidth}), 0.1);
    }
    const Value hidden = normed(g, x, "norm2");
    {
      const Scope mlp = g.scope("mlp");
      x = x + linear(gelu(linear(hidden, {.out = 4 * kWidth})), {.out = kWidth});
    }
  }
  const Value logits = matmul(normed(g, x, "norm"), transpose(table));
  Optimizer optimizer = AdamW{.lr = 3e-3, .weightDecay = 0.1};
  optimizer.schedule = cosineSchedule(45, 0, 5);
  optimizer.clipNorm = 1;
  Trainer t(run, g, softmaxCrossEntropy(logits, reshape(label, {-1})), optimizer);
  for (const At at : iterations(run, 50)) t.step(words(at));
}

}  // namespace

std::span<const HealthyCase> healthyAttention() {
  static constexpr HealthyCase kCases[] = {
      {"attention_separate_adam", separateAdam},
      {"attention_separate_sgd_2_ranks", separateSgd, 2},
      {"attention_mask_of_large", maskedByLarge},
      {"attention_mask_of_infinity", maskedByInfinity},
      {"attention_mask_given_with_batch", maskGivenWithBatch},
      {"attention_padding_hidden_by_large", paddingHiddenByLarge},
      {"transformer_tied_adamw_cosine", tiedTransformer},
      {"transformer_tied_2_ranks", tiedTransformer, 2},
  };
  return kCases;
}

}  // namespace msdbg::corpus
