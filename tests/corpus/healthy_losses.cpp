// Healthy: losses written from operators, several losses in one, data that is hard but fine.
#include "tests/corpus/corpus.h"
#include "tests/corpus/data.h"

namespace msdbg::corpus {
namespace {

void autoencoder(Session& run) {
  Graph g("autoencoder");
  const Value x = g.input("x", {8, 1, 8, 8});
  g.input("label", {8}, DType::Int64);  // of the loader, not used
  const Value pixels = flatten(x);
  Value y;
  {
    const Scope s = g.scope("encoder");
    y = relu(linear(pixels, {.out = 32}));
    y = linear(y, {.out = 6});
  }
  {
    const Scope s = g.scope("decoder");
    y = relu(linear(y, {.out = 32}));
    y = sigmoid(linear(y, {.out = 64}));
  }
  const Value difference = y - pixels;
  Trainer t(run, g, reduceMean(difference * difference, {}, false), Adam{.lr = 3e-3});
  for (const At at : iterations(run, 60)) t.step(pictures(at));
}

/// Kingma and Welling, "Auto-encoding variational Bayes", with the noise given with the batch.
void variationalAutoencoder(Session& run) {
  Graph g("vae");
  const Value x = g.input("x", {8, 1, 8, 8}), noise = g.input("noise", {8, 4});
  g.input("label", {8}, DType::Int64);
  const Value pixels = flatten(x), hidden = relu(linear(pixels, {.out = 32}));
  Value mean, logVariance;
  {
    const Scope s = g.scope("mean");
    mean = linear(hidden, {.out = 4});
  }
  {
    const Scope s = g.scope("variance");
    logVariance = linear(hidden, {.out = 4, .deviation = 0.05});
  }
  const Value code = mean + exp(logVariance * 0.5) * noise;
  const Value y = sigmoid(linear(relu(linear(code, {.out = 32})), {.out = 64}));
  const Value divergence = reduceMean(exp(logVariance) + mean * mean - logVariance - 1.0, {}, false) * 0.5;
  Trainer t(run, g, meanSquare(y, pixels) + divergence * 0.01, Adam{.lr = 2e-3});
  for (const At at : iterations(run, 40)) {
    Batch batch = pictures(at);
    batch.tensors.emplace_back("noise", tensorOf(batch, "x").part(0, {8, 4}).clone());
    t.step(batch);
  }
}

void labelSmoothing(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value logProb = logSoftmax(linear(relu(linear(x, {.out = 24})), {.out = 4}));
  const Value target = classRows(label, 4) * 0.9 + 0.1 / 4;
  const Value loss = 0.0 - reduceMean(reduceSum(target * logProb, {1}), {}, false);
  Trainer t(run, g, loss, Sgd{.lr = 0.1});
  for (const At at : iterations(run, 40)) t.step(points(at));
}

void multiTask(Session& run) {
  Graph g("tasks");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value shared = relu(linear(x, {.out = 24}));
  Value logits, size;
  {
    const Scope s = g.scope("kind");
    logits = linear(shared, {.out = 4});
  }
  {
    const Scope s = g.scope("size");
    size = linear(shared, {.out = 1});
  }
  const Value wanted = reduceMean(x * x, {1});
  Trainer t(run, g, softmaxCrossEntropy(logits, label) + meanSquare(size, wanted) * 0.3, Adam{.lr = 5e-3});
  for (const At at : iterations(run, 40)) t.step(points(at));
}

/// A discriminator that is shown data and a generator's output, trained together for one loss of two outputs:
/// binary cross-entropy on logits, max(z, 0) - z y + log(1 + exp(-|z|)).
void generatorAndDiscriminator(Session& run) {
  Graph g("gan");
  const Value x = g.input("x", {16, 8}), noise = g.input("noise", {16, 4});
  g.input("label", {16}, DType::Int64);
  const auto drawn = [&](const char* name, std::int64_t in, std::int64_t out) {
    return parameter(g, name, {in, out}, DType::Float32,
                     {core::Initializer::Kind::kKaimingNormal, static_cast<double>(in)},
                     std::source_location::current());
  };
  const Value g1 = drawn("generator/w1", 4, 16), g2 = drawn("generator/w2", 16, 8);
  const Value d1 = drawn("discriminator/w1", 8, 16), d2 = drawn("discriminator/w2", 16, 1);
  const auto judged = [&](Value rows) { return matmul(leakyRelu(matmul(rows, d1), 0.2), d2); };
  const auto crossEntropy = [](Value z, double wanted) {
    const Value magnitude = max(z, 0.0 - z);
    return reduceMean(relu(z) - z * wanted + log(exp(0.0 - magnitude) + 1.0), {}, false);
  };
  const Value made = matmul(tanh(matmul(noise, g1)), g2);
  const Value real = crossEntropy(judged(x), 1), fake = crossEntropy(judged(made), 0);
  Trainer t(run, g, real + fake, Adam{.lr = 1e-3, .beta1 = 0.5});
  for (const At at : iterations(run, 40)) {
    Batch batch = points(at);
    const Tensor normal = tensorOf(batch, "x");
    batch.tensors.emplace_back("noise", filled({16, 4}, [&](std::int64_t i) { return normal.at(i * 2); }));
    t.step(batch);
  }
}

void huber(Session& run) {
  Graph g("robust");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const Value difference = linear(tanh(linear(x, {.out = 24})), {.out = 1}) - y;
  const Value magnitude = max(difference, 0.0 - difference);
  const Value one = constant(g, 1, {}, DType::Float32, std::source_location::current());
  const Value each = where(less(magnitude, one), difference * difference * 0.5, magnitude - 0.5);
  Trainer t(run, g, reduceMean(each, {}, false), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) t.step(curve(at));
}

void regression(Session& run) {
  Graph g("regression");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  Value hidden = tanh(linear(x, {.out = 32}));
  hidden = tanh(linear(hidden, {.out = 16}));
  Trainer t(run, g, meanSquare(linear(hidden, {.out = 1}), y), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) t.step(curve(at));
}

/// 19 of 20 rows are of one class.
void imbalance(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {32, 8}), label = g.input("label", {32}, DType::Int64);
  const Value loss = softmaxCrossEntropy(linear(relu(linear(x, {.out = 16})), {.out = 2}), label);
  Trainer t(run, g, loss, Sgd{.lr = 0.05, .momentum = 0.9});
  for (const At at : iterations(run, 40)) {
    Batch batch = points(at, {.rows = 32, .classes = 20});
    for (std::int64_t& kind : tensorOf(batch, "label").data<std::int64_t>()) kind = kind == 0;
    t.step(batch);
  }
}

/// Weights of rows given with the batch; those of padding are 0.
void maskedRows(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value weight = g.input("weight", {16});
  const Value logProb = logSoftmax(linear(relu(linear(x, {.out = 24})), {.out = 4}));
  const Value each = 0.0 - reduceSum(classRows(label, 4) * logProb, {1}, false);
  const Value loss = reduceSum(each * weight, {}, false) / reduceSum(weight, {}, false);
  Trainer t(run, g, loss, Adam{.lr = 5e-3});
  for (const At at : iterations(run, 40)) {
    Batch batch = points(at);
    batch.tensors.emplace_back("weight", filled({16}, [](std::int64_t i) { return i < 11 ? 1 : 0; }));
    t.step(batch);
  }
}

}  // namespace

std::span<const HealthyCase> healthyLosses() {
  static constexpr HealthyCase kCases[] = {
      {"autoencoder_mse", autoencoder},
      {"variational_autoencoder", variationalAutoencoder},
      {"label_smoothing_by_hand", labelSmoothing},
      {"multi_task", multiTask},
      {"generator_and_discriminator", generatorAndDiscriminator},
      {"huber_by_hand", huber},
      {"regression_tanh", regression},
      {"class_imbalance", imbalance},
      {"masked_rows", maskedRows},
  };
  return kCases;
}

}  // namespace msdbg::corpus
