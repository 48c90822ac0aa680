// Healthy: architectures and activations.
#include <array>

#include "tests/corpus/corpus.h"
#include "tests/corpus/data.h"

namespace msdbg::corpus {
namespace {

void convPool(Session& run) {
  Graph g("lenet");
  Value x = g.input("x", {8, 1, 8, 8});
  const Value label = g.input("label", {8}, DType::Int64);
  {
    const Scope s = g.scope("conv1");
    x = maxPool(relu(conv(x, {.out = 6, .kernel = 3, .pad = 1})));
  }
  {
    const Scope s = g.scope("conv2");
    x = averagePool(tanh(conv(x, {.out = 8, .kernel = 3, .pad = 1})));
  }
  const Value loss = softmaxCrossEntropy(linear(flatten(x), {.out = 3}), label);
  Trainer t(run, g, loss, Sgd{.lr = 0.05, .momentum = 0.9});
  for (const At at : iterations(run, 40)) t.step(pictures(at));
}

void denseSigmoid(Session& run) {
  Graph g("sigmoid");
  Value x = g.input("x", {16, 8});
  const Value label = g.input("label", {16}, DType::Int64);
  for (const char* name : {"fc1", "fc2"}) {
    const Scope s = g.scope(name);
    x = sigmoid(linear(x, {.out = 24}));
  }
  Trainer t(run, g, softmaxCrossEntropy(linear(x, {.out = 4}), label), Adam{.lr = 1e-2});
  for (const At at : iterations(run, 60)) t.step(points(at));
}

void otherActivations(Session& run) {
  Graph g("activations");
  Value x = g.input("x", {16, 8});
  const Value label = g.input("label", {16}, DType::Int64);
  x = leakyRelu(linear(x, {.out = 24}), 0.1);
  x = gelu(linear(x, {.out = 24}));
  x = elu(linear(x, {.out = 24}));
  x = hardSwish(linear(x, {.out = 24}));
  Trainer t(run, g, softmaxCrossEntropy(linear(x, {.out = 4}), label), Adam{.lr = 3e-3});
  for (const At at : iterations(run, 40)) t.step(points(at));
}

/// 16 residual blocks, normalisation first.
void deepResidual(Session& run) {
  Graph g("deep");
  Value x = g.input("x", {16, 8});
  const Value label = g.input("label", {16}, DType::Int64);
  for (int i = 1; i <= 16; ++i) {
    const Scope s = g.scope("block" + std::to_string(i));
    x = x + linear(relu(layerNorm(x)), {.out = 8});
  }
  Trainer t(run, g, softmaxCrossEntropy(linear(layerNorm(x), {.out = 4}), label), Adam{.lr = 2e-3});
  for (const At at : iterations(run, 40)) t.step(points(at));
}

/// 8 layers of tanh, each trained well enough.
void deepTanh(Session& run) {
  Graph g("deep");
  Value x = g.input("x", {16, 8});
  const Value label = g.input("label", {16}, DType::Int64);
  for (int i = 1; i <= 8; ++i) {
    const Scope s = g.scope("fc" + std::to_string(i));
    x = tanh(linear(x, {.out = 16}));
  }
  Trainer t(run, g, softmaxCrossEntropy(linear(x, {.out = 4}), label), Adam{.lr = 2e-3});
  for (const At at : iterations(run, 40)) t.step(points(at));
}

/// A wide layer behind which a part of the units never fires again: the others learn.
void someUnitsDie(Session& run) {
  Graph g("wide");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  Value hidden;
  {
    const Scope s = g.scope("fc1");
    const Value bias = g.input("shift", {64});
    hidden = relu(linear(x, {.out = 64, .bias = false}) + bias);
  }
  Trainer t(run, g, softmaxCrossEntropy(linear(hidden, {.out = 4}), label), Sgd{.lr = 0.05});
  const Tensor shift = filled({64}, [](std::int64_t i) { return i % 4 == 0 ? -30 : 0; });
  for (const At at : iterations(run, 40)) {
    Batch batch = points(at);
    batch.tensors.emplace_back("shift", shift);
    t.step(batch);
  }
}

/// Unrolled over the places of a sentence, with the same three weights at each.
void recurrent(Session& run) {
  constexpr std::int64_t kRows = 4, kLength = 6, kWidth = 16, kWords = 12;
  Graph g("rnn");
  const Value tokens = g.input("x", {kRows, kLength}, DType::Int64);
  const Value label = g.input("label", {kRows, kLength}, DType::Int64);
  const auto weight = [&](const char* name) {
    return parameter(g, name, {kWidth, kWidth}, DType::Float32,
                     {core::Initializer::Kind::kKaimingNormal, 2 * kWidth}, std::source_location::current());
  };
  const Value fromWord = weight("from_word"), fromState = weight("from_state"), toWord = weight("to_word");
  const Value sentence = embedding(tokens, {.count = kWords, .width = kWidth});
  Value state = tanh(matmul(squeeze(slice(sentence, 1, 0, 1), {1}), fromWord));
  Value loss;
  for (std::int64_t place = 1; place < kLength; ++place) {
    const Value word = squeeze(slice(sentence, 1, place, place + 1), {1});
    state = tanh(matmul(word, fromWord) + matmul(state, fromState));
    const Value next = squeeze(slice(label, 1, place, place + 1), {1});
    const Value here = softmaxCrossEntropy(matmul(state, toWord), next);
    loss = loss.valid() ? loss + here : here;
  }
  Trainer t(run, g, loss * (1.0 / (kLength - 1)), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 40)) t.step(words(at));
}

/// Rows 10 to 99 of the table are never used.
void unusedRows(Session& run) {
  Graph g("words");
  const Value tokens = g.input("x", {4, 6}, DType::Int64), label = g.input("label", {4, 6}, DType::Int64);
  Value x = embedding(tokens, {.count = 100, .width = 12});
  x = relu(linear(reshape(x, {24, 12}), {.out = 24}));
  const Value loss = softmaxCrossEntropy(linear(x, {.out = 100}), reshape(label, {-1}));
  Trainer t(run, g, loss, Sgd{.lr = 0.1, .momentum = 0.9});
  for (const At at : iterations(run, 40)) t.step(words(at));
}

/// The mean of a sentence's words, then a classifier of its first word's next.
void bagOfWords(Session& run) {
  Graph g("bag");
  const Value tokens = g.input("x", {8, 4}, DType::Int64), label = g.input("label", {8, 4}, DType::Int64);
  Value x;
  {
    const Scope s = g.scope("words");
    x = reduceMean(embedding(tokens, {.count = 10, .width = 12}), {1}, false);
  }
  const Value wanted = squeeze(slice(label, 1, 0, 1), {1});
  const Value loss = softmaxCrossEntropy(linear(relu(linear(x, {.out = 24})), {.out = 10}), wanted);
  Trainer t(run, g, loss, AdamW{.lr = 1e-2});
  for (const At at : iterations(run, 60)) t.step(words(at, {.rows = 8, .length = 4}));
}

void oneRow(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {1, 8}), label = g.input("label", {1}, DType::Int64);
  const Value hidden = tanh(layerNorm(linear(x, {.out = 24})));
  Trainer t(run, g, softmaxCrossEntropy(linear(hidden, {.out = 4}), label), Sgd{.lr = 0.02});
  for (const At at : iterations(run, 60)) t.step(points(at, {.rows = 1}));
}

