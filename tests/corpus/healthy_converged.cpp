// Healthy: runs that are done. Losses and gradients become very small, because nothing is left to learn.
#include "tests/corpus/corpus.h"
#include "tests/corpus/data.h"

namespace msdbg::corpus {
namespace {

/// A straight line through points without noise, down to the last bit.
void exactRegression(Session& run) {
  Graph g("line");
  const Value x = g.input("x", {16, 2}), y = g.input("y", {16, 1});
  const Value loss = meanSquare(linear(x, {.out = 1}), y);
  Trainer t(run, g, loss, Sgd{.lr = 0.1});
  for (const At at : iterations(run, 1500)) {
    Batch batch = curve(at, {.features = 2});
    const auto in = tensorOf(batch, "x").data<float>();
    const auto out = tensorOf(batch, "y").data<float>();
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = 2 * in[2 * i] - in[2 * i + 1] + 0.5f;
    t.step(batch);
  }
}

/// More parameters than rows, the same few rows in every iteration: the loss falls to 1e-4.
void overParameterised(Session& run) {
  Graph g("wide");
  Value x = g.input("x", {8, 8});
  const Value label = g.input("label", {8}, DType::Int64);
  x = relu(linear(x, {.out = 64}));
  x = relu(linear(x, {.out = 64}));
  const Value loss = softmaxCrossEntropy(linear(x, {.out = 4}), label);
  Trainer t(run, g, loss, Adam{.lr = 3e-3});
  for (const At at : iterations(run, 400)) t.step(points({at.iteration % 4, at.rank}, {.rows = 8}));
}

/// Classes far apart: all gradients fall towards zero.
void separatedClasses(Session& run) {
  Graph g("net");
  Value x = g.input("x", {16, 8});
  const Value label = g.input("label", {16}, DType::Int64);
  x = relu(linear(x, {.out = 24}));
  const Value loss = softmaxCrossEntropy(linear(x, {.out = 4}), label);
  Trainer t(run, g, loss, Sgd{.lr = 0.2, .momentum = 0.9});
  for (const At at : iterations(run, 600)) t.step(points(at, {.noise = 0.05}));
}

/// Exclusive or, learned by four sigmoid units from all four rows at once.
void exclusiveOr(Session& run) {
  Graph g("xor");
  const Value x = g.input("x", {4, 2}), y = g.input("y", {4, 1});
  const Value hidden = sigmoid(linear(x, {.out = 4}));
  const Value loss = meanSquare(sigmoid(linear(hidden, {.out = 1})), y);
  Trainer t(run, g, loss, Adam{.lr = 0.05});
  const Tensor in = filled({4, 2}, [](std::int64_t i) { return i % 2 == 0 ? i / 4 % 2 : i / 2 % 2; });
  const Tensor out = filled({4, 1}, [](std::int64_t i) { return i == 1 || i == 2 ? 1 : 0; });
  for (const At at : iterations(run, 1500)) t.step({core::Iteration(at.iteration), {{"x", in}, {"y", out}}});
}

/// A rate that falls to zero long before the end: the last updates round to nothing.
void rateGone(Session& run) {
  Graph g("net");
  Value x = g.input("x", {16, 8});
  const Value label = g.input("label", {16}, DType::Int64);
  x = gelu(linear(x, {.out = 16}));
  Optimizer optimizer = AdamW{.lr = 5e-3};
  optimizer.schedule = cosineSchedule(150, 0, 5);
  Trainer t(run, g, softmaxCrossEntropy(linear(x, {.out = 4}), label), optimizer);
  for (const At at : iterations(run, 200)) t.step(points(at));
}

/// The labels have noise that nothing can learn: the loss stays on its plateau above zero.
void noisyPlateau(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value loss = softmaxCrossEntropy(linear(x, {.out = 4}), label);
  Trainer t(run, g, loss, Sgd{.lr = 0.05});
  for (const At at : iterations(run, 300)) t.step(points(at, {.noise = 3}));
}

}  // namespace

std::span<const HealthyCase> healthyConverged() {
  static constexpr HealthyCase kCases[] = {
      {"converged_regression", exactRegression},
      {"over_parameterised", overParameterised},
      {"over_parameterised_4_ranks", overParameterised, 4},
      {"separated_classes", separatedClasses},
      {"separated_classes_2_ranks", separatedClasses, 2},
      {"exclusive_or", exclusiveOr},
      {"rate_gone_before_the_end", rateGone},
      {"noisy_plateau", noisyPlateau},
  };
  return kCases;
}

}  // namespace msdbg::corpus
