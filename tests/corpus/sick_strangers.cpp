// Sick: mistakes of people who knew only the guide, and what check once did not see.
#include <cmath>

#include "tests/corpus/corpus.h"
#include "tests/corpus/data.h"

namespace msdbg::corpus {
namespace {

Value layer(Graph& g, const char* name, Value x, std::int64_t out) {
  const Scope s = g.scope(name);
  return linear(x, {.out = out});
}

/// Probabilities given to a loss of logits.
void sigmoidTwice(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const Value out = sigmoid(layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 1));  // WRONG
  Trainer t(run, g, binaryCrossEntropyWithLogits(out, y), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60))
    t.step(changed(curve(at), "y", [](float v, std::size_t) { return v > 0 ? 1.f : 0.f; }));
}

/// Pairs that belong together are pushed apart.
void logProbabilityAsLoss(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value logits = layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 4);
  const Value picked = reduceSum(logSoftmax(logits) * oneHot(label, 4), {1}, false);
  const Value loss = reduceMean(picked, {}, false);  // WRONG
  Trainer t(run, g, loss, Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) t.step(points(at));
}

/// A Relu was left on the last layer, and half of the targets are below zero.
void lastRelu(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const Value out = relu(layer(g, "fc2", tanh(layer(g, "fc1", x, 24)), 1));  // WRONG
  Trainer t(run, g, meanSquaredError(out, y), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) t.step(curve(at));
}

/// Labels reach 3, the rows of the targets end at 2.
void oneHotTooShort(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value logits = layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 3);
  const Value target = oneHot(label, 3);  // WRONG
  Trainer t(run, g, -reduceMean(reduceSum(logSoftmax(logits) * target, {1}, false), {}, false),
            Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) t.step(points(at));
}

/// One of two ranks reads pixels, the other fractions of them.
void otherScaleOfTwo(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value logits = layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 4);
  Trainer t(run, g, softmaxCrossEntropy(logits, label), Sgd{.lr = 0.03, .momentum = 0.9});
  for (const At at : iterations(run, 40)) {
    Batch batch = points(at);
    if (at.rank == 1) batch = changed(std::move(batch), "x", [](float v, std::size_t) { return 255 * v; });
    t.step(batch);
  }
}

void regression(Session& run, const Optimizer& optimizer, int count = 100) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const Value out = layer(g, "fc2", elu(layer(g, "fc1", x, 32)), 1);
  Trainer t(run, g, meanSquaredError(out, y), optimizer);
  for (const At at : iterations(run, count)) t.step(curve(at));
}

/// A warm-up counted in samples, not in steps.
void warmUpTooLong(Session& run) {
  Optimizer optimizer = AdamW{.lr = 1e-2};
  optimizer.schedule = constantSchedule(100000);
  regression(run, optimizer);
}

/// The rate is halved at every step, not at every epoch.
void rateDropsTooFast(Session& run) {
  Optimizer optimizer = Sgd{.lr = 0.002};
  optimizer.schedule = stepSchedule(1, 0.5);
  regression(run, optimizer);
}

void decayTooLarge(Session& run) { regression(run, Sgd{.lr = 0.05, .momentum = 0.9, .weightDecay = 0.5}); }
void momentumTooLarge(Session& run) { regression(run, Sgd{.lr = 0.05, .momentum = 0.999}); }

/// The likelihood has the wrong sign, and nothing holds it.
void unboundedLikelihood(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8});
  const Value code = layer(g, "encoder", relu(layer(g, "fc1", x, 24)), 4);
  const Value out = layer(g, "decoder", relu(layer(g, "fc2", code, 24)), 8);
  const Value likely = reduceMean(reduceSum(x * out - softplus(out), {1}, false), {}, false);
  const Value prior = reduceMean(reduceSum(code * code, {1}, false), {}, false) * 0.5;
  const Value loss = prior + likely;  // WRONG
  Trainer t(run, g, loss, Adam{.lr = 1e-2});
  for (const At at : iterations(run, 120)) {
    Batch batch = points(at);
    std::erase_if(batch.tensors, [](const auto& tensor) { return tensor.first == "label"; });
    t.step(batch);
  }
}

