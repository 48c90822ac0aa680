// A small GPT (Radford et al., "Language models are unsupervised multitask learners", 2019) on bytes: 4
// blocks with layer normalisation first, width 256, 8 heads of causal attention, learned positions, a head of
// its own. 3,323,392 parameters. Between blocks a batch is one matrix [rows * sequence, width].
#include <cmath>

#include "core_engine/models/model_list_internal.h"
#include "core_engine/train/layers.h"

namespace msdbg::core {
namespace {

constexpr std::int64_t kBlocks = 4, kWidth = 256, kHeads = 8, kSequence = 128, kVocabulary = 256;
constexpr std::int64_t kHeadWidth = kWidth / kHeads, kQkvWidth = 3 * kWidth, kInnerWidth = 4 * kWidth;
// PyTorch's initial weights: 1 / sqrt(3 fan-in), which its uniform numbers have; embeddings are N(0, 1).
constexpr double kDeviation = 0.036084391824351614, kInnerDeviation = 0.018042195912175804;
constexpr double kMasked = -1e9;  // exp() of it is 0, as of -infinity, but it is no hit of a watchpoint

/// [sequence, sequence]: 0 where a position may look (itself and before), kMasked after it.
Value causalMask(Graph& g, DType dtype) {
  const Value masked = constant(g, kMasked, {kSequence, kSequence}, dtype, Where::current());
  return trilu(masked, true, 1);
}

/// Queries, keys and values: three of [rows, heads, sequence, head width].
std::vector<Value> headsOf(Graph& g, Value x) {
  const Scope scope = g.scope("qkv");
  x = linear(x, {.out = kQkvWidth, .deviation = kDeviation});
  x = reshape(x, {-1, kSequence, 3, kHeads, kHeadWidth});
  x = transpose(x, {2, 0, 3, 1, 4});
  std::vector<Value> parts = split(x, 3, 0);
  for (Value& part : parts) part = squeeze(part, {0});
  return parts;
}

Value attention(Graph& g, Value x, Value mask) {
  const Scope scope = g.scope("attention");
  const std::vector<Value> heads = headsOf(g, x);
  const Value keys = transpose(heads[1], {0, 1, 3, 2});
  Value scores = matmul(heads[0], keys);
  scores = scores * (1 / std::sqrt(static_cast<double>(kHeadWidth)));
  scores = scores + mask;
  const Value weights = softmax(scores);
  Value y = matmul(weights, heads[2]);
  y = transpose(y, {0, 2, 1, 3});
  y = reshape(y, {-1, kWidth});
  return linear(y, {.out = kWidth, .deviation = kDeviation});
}

Value feedForward(Graph& g, Value x) {
  const Scope scope = g.scope("mlp");
  {
    const Scope inner = g.scope("fc1");
    x = linear(x, {.out = kInnerWidth, .deviation = kDeviation});
    x = gelu(x);
  }
  const Scope inner = g.scope("fc2");
  return linear(x, {.out = kWidth, .deviation = kInnerDeviation});
}

Value normed(Graph& g, Value x, const char* name) {
  const Scope scope = g.scope(name);
  return layerNorm(x);
}

Value block(Graph& g, Value x, Value mask) {
  const Value a = attention(g, normed(g, x, "norm1"), mask);
  x = x + a;
  const Value b = feedForward(g, normed(g, x, "norm2"));
  return x + b;
}

/// Tokens and their places: [rows * sequence, width].
Value embedded(Graph& g, Value tokens) {
  Value x, places;
  {
    const Scope scope = g.scope("tokens");
    x = embedding(tokens, {.count = kVocabulary, .width = kWidth});
  }
  {
    const Scope scope = g.scope("positions");
    const Value index = range(g, kSequence);
    places = embedding(index, {.count = kSequence, .width = kWidth});
  }
  x = x + places;
  return reshape(x, {-1, kWidth});
}

Value gpt(Graph& g, const ModelOptions& options) {
  checkModelOptions(g, options, false);
  const Value tokens = g.input("x", {options.batch, kSequence}, DType::Int64);
  const Value label = g.input("label", {options.batch, kSequence}, DType::Int64);
  Value x = embedded(g, tokens);
  const Value mask = causalMask(g, options.dtype);
  for (std::int64_t i = 1; i <= kBlocks; ++i) {
    const Scope scope(g, "block" + std::to_string(i), std::source_location::current());
    x = block(g, x, mask);
  }
  x = normed(g, x, "norm");
  {
    const Scope scope = g.scope("head");
    x = linear(x, {.out = kVocabulary, .bias = false, .deviation = kDeviation});
  }
  const Value next = reshape(label, {-1});
  return softmaxCrossEntropy(x, next);
}

}  // namespace

ModelInfo gptModel() {
  return {.name = "gpt",
          .doc = "GPT on bytes: 4 blocks, width 256, 8 heads, 128 positions; reads text",
          .file = "core_engine/models/gpt.cpp",
          .sequence = kSequence,
          .batch = 16,
          .optimizer = Adam{.lr = 3e-4},
          .build = gpt};
}

}  // namespace msdbg::core
