// Healthy: a bias before every kind of normalisation. Its gradient is nothing but rounding noise.
#include "tests/corpus/corpus.h"
#include "tests/corpus/data.h"

namespace msdbg::corpus {
namespace {

Value normedConvs(Graph& g, Value x) {
  for (const char* name : {"conv1", "conv2"}) {
    const Scope s = g.scope(name);
    x = relu(batchNorm(conv(x, {.out = 6, .kernel = 3, .pad = 1})));
  }
  return linear(flatten(maxPool(x)), {.out = 3});
}

void trainConvs(Session& run, const Optimizer& optimizer, int count) {
  Graph g("net");
  const Value x = g.input("x", {8, 1, 8, 8}), label = g.input("label", {8}, DType::Int64);
  const Value loss = softmaxCrossEntropy(normedConvs(g, x), label);
  Trainer t(run, g, loss, optimizer);
  for (const At at : iterations(run, count)) t.step(pictures(at));
}

void convBatchNormSgd(Session& run) { trainConvs(run, Sgd{.lr = 0.05, .momentum = 0.9}, 40); }
void convBatchNormPlainSgd(Session& run) { trainConvs(run, Sgd{.lr = 0.1}, 30); }
void convBatchNormAdam(Session& run) { trainConvs(run, Adam{.lr = 3e-3}, 40); }
void convBatchNormDecay(Session& run) {
  trainConvs(run, Sgd{.lr = 0.05, .momentum = 0.9, .weightDecay = 5e-4}, 30);
}

void linearBatchNorm(Session& run) {
  Graph g("net");
  Value x = g.input("x", {16, 8});
  const Value label = g.input("label", {16}, DType::Int64);
  {
    const Scope s = g.scope("fc1");
    x = relu(batchNorm(linear(x, {.out = 24})));
  }
  {
    const Scope s = g.scope("fc2");
    x = relu(batchNorm(linear(x, {.out = 16})));
  }
  const Value loss = softmaxCrossEntropy(linear(x, {.out = 4}), label);
  Trainer t(run, g, loss, Adam{.lr = 1e-3});
  for (const At at : iterations(run, 40)) t.step(points(at));
}

void linearLayerNorm(Session& run) {
  Graph g("net");
  Value x = g.input("x", {16, 8});
  const Value label = g.input("label", {16}, DType::Int64);
  for (const char* name : {"fc1", "fc2", "fc3"}) {
    const Scope s = g.scope(name);
    x = gelu(layerNorm(linear(x, {.out = 20})));
  }
  const Value loss = softmaxCrossEntropy(linear(x, {.out = 4}), label);
  Trainer t(run, g, loss, AdamW{.lr = 2e-3});
  for (const At at : iterations(run, 40)) t.step(points(at));
}

/// Group normalisation from operators, with a bias before it that each group's mean takes out in part.
void groupNormByHand(Session& run) {
  Graph g("net");
  Value x = g.input("x", {8, 1, 8, 8});
  const Value label = g.input("label", {8}, DType::Int64);
  {
    const Scope s = g.scope("conv");
    x = conv(x, {.out = 8, .kernel = 3, .pad = 1});
    const Value groups = reshape(x, {8, 2, -1});
    const Value centred = groups - reduceMean(groups, {2});
    const Value variance = reduceMean(centred * centred, {2});
    x = relu(reshape(centred / sqrt(variance + 1e-5), {8, 8, 8, 8}));
  }
  const Value loss = softmaxCrossEntropy(linear(flatten(averagePool(x)), {.out = 3}), label);
  Trainer t(run, g, loss, Sgd{.lr = 0.05, .momentum = 0.9});
  for (const At at : iterations(run, 30)) t.step(pictures(at));
}

/// The layer, once with groups of one channel and once with one group of all, each behind a bias.
void groupNormLayers(Session& run) {
  Graph g("net");
  Value x = g.input("x", {8, 1, 8, 8});
  const Value label = g.input("label", {8}, DType::Int64);
  for (const std::int64_t groups : {8, 1, 4}) {
    const Scope s = g.scope("groups" + std::to_string(groups));
    x = relu(groupNorm(conv(x, {.out = 8, .kernel = 3, .pad = 1}), {.groups = groups}));
  }
  const Value loss = softmaxCrossEntropy(linear(flatten(averagePool(x)), {.out = 3}), label);
  Trainer t(run, g, loss, Adam{.lr = 2e-3});
  for (const At at : iterations(run, 30)) t.step(pictures(at));
}

/// Each picture and channel by itself: the bias of the convolution has no effect at all.
void instanceNormByHand(Session& run) {
  Graph g("net");
  Value x = g.input("x", {8, 1, 8, 8});
  const Value label = g.input("label", {8}, DType::Int64);
  {
    const Scope s = g.scope("conv");
    x = conv(x, {.out = 6, .kernel = 3, .pad = 1});
    const Value centred = x - reduceMean(x, {2, 3});
    x = relu(centred / sqrt(reduceMean(centred * centred, {2, 3}) + 1e-5));
  }
  const Value loss = softmaxCrossEntropy(linear(flatten(x), {.out = 3}), label);
  Trainer t(run, g, loss, Adam{.lr = 2e-3});
  for (const At at : iterations(run, 30)) t.step(pictures(at));
}

/// Pixels of 0 to 255, which the first layer normalises.
void rawPixels(Session& run) {
  Graph g("net");
  Value x = g.input("x", {8, 1, 8, 8});
  const Value label = g.input("label", {8}, DType::Int64);
  x = batchNorm(x);
  x = relu(conv(x, {.out = 8, .kernel = 3, .stride = 2, .pad = 1}));
  const Value loss = softmaxCrossEntropy(linear(flatten(x), {.out = 3}), label);
  Trainer t(run, g, loss, Sgd{.lr = 0.05, .momentum = 0.9});
  for (const At at : iterations(run, 30))
    t.step(changed(pictures(at), "x", [](float v, std::size_t) { return 255 * v; }));
}

/// Blocks of a residual net with normalisation after every convolution, as ResNet has them.
void residualBlocks(Session& run) {
  Graph g("resnet");
  Value x = g.input("x", {8, 1, 8, 8});
  const Value label = g.input("label", {8}, DType::Int64);
  {
    const Scope s = g.scope("stem");
    x = relu(batchNorm(conv(x, {.out = 8, .kernel = 3, .pad = 1})));
  }
  for (const char* name : {"block1", "block2", "block3"}) {
    const Scope s = g.scope(name);
    Value y = relu(batchNorm(conv(x, {.out = 8, .kernel = 3, .pad = 1})));
    y = batchNorm(conv(y, {.out = 8, .kernel = 3, .pad = 1}));
    x = relu(x + y);
  }
  const Value loss = softmaxCrossEntropy(linear(flatten(globalAveragePool(x)), {.out = 3}), label);
  Optimizer optimizer = Sgd{.lr = 0.1, .momentum = 0.9, .weightDecay = 1e-4, .nesterov = true};
  optimizer.schedule = cosineSchedule(30, 0.01, 5);
  Trainer t(run, g, loss, optimizer);
  for (const At at : iterations(run, 30)) t.step(pictures(at));
}

}  // namespace

std::span<const HealthyCase> healthyNormalization() {
  static constexpr HealthyCase kCases[] = {
      {"conv_bias_batchnorm_sgd", convBatchNormSgd},
      {"conv_bias_batchnorm_plain_sgd_2_ranks", convBatchNormPlainSgd, 2},
      {"conv_bias_batchnorm_adam", convBatchNormAdam},
      {"conv_bias_batchnorm_adam_2_ranks", convBatchNormAdam, 2},
      {"conv_bias_batchnorm_decay", convBatchNormDecay},
      {"linear_bias_batchnorm", linearBatchNorm},
      {"linear_bias_layernorm", linearLayerNorm},
      {"group_norm_by_hand", groupNormByHand},
      {"group_norm_layers", groupNormLayers},
      {"group_norm_layers_2_ranks", groupNormLayers, 2},
      {"instance_norm_by_hand", instanceNormByHand},
      {"raw_pixels_normalised_first", rawPixels},
      {"residual_blocks", residualBlocks},
  };
  return kCases;
}

}  // namespace msdbg::corpus
