// Healthy: every optimizer, schedule and clipping, rates from too small to nearly too large.
#include "tests/corpus/corpus.h"
#include "tests/corpus/data.h"

namespace msdbg::corpus {
namespace {

Value smallNet(Graph& g, Value x) {
  {
    const Scope s = g.scope("fc1");
    x = relu(linear(x, {.out = 24}));
  }
  {
    const Scope s = g.scope("fc2");
    x = relu(linear(x, {.out = 16}));
  }
  const Scope s = g.scope("fc3");
  return linear(x, {.out = 4});
}

void trainWith(Session& run, const Optimizer& optimizer, int count = 40) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  Trainer t(run, g, softmaxCrossEntropy(smallNet(g, x), label), optimizer);
  for (const At at : iterations(run, count)) t.step(points(at));
}

void plainSgd(Session& run) { trainWith(run, Sgd{.lr = 0.05}); }
void momentumSgd(Session& run) { trainWith(run, Sgd{.lr = 0.02, .momentum = 0.9}); }
void nesterovDecay(Session& run) {
  trainWith(run, Sgd{.lr = 0.02, .momentum = 0.9, .weightDecay = 1e-2, .nesterov = true});
}
void adam(Session& run) { trainWith(run, Adam{.lr = 1e-3}, 60); }
void nearlyTooLarge(Session& run) { trainWith(run, Sgd{.lr = 0.6}, 60); }
void adamNearlyTooLarge(Session& run) { trainWith(run, Adam{.lr = 0.03}, 60); }
/// Fine-tuning rates: nothing but patience is missing.
void rateSmall(Session& run) { trainWith(run, Adam{.lr = 1e-5}, 40); }
void rateVerySmall(Session& run) { trainWith(run, Sgd{.lr = 1e-6, .momentum = 0.9}, 20); }

void adamWCosineToZero(Session& run) {
  Optimizer optimizer = AdamW{.lr = 5e-3, .weightDecay = 0.05};
  optimizer.schedule = cosineSchedule(50, 0, 10);
  trainWith(run, optimizer, 60);
}

/// As PyTorch's LambdaLR is mostly used: rate * iteration / warm-up, so that nothing moves in iteration 0.
void warmUpFromZero(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  Trainer t(run, g, softmaxCrossEntropy(smallNet(g, x), label), AdamW{.lr = 0});
  for (const At at : iterations(run, 40)) {
    t.setLearningRate(3e-3 * std::min(1.0, static_cast<double>(at.iteration) / 10));
    t.step(points(at));
  }
}

void droppingSteps(Session& run) {
  Optimizer optimizer = Sgd{.lr = 0.1, .momentum = 0.9};
  optimizer.schedule = stepSchedule(20, 0.1);
  trainWith(run, optimizer, 60);
}

void clipNormActs(Session& run) {
  Optimizer optimizer = Sgd{.lr = 0.2};
  optimizer.clipNorm = 0.25;
  trainWith(run, optimizer);
}

void clipValueActs(Session& run) {
  Optimizer optimizer = Adam{.lr = 3e-3};
  optimizer.clipValue = 0.01;
  trainWith(run, optimizer);
}

/// Two micro-batches through the same weights, their losses averaged, one update.
void microBatches(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const auto weights = [&](const char* name, std::int64_t in, std::int64_t out) {
    return parameter(g, name, {in, out}, DType::Float32,
                     {core::Initializer::Kind::kKaimingNormal, static_cast<double>(in)},
                     std::source_location::current());
  };
  const Value w1 = weights("w1", 8, 24), w2 = weights("w2", 24, 4);
  const auto lossOf = [&](std::int64_t from) {
    const Value rows = slice(x, 0, from, from + 8);
    return softmaxCrossEntropy(matmul(relu(matmul(rows, w1)), w2), slice(label, 0, from, from + 8));
  };
  Trainer t(run, g, (lossOf(0) + lossOf(8)) * 0.5, Sgd{.lr = 0.05, .momentum = 0.9});
  for (const At at : iterations(run, 40)) t.step(points(at));
}

void float64(Session& run) {
  Graph g("net", DType::Float64);
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  Trainer t(run, g, softmaxCrossEntropy(smallNet(g, x), label), Sgd{.lr = 0.05, .momentum = 0.9});
  for (const At at : iterations(run, 40)) t.step(wide(points(at)));
}

void fitWithCallbacks(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 1, 8, 8}), label = g.input("label", {16}, DType::Int64);
  const Value hidden = relu(linear(flatten(x), {.out = 32}));
  Trainer t(run, g, softmaxCrossEntropy(linear(hidden, {.out = 10}), label), Adam{.lr = 3e-3});
  const LoaderOptions trained{.image = {1, 8, 8}, .batch = 16, .samples = 320};
  LoaderOptions heldOut = trained;
  heldOut.firstSample = 320, heldOut.samples = 64, heldOut.shuffle = false;
  const auto loader = makeLoader("digits", trained), held = makeLoader("digits", heldOut);
  EarlyStopping stopping({.patience = 2, .restoreBest = true});
  ReduceLROnPlateau slower({.factor = 0.5, .patience = 1});
  t.fit(*loader.value(), {.epochs = 3, .heldOut = held->get(), .callbacks = {&slower, &stopping}});
}

void evaluatesInside(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 1, 8, 8}), label = g.input("label", {16}, DType::Int64);
  Value hidden = relu(batchNorm(conv(x, {.out = 6, .kernel = 3, .pad = 1})));
  hidden = dropout(flatten(maxPool(hidden)), 0.25);
  Trainer t(run, g, softmaxCrossEntropy(linear(hidden, {.out = 10}), label),
            Sgd{.lr = 0.05, .momentum = 0.9});
  const auto loader = makeLoader("digits", {.image = {1, 8, 8}, .batch = 16});
  const auto held = makeLoader("digits", {.image = {1, 8, 8}, .batch = 16, .samples = 64, .shuffle = false});
  for (const Batch& batch : run.shard(*loader.value(), 30)) {
    t.step(batch);
    if (batch.iteration.value % 10 == 9) t.evaluate(*held.value());
  }
}

}  // namespace

std::span<const HealthyCase> healthyOptimizers() {
  static constexpr HealthyCase kCases[] = {
      {"sgd", plainSgd},
      {"sgd_4_ranks", plainSgd, 4},
      {"sgd_momentum", momentumSgd},
      {"sgd_nesterov_decay", nesterovDecay},
      {"adam", adam},
      {"adam_3_ranks", adam, 3},
      {"sgd_rate_nearly_too_large", nearlyTooLarge},
      {"adam_rate_nearly_too_large", adamNearlyTooLarge},
      {"adam_rate_small", rateSmall},
      {"sgd_rate_very_small", rateVerySmall},
      {"adamw_warm_up_cosine_to_zero", adamWCosineToZero},
      {"adamw_warm_up_from_zero", warmUpFromZero},
      {"rate_dropping_in_steps", droppingSteps},
      {"clip_norm_acts", clipNormActs},
      {"clip_value_acts", clipValueActs},
      {"micro_batches", microBatches},
      {"float64", float64},
      {"fit_with_callbacks", fitWithCallbacks},
      {"evaluates_inside", evaluatesInside},
  };
  return kCases;
}

}  // namespace msdbg::corpus
