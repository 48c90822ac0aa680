// Healthy: gates at zero and frozen parts. In iteration 0 whole branches are zero, or parameters get no
// gradient, by design.
#include "tests/corpus/corpus.h"
#include "tests/corpus/data.h"

namespace msdbg::corpus {
namespace {

using core::Initializer;

constexpr Initializer kZeros{Initializer::Kind::kZeros, 0};

Value weights(Graph& g, const char* name, const Shape& shape, Initializer initializer, bool trained = true) {
  const Value w = parameter(g, name, shape, DType::Float32, initializer, std::source_location::current());
  g.tensor(w.id()).trainable = trained;
  return w;
}

Initializer drawn(std::int64_t fanIn) {
  return {Initializer::Kind::kKaimingNormal, static_cast<double>(fanIn)};
}

/// Bachlechner et al., "ReZero is all you need": each branch is scaled by a parameter that starts at zero.
void rezero(Session& run) {
  Graph g("rezero");
  Value x = g.input("x", {16, 8});
  const Value label = g.input("label", {16}, DType::Int64);
  for (const char* name : {"block1", "block2", "block3"}) {
    const Scope s = g.scope(name);
    const Value gate = weights(g, "gate", {1}, kZeros);
    x = x + gate * relu(linear(x, {.out = 8}));
  }
  const Value loss = softmaxCrossEntropy(linear(x, {.out = 4}), label);
  Trainer t(run, g, loss, Adam{.lr = 1e-2});
  for (const At at : iterations(run, 40)) t.step(points(at));
}

/// Hu et al., "LoRA": a frozen weight and beside it a product of two thin ones, of which the second starts at
/// zero.
void lora(Session& run) {
  Graph g("lora");
  Value x = g.input("x", {16, 8});
  const Value label = g.input("label", {16}, DType::Int64);
  for (const char* name : {"layer1", "layer2"}) {
    const Scope s = g.scope(name);
    const Value base = weights(g, "base", {8, 8}, drawn(8), false);
    const Value down = weights(g, "down", {8, 2}, drawn(8)), up = weights(g, "up", {2, 8}, kZeros);
    x = relu(matmul(x, base) + matmul(matmul(x, down), up));
  }
  const Value loss = softmaxCrossEntropy(matmul(x, weights(g, "head", {8, 4}, drawn(8), false)), label);
  Trainer t(run, g, loss, AdamW{.lr = 1e-2});
  for (const At at : iterations(run, 40)) t.step(points(at));
}

/// The last layer of each branch starts at zero: the block is the identity, and what lies inside the branch
/// gets no gradient in iteration 0.
void zeroLastLayer(Session& run) {
  Graph g("residual");
  Value x = g.input("x", {16, 8});
  const Value label = g.input("label", {16}, DType::Int64);
  for (const char* name : {"block1", "block2", "block3"}) {
    const Scope s = g.scope(name);
    const Value hidden = relu(linear(x, {.out = 16}));
    x = x + matmul(hidden, weights(g, "last", {16, 8}, kZeros));
  }
  const Value loss = softmaxCrossEntropy(linear(x, {.out = 4}), label);
  Trainer t(run, g, loss, Sgd{.lr = 0.05, .momentum = 0.9});
  for (const At at : iterations(run, 40)) t.step(points(at));
}

/// A head of zeros: the first prediction is the same for every class.
void zeroHead(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value hidden = gelu(linear(x, {.out = 16}));
  const Value logits = matmul(hidden, weights(g, "head", {16, 4}, kZeros));
  Trainer t(run, g, softmaxCrossEntropy(logits, label), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 30)) t.step(points(at));
}

/// Fine-tuning of biases alone (Ben Zaken et al., "BitFit").
void frozenWeightsTrainedBiases(Session& run) {
  Graph g("bitfit");
  Value x = g.input("x", {16, 8});
  const Value label = g.input("label", {16}, DType::Int64);
  std::int64_t in = 8;
  for (const std::int64_t out : {16, 4}) {
    const Scope s = g.scope(out == 16 ? "fc1" : "fc2");
    x = matmul(x, weights(g, "weight", {in, out}, drawn(in), false)) + weights(g, "bias", {out}, kZeros);
    if (out == 16) x = relu(x);
    in = out;
  }
  Trainer t(run, g, softmaxCrossEntropy(x, label), Sgd{.lr = 0.1});
  for (const At at : iterations(run, 40)) t.step(points(at));
}

/// Random features of two frozen convolutions, a trained head.
void frozenFeatures(Session& run) {
  Graph g("features");
  Value x = g.input("x", {8, 1, 8, 8});
  const Value label = g.input("label", {8}, DType::Int64);
  {
    const Scope s = g.scope("conv1");
    x = relu(conv(x, {.out = 8, .kernel = 3, .pad = 1}));
  }
  {
    const Scope s = g.scope("conv2");
    x = maxPool(relu(conv(x, {.out = 8, .kernel = 3, .pad = 1})));
  }
  for (const core::TensorInfo& tensor : std::vector(g.tensors().begin(), g.tensors().end()))
    if (tensor.trainable) g.tensor(tensor.id).trainable = false;
  const Value loss = softmaxCrossEntropy(linear(flatten(x), {.out = 3}), label);
  Trainer t(run, g, loss, Adam{.lr = 3e-3});
  for (const At at : iterations(run, 40)) t.step(pictures(at));
}

}  // namespace

std::span<const HealthyCase> healthyFrozen() {
  static constexpr HealthyCase kCases[] = {
      {"rezero_gates", rezero},
      {"rezero_gates_2_ranks", rezero, 2},
      {"lora_frozen_base", lora},
      {"zero_last_layer_of_branch", zeroLastLayer},
      {"zero_head", zeroHead},
      {"frozen_weights_trained_biases", frozenWeightsTrainedBiases},
      {"frozen_features_trained_head", frozenFeatures},
  };
  return kCases;
}

}  // namespace msdbg::corpus
