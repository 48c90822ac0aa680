// A small GPT (Radford et al., "Language models are unsupervised multitask learners", 2019) on bytes: blocks
// with layer normalisation first, causal attention, learned positions, a head of its own. By default 4 blocks
// of width 256 with 8 heads and 3,323,392 parameters. Between blocks a batch is one matrix [rows * context,
// width].
#include <cmath>

#include "core_engine/models/model_list_internal.h"
#include "core_engine/train/layers.h"

namespace msdbg::core {
namespace {

constexpr ModelSize kDefault{.layers = 4, .heads = 8, .width = 256, .context = 128, .vocabulary = 256};
constexpr std::int64_t kMostLayers = 1000, kMost = 1 << 20;
constexpr double kMasked = -1e9;  // exp() of it is 0, as of -infinity, but it is no hit of a watchpoint

/// PyTorch's initial weights: the deviation of its uniform numbers. (Embeddings are N(0, 1).)
double deviation(std::int64_t fanIn) { return 1 / std::sqrt(3 * static_cast<double>(fanIn)); }

/// [context, context]: 0 where a position may look (itself and before), kMasked after it.
Value causalMask(Graph& g, DType dtype, const ModelSize& size) {
  const Value masked = constant(g, kMasked, {size.context, size.context}, dtype, Where::current());
  return trilu(masked, true, 1);
}

/// Queries, keys and values: three of [rows, heads, context, width / heads].
std::vector<Value> headsOf(Graph& g, Value x, const ModelSize& size) {
  const Scope scope = g.scope("qkv");
  x = linear(x, {.out = 3 * size.width, .deviation = deviation(size.width)});
  x = reshape(x, {-1, size.context, 3, size.heads, size.width / size.heads});
  x = transpose(x, {2, 0, 3, 1, 4});
  std::vector<Value> parts = split(x, 3, 0);
  for (Value& part : parts) part = squeeze(part, {0});
  return parts;
}

Value attention(Graph& g, Value x, Value mask, const ModelSize& size) {
  const Scope scope = g.scope("attention");
  const std::vector<Value> heads = headsOf(g, x, size);
  const Value keys = transpose(heads[1], {0, 1, 3, 2});
  Value scores = matmul(heads[0], keys);
  scores = scores * (1 / std::sqrt(static_cast<double>(size.width / size.heads)));
  scores = scores + mask;
  const Value weights = softmax(scores);
  Value y = matmul(weights, heads[2]);
  y = transpose(y, {0, 2, 1, 3});
  y = reshape(y, {-1, size.width});
  return linear(y, {.out = size.width, .deviation = deviation(size.width)});
}

Value feedForward(Graph& g, Value x, std::int64_t width) {
  const Scope scope = g.scope("mlp");
  {
    const Scope inner = g.scope("fc1");
    x = linear(x, {.out = 4 * width, .deviation = deviation(width)});
    x = gelu(x);
  }
  const Scope inner = g.scope("fc2");
  return linear(x, {.out = width, .deviation = deviation(4 * width)});
}

Value normed(Graph& g, Value x, const char* name) {
  const Scope scope = g.scope(name);
  return layerNorm(x);
}

Value block(Graph& g, Value x, Value mask, const ModelSize& size) {
  const Value a = attention(g, normed(g, x, "norm1"), mask, size);
  x = x + a;
  const Value b = feedForward(g, normed(g, x, "norm2"), size.width);
  return x + b;
}

/// Tokens and their places: [rows * context, width].
Value embedded(Graph& g, Value tokens, const ModelSize& size) {
  Value x, places;
  {
    const Scope scope = g.scope("tokens");
    x = embedding(tokens, {.count = size.vocabulary, .width = size.width});
  }
  {
    const Scope scope = g.scope("positions");
    const Value index = range(g, size.context);
    places = embedding(index, {.count = size.context, .width = size.width});
  }
  x = x + places;
  return reshape(x, {-1, size.width});
}

ModelSize chosenSize(const ModelSize& wanted) {
  ModelSize size = kDefault;
  for (const auto member : {&ModelSize::layers, &ModelSize::heads, &ModelSize::width, &ModelSize::context,
                            &ModelSize::vocabulary}) {
    if (wanted.*member != 0) size.*member = wanted.*member;
    if (size.*member < 1 || size.*member > kMost)
      throw BuildError("a size of " + std::to_string(size.*member) + "; all must lie in [1, 1048576]");
  }
  if (size.layers > kMostLayers)
    throw BuildError(std::to_string(size.layers) + " layers; at most " + std::to_string(kMostLayers) +
                     " are possible");
  if (size.width % size.heads != 0)
    throw BuildError("width " + std::to_string(size.width) + " cannot be divided over " +
                     std::to_string(size.heads) + " heads; the next that can is " +
                     std::to_string((size.width / size.heads + 1) * size.heads));
  return size;
}

Value gpt(Graph& g, const ModelOptions& options) {
  applyModelOptions(g, options, false);
  const ModelSize size = chosenSize(options.size);
  const Value tokens = g.input("x", {options.batch, size.context}, DType::Int64);
  const Value label = g.input("label", {options.batch, size.context}, DType::Int64);
  Value x = embedded(g, tokens, size);
  const Value mask = causalMask(g, options.dtype, size);
  for (std::int64_t i = 1; i <= size.layers; ++i) {
    const Scope scope(g, "block" + std::to_string(i), std::source_location::current());
    x = block(g, x, mask, size);
  }
  x = normed(g, x, "norm");
  {
    const Scope scope = g.scope("head");
    x = linear(x, {.out = size.vocabulary, .bias = false, .deviation = deviation(size.width)});
  }
  const Value next = reshape(label, {-1});
  return softmaxCrossEntropy(x, next);
}

}  // namespace

ModelInfo gptModel() {
  return {.name = "gpt",
          .doc = "GPT on bytes: --layers blocks, --width, --heads, --context, --vocabulary; reads text",
          .file = "core_engine/models/gpt.cpp",
          .size = kDefault,
          .batch = 16,
          .optimizer = Adam{.lr = 3e-4},
          .build = gpt};
}

}  // namespace msdbg::core