/// Weights of deviation 1, as a normal distribution gives them, saturate every Tanh.
void tanhOfLargeWeights(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {8, 1, 16, 16}), label = g.input("label", {8}, DType::Int64);
  Value h = flatten(x);
  for (const char* name : {"fc1", "fc2"}) {
    const Scope s = g.scope(name);
    h = tanh(linear(h, {.out = 64, .init = Init::normal()}));  // WRONG
  }
  Trainer t(run, g, softmaxCrossEntropy(layer(g, "head", h, 3), label), Sgd{.lr = 0.02});
  for (const At at : iterations(run, 60)) t.step(pictures(at, {.size = 16}));
}

/// Eight Sigmoids in a row: next to nothing of the gradient comes back to the first.
void deepSigmoids(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  Value h = x;
  for (const char* name : {"fc1", "fc2", "fc3", "fc4", "fc5", "fc6", "fc7", "fc8", "fc9", "fc10"})
    h = sigmoid(layer(g, name, h, 24));  // WRONG
  Trainer t(run, g, softmaxCrossEntropy(layer(g, "head", h, 4), label), Sgd{.lr = 0.05, .momentum = 0.9});
  for (const At at : iterations(run, 80)) t.step(points(at));
}

/// A sum over batch and features where a mean was meant, at a rate for the mean.
void summedLoss(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {64, 4}), y = g.input("y", {64, 1});
  const Value e = layer(g, "fc2", relu(layer(g, "fc1", x, 32)), 1) - y;
  const Value loss = reduceSum(e * e, {}, false);  // WRONG
  Trainer t(run, g, loss, Sgd{.lr = 0.2, .momentum = 0.9});
  for (const At at : iterations(run, 40)) t.step(curve(at, {.rows = 64}));
}

/// Shares in [0, 1) cast to indices without the number of rows: all of them are 0.
void indicesCutToZero(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16}), y = g.input("y", {16, 1});
  const Value id = cast(x, DType::Int64);  // WRONG
  Value h;
  {
    const Scope s = g.scope("table");
    h = embedding(id, {.count = 16, .width = 8});
  }
  Trainer t(run, g, meanSquaredError(layer(g, "fc2", relu(layer(g, "fc1", h, 24)), 1), y), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 40)) {
    Batch batch = curve(at);
    batch.tensors.front().second = filled({16}, [&](std::int64_t i) {
      return std::fmod(0.137 * static_cast<double>(i + 16 * at.iteration), 1.0);
    });
    t.step(batch);
  }
}

/// The two decays of Adam in each other's place.
void swappedBetas(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const Value out = layer(g, "fc2", tanh(layer(g, "fc1", x, 24)), 1);
  Trainer t(run, g, meanSquaredError(out, y), Adam{.lr = 5e-3, .beta1 = 0.999, .beta2 = 0.9});  // WRONG
  for (const At at : iterations(run, 60)) t.step(curve(at));
}

void dropoutOfTheOutput(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  Value out = layer(g, "fc2", tanh(layer(g, "fc1", x, 24)), 1);
  out = dropout(out, 0.3);  // WRONG
  Trainer t(run, g, meanSquaredError(out, y), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) t.step(curve(at));
}

/// Classes written -1 and 1 for a loss that takes 0 and 1.
void signsAsProbabilities(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const Value logits = layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 1);
  const Value loss = binaryCrossEntropyWithLogits(logits, y);  // WRONG
  Trainer t(run, g, loss, Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60))
    t.step(changed(curve(at), "y", [](float v, std::size_t) { return v > 0 ? 1.f : -1.f; }));
}