void halfDropped(Session& run) {
  Graph g("dropout");
  Value x = g.input("x", {16, 8});
  const Value label = g.input("label", {16}, DType::Int64);
  x = dropout(relu(linear(x, {.out = 32})), 0.5);
  x = dropout(relu(linear(x, {.out = 32})), 0.5);
  Trainer t(run, g, softmaxCrossEntropy(linear(x, {.out = 4}), label), Adam{.lr = 3e-3});
  for (const At at : iterations(run, 60)) t.step(points(at));
}

/// One encoder for two inputs, a loss on the distance of what it makes of them.
void siamese(Session& run) {
  Graph g("siamese");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value w1 = parameter(g, "w1", {8, 16}, DType::Float32, {core::Initializer::Kind::kKaimingNormal, 8},
                             std::source_location::current());
  const Value w2 = parameter(g, "w2", {16, 4}, DType::Float32, {core::Initializer::Kind::kKaimingNormal, 16},
                             std::source_location::current());
  const auto encoded = [&](Value rows) { return matmul(relu(matmul(rows, w1)), w2); };
  const Value left = encoded(slice(x, 0, 0, 8)), right = encoded(slice(x, 0, 8, 16));
  const Value distance = reduceSum((left - right) * (left - right), {1}, false);
  const Value same = cast(equal(slice(label, 0, 0, 8), slice(label, 0, 8, 16)), DType::Float32);
  const Value loss = reduceMean(same * distance + (1.0 - same) * relu(2.0 - distance), {}, false);
  Trainer t(run, g, loss, Adam{.lr = 3e-3});
  for (const At at : iterations(run, 40)) t.step(points(at));
}

}  // namespace

std::span<const HealthyCase> healthyModels() {
  static constexpr HealthyCase kCases[] = {
      {"conv_pool", convPool},
      {"conv_pool_2_ranks", convPool, 2},
      {"sigmoid_net", denseSigmoid},
      {"leaky_gelu_elu_hardswish", otherActivations},
      {"deep_residual", deepResidual},
      {"deep_tanh", deepTanh},
      {"some_relu_units_dead", someUnitsDie},
      {"recurrent_unrolled", recurrent},
      {"embedding_with_unused_rows", unusedRows},
      {"bag_of_words", bagOfWords},
      {"batch_of_one", oneRow},
      {"dropout_half", halfDropped},
      {"siamese_shared_weights", siamese},
  };
  return kCases;
}

}  // namespace msdbg::corpus
