// Sick: how parameters are changed. Nothing in the model is wrong: the right place is an update, or the
// parameter that it made, or the rate itself.
#include <cmath>

#include "tests/corpus/corpus.h"
#include "tests/corpus/data.h"

namespace msdbg::corpus {
namespace {

Value smallNet(Graph& g, Value x, std::int64_t out) {
  {
    const Scope s = g.scope("fc1");
    x = relu(linear(x, {.out = 24}));
  }
  {
    const Scope s = g.scope("fc2");
    x = relu(linear(x, {.out = 16}));
  }
  const Scope s = g.scope("fc3");
  return linear(x, {.out = out});
}

using RateAt = double (*)(std::int64_t iteration);

void classify(Session& run, const Optimizer& optimizer, int count = 40, RateAt rateAt = nullptr) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  Trainer t(run, g, softmaxCrossEntropy(smallNet(g, x, 4), label), optimizer);
  for (const At at : iterations(run, count)) {
    if (rateAt) t.setLearningRate(rateAt(at.iteration));
    t.step(points(at));
  }
}

void fitCurve(Session& run, const Optimizer& optimizer, int count = 40) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  Trainer t(run, g, meanSquare(smallNet(g, x, 1), y), optimizer);
  for (const At at : iterations(run, count)) t.step(curve(at));
}

void rateTimes100ToNan(Session& run) { fitCurve(run, Sgd{.lr = 5}); }
void rateTimes100Finite(Session& run) { classify(run, Sgd{.lr = 10}); }
void adamRate(Session& run) { classify(run, Adam{.lr = 1}); }
void rateZero(Session& run) { classify(run, Sgd{.lr = 0, .momentum = 0.9}); }
void rateFarTooSmall(Session& run) { classify(run, Sgd{.lr = 1e-9}, 60); }
void momentumNearlyOne(Session& run) { fitCurve(run, Sgd{.lr = 0.1, .momentum = 0.9999}, 60); }
void decayShrinks(Session& run) { classify(run, Sgd{.lr = 0.05, .weightDecay = 10}); }
void decayExplodes(Session& run) { classify(run, Sgd{.lr = 0.5, .weightDecay = 10}); }

void rateJumps(Session& run) {
  classify(run, Sgd{.lr = 0.05}, 40, [](std::int64_t i) { return i < 20 ? 0.05 : 50; });
}
/// Multiplied where it should have been divided.
void rateGrows(Session& run) {
  classify(run, Sgd{.lr = 0.01}, 40, [](std::int64_t i) { return 0.01 * std::pow(1.6, i); });
}
void oneHugeStep(Session& run) {
  classify(run, Sgd{.lr = 0.05}, 40, [](std::int64_t i) { return i == 15 ? 200 : 0.05; });
}

void clippedToNothing(Session& run) {
  Optimizer optimizer = Sgd{.lr = 0.05, .momentum = 0.9};
  optimizer.clipNorm = 1e-12;
  classify(run, optimizer);
}

/// One layer was to be slower, and stands still.
void factorZero(Session& run) {
  Optimizer optimizer = Sgd{.lr = 0.05, .momentum = 0.9};
  optimizer.groups = {{.match = "net/fc2/*", .lrFactor = 0}};
  classify(run, optimizer);
}

}  // namespace

std::span<const SickCase> sickRates() {
  static const std::vector<std::string_view> kUpdates = {"update/*", "*/weight", "*/bias",
                                                         "optimizer/learning_rate"};
  // What clipping leaves is the first number that is too small.
  static const std::vector<std::string_view> kClipped = {"update/*", "*/weight", "*/bias", "grad*", "*lip*"};
  constexpr std::string_view kRate = "learning.rate";
  static const SickCase kCases[] = {
      {"rate_100_times_to_nan", rateTimes100ToNan, kRate, kUpdates},
      {"rate_100_times_finite", rateTimes100Finite, kRate, kUpdates},
      {"adam_rate_1000_times", adamRate, kRate, kUpdates},
      {"rate_zero", rateZero, kRate, kUpdates},
      {"rate_far_too_small", rateFarTooSmall, kRate, kUpdates},
      {"rate_jumps", rateJumps, kRate, kUpdates, 1, -1, 20},
      {"rate_grows", rateGrows, kRate, kUpdates},
      {"one_huge_step", oneHugeStep, "learning.rate|step.{0,20}too large", kUpdates, 1, -1, 15},
      {"momentum_nearly_one", momentumNearlyOne, "momentum|learning.rate", kUpdates},
      {"decay_shrinks_weights", decayShrinks, "decay|shrink", kUpdates},
      {"decay_explodes", decayExplodes, "decay|learning.rate", kUpdates},
      {"group_factor_zero", factorZero, "lrFactor", kUpdates},
      {"clipped_to_nothing", clippedToNothing, "clip", kClipped},
  };
  return kCases;
}

}  // namespace msdbg::corpus