/// Three layers that are one.
void noActivation(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const Value h = layer(g, "fc1", x, 24);
  const Scope s = g.scope("fc2");
  const Value out = linear(h, {.out = 1});  // WRONG
  Trainer t(run, g, meanSquaredError(out, y), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) t.step(curve(at));
}

/// Two rows that are equal from iteration 30 on: the root of their distance has no slope. The bias that the
/// distance cancels is no fault before it.
void rootOfNoDistance(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const std::vector<Value> half = split(layer(g, "fc2", tanh(layer(g, "fc1", x, 24)), 4), 2, 0);
  const Value apart = half[0] - half[1];
  const Value distance = sqrt(reduceSum(apart * apart, {1}));  // WRONG
  const std::vector<Value> target = split(y, 2, 0);
  Trainer t(run, g, meanSquaredError(distance, abs(target[0] - target[1])), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 50)) {
    Batch batch = curve(at);
    const std::span<float> values = tensorOf(batch, "x").data<float>();
    if (at.iteration >= 30) std::copy_n(values.begin(), 4, values.begin() + 8 * 4);
    t.step(batch);
  }
}

/// From iteration 30 on some values are missing, which the file writes as -9999.
void missingValuesAsNumbers(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const Value out = layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 1);
  Trainer t(run, g, meanSquaredError(out, y), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60))
    t.step(changed(curve(at), "x",
                   [&](float v, std::size_t i) { return at.iteration >= 30 && i % 19 == 0 ? -9999.f : v; }));
}

}  // namespace

std::span<const SickCase> sickStrangers() {
  // Rates are no line of the model: any update, and the rate itself.
  constexpr std::string_view kUpdate = "update/*", kRate = "*learning_rate*";
  constexpr std::string_view kRateWords = "rate|warm";
  static const SickCase kCases[] = {
      {"sigmoid_before_logits_loss", sigmoidTwice, "twice|sigmoid.{0,40}itself|expects logits"},
      {"log_probability_as_loss", logProbabilityAsLoss, "sign|negat|minus|as small as|maximi"},
      {"relu_on_signed_targets", lastRelu, "below (0|zero)|negative|Relu"},
      {"one_hot_too_short", oneHotTooShort, "class|depth|row of|beyond|outside"},
      {"one_of_two_ranks_scaled", otherScaleOfTwo, "scale|rank 1", {"net/x"}, 2, 1},
      {"warm_up_too_long", warmUpTooLong, kRateWords, {kUpdate, kRate}},
      {"rate_drops_too_fast", rateDropsTooFast, kRateWords, {kUpdate, kRate}},
      {"decay_of_a_half", decayTooLarge, "decay", {kUpdate}},
      {"momentum_of_0_999", momentumTooLarge, "momentum", {kUpdate}},
      {"likelihood_without_bound", unboundedLikelihood, "sign|bound|below zero"},
      {"tanh_of_large_weights", tanhOfLargeWeights, "saturat|large", {"*fc1/weight", "*fc2/weight"}},
      {"ten_sigmoids", deepSigmoids, "vanish|saturat|small", {"grad/*"}},
      {"loss_summed_over_the_batch", summedLoss, "sum", {kUpdate}},
      {"indices_cut_to_zero", indicesCutToZero, "cut|indices|one row"},
      {"betas_swapped", swappedBetas, "beta", {kUpdate}},
      {"dropout_of_the_output", dropoutOfTheOutput, "dropout|at random"},
      {"signs_as_probabilities", signsAsProbabilities, "-1.{0,60}(0 to 1|probabilit)"},
      {"missing_values_as_numbers", missingValuesAsNumbers, "missing|outlier|9999", {"net/x"}, 1, 0, 30},
      {"no_activation", noActivation, "activation"},
      {"root_of_no_distance", rootOfNoDistance, "root|sqrt", {"grad/*Div*", "grad/*Sqrt*"}, 1, 0, 30},
  };
  return kCases;
}

}  // namespace msdbg::corpus
