// Sick: layers that cannot learn, because of how they start, what they are made of or how they are joined.
#include <cmath>

#include "tests/corpus/corpus.h"
#include "tests/corpus/data.h"

namespace msdbg::corpus {
namespace {

using core::Initializer;

Value weights(Graph& g, const char* name, const Shape& shape, Initializer initializer,
              std::source_location where = std::source_location::current()) {
  return parameter(g, name, shape, DType::Float32, initializer, where);
}
constexpr Initializer kZeros{Initializer::Kind::kZeros, 0};
Initializer constantly(double value) { return {Initializer::Kind::kConstant, value}; }
Initializer drawn(double fanIn) { return {Initializer::Kind::kKaimingNormal, fanIn}; }

/// Points go in, a layer between two others is wrong.
struct Net {
  Graph g{"net"};
  Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);

  Value dense(const char* name, Value in, std::int64_t out) {
    const Scope s = g.scope(name);
    return linear(in, {.out = out});
  }
  void train(Session& run, Value logits, const Optimizer& optimizer = Sgd{.lr = 0.05, .momentum = 0.9},
             int count = 30) {
    Trainer t(run, g, softmaxCrossEntropy(logits, label), optimizer);
    for (const At at : iterations(run, count)) t.step(points(at));
  }
};

void deadFromTheStart(Session& run) {
  Net net;
  Value h;
  {
    const Scope s = net.g.scope("fc1");
    const Value w = weights(net.g, "weight", {8, 24}, drawn(8));
    const Value b = weights(net.g, "bias", {24}, constantly(-1000));  // WRONG
    h = relu(matmul(net.x, w) + b);                                   // WRONG
  }
  net.train(run, net.dense("fc2", h, 4));
}

void weightsZero(Session& run) {
  Net net;
  const Value w1 = weights(net.g, "w1", {8, 24}, kZeros);  // WRONG
  const Value w2 = weights(net.g, "w2", {24, 4}, kZeros);  // WRONG
  const Value h = relu(matmul(net.x, w1));                 // WRONG
  net.train(run, matmul(h, w2));
}

/// Every unit of a layer computes the same and gets the same gradient, for ever.
void weightsEqual(Session& run) {
  Net net;
  const Value w1 = weights(net.g, "w1", {8, 24}, constantly(0.1));  // WRONG
  const Value w2 = weights(net.g, "w2", {24, 4}, constantly(0.1));  // WRONG
  const Value h = tanh(matmul(net.x, w1));                          // WRONG
  net.train(run, matmul(h, w2));
}

void deepWith(Session& run, double factor, int layers) {
  Net net;
  Value x = net.x;
  for (int i = 1; i <= layers; ++i) {
    const Scope s = net.g.scope("fc" + std::to_string(i));
    const double deviation = factor * std::sqrt(2.0 / static_cast<double>(x.shape()[1]));
    x = relu(linear(x, {.out = 16, .deviation = deviation}));  // WRONG
  }
  net.train(run, net.dense("head", x, 4), Sgd{.lr = 0.01});
}
void initialisedTooLarge(Session& run) { deepWith(run, 100, 8); }
void initialisedTooSmall(Session& run) { deepWith(run, 0.01, 8); }

void twentySigmoids(Session& run) {
  Net net;
  Value x = net.x;
  for (int i = 1; i <= 20; ++i) {
    const Scope s = net.g.scope("fc" + std::to_string(i));
    x = sigmoid(linear(x, {.out = 16}));  // WRONG
  }
  net.train(run, net.dense("head", x, 4));
}

void tanhSaturated(Session& run) {
  Net net;
  const Value h = tanh(net.dense("fc1", net.x * 5000.0, 24));  // WRONG
  net.train(run, net.dense("fc2", h, 4));
}

/// Rounded to integers, as if for a device that has no others.
void castCuts(Session& run) {
  Net net;
  const Value h = relu(net.dense("h0", net.x, 24));
  const Value rounded = cast(h * 16.0, DType::Int32);  // WRONG
  const Value back = cast(rounded, DType::Float32);    // WRONG
  net.train(run, net.dense("head", back * (1.0 / 16), 4));
}

/// A unit fires or does not: a comparison has no gradient.
void stepCuts(Session& run) {
  Net net;
  const Value h = net.dense("h0", net.x, 24);
  const Value zero = constant(net.g, 0, {}, DType::Float32, std::source_location::current());
  const Value fires = cast(greater(h, zero), DType::Float32);  // WRONG
  net.train(run, net.dense("head", fires, 4));
}

/// The best of four experts is chosen by ArgMax: what scores them never learns.
void argMaxCuts(Session& run) {
  Net net;
  const Value best = argMax(net.dense("h0", net.x, 4));  // WRONG
  const Value expert = weights(net.g, "experts", {4, 8}, drawn(8));
  net.train(run, net.dense("head", net.x + gather(expert, best), 4));
}

void unusedLayer(Session& run) {
  Net net;
  const Value h1 = relu(net.dense("fc1", net.x, 8));
  Value h2;
  {
    const Scope s = net.g.scope("fc2");
    h2 = relu(linear(h1, {.out = 8}));  // WRONG
  }
  net.train(run, net.dense("head", h1, 4));
}

void nearlyAllDropped(Session& run) {
  Net net;
  const Value h = dropout(relu(net.dense("fc1", net.x, 24)), 0.99);  // WRONG
  net.train(run, net.dense("fc2", h, 4));
}

/// With one row its own mean is taken away: nothing is left of it.
void batchNormOfOneRow(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {1, 8}), label = g.input("label", {1}, DType::Int64);
  const Value h = relu(batchNorm(linear(x, {.out = 24})));  // WRONG
  Trainer t(run, g, softmaxCrossEntropy(linear(h, {.out = 4}), label), Sgd{.lr = 0.05});
  for (const At at : iterations(run, 30)) t.step(points(at, {.rows = 1}));
}

/// Over a last dimension of one element: the same as above, row by row.
void layerNormOfOneFeature(Session& run) {
  Net net;
  const Value h = layerNorm(net.dense("fc1", net.x, 1));  // WRONG
  net.train(run, net.dense("fc2", tanh(h), 4));
}

void clippedToZero(Session& run) {
  Net net;
  const Value h = clip(net.dense("fc1", net.x, 24), 0, 0);  // WRONG
  net.train(run, net.dense("fc2", h, 4));
}

/// A mask that keeps nothing.
void maskOfZeros(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value mask = g.input("mask", {16, 1});  // WRONG
  const Value h = relu(linear(x, {.out = 24}));
  const Value kept = h * mask;  // WRONG
  Trainer t(run, g, softmaxCrossEntropy(linear(kept, {.out = 4}), label), Sgd{.lr = 0.05});
  for (const At at : iterations(run, 30)) {
    Batch batch = points(at);
    batch.tensors.emplace_back("mask", Tensor::zeros(DType::Float32, {16, 1}));
    t.step(batch);
  }
}

/// Queries and keys of width 64 that are large, their product not divided by sqrt(64): one-hot rows.
void scoresNotScaled(Session& run) {
  constexpr std::int64_t kRows = 4, kLength = 6, kWidth = 64;
  Graph g("attention");
  const Value tokens = g.input("x", {kRows, kLength}, DType::Int64);
  const Value label = g.input("label", {kRows, kLength}, DType::Int64);
  const Value text = embedding(tokens, {.count = 10, .width = kWidth, .deviation = 4});
  const auto projected = [&](const char* name) {
    const Scope s = g.scope(name);
    return reshape(linear(reshape(text, {-1, kWidth}), {.out = kWidth}), {kRows, kLength, kWidth});
  };
  const Value query = projected("query"), key = projected("key"), value = projected("value");
  const Value seen = matmul(softmax(matmul(query, transpose(key, {0, 2, 1}))), value);  // WRONG
  const Value logits = linear(reshape(seen, {-1, kWidth}), {.out = 10});
  Trainer t(run, g, softmaxCrossEntropy(logits, reshape(label, {-1})), Adam{.lr = 1e-3});
  for (const At at : iterations(run, 30)) t.step(words(at));
}

/// The weight of the last layer is a million times what it should be: a factor from other units.
void hugeFactor(Session& run) {
  Net net;
  const Value h = relu(net.dense("fc1", net.x, 24)) * 1e6;  // WRONG
  net.train(run, net.dense("fc2", h, 4), Adam{.lr = 1e-3});
}

}  // namespace

std::span<const SickCase> sickLayers() {
  // Either the operator that stops the gradient or the layer that it does not reach, if the words name what
  // stops it.
  static const std::vector<std::string_view> kCutOff = {"*/h0/*"};
  static const std::vector<std::string_view> kNone;
  static const SickCase kCases[] = {
      {"relu_dead_from_the_start", deadFromTheStart, "dead|never active|never fires|no unit|not active"},
      {"weights_all_zero", weightsZero, "weights?.{0,60}zero|zero.{0,60}weight|initiali[sz]"},
      {"weights_all_equal", weightsEqual, "equal|same|symmetr|identical|constant|initiali[sz]"},
      {"initialised_100_times_too_large", initialisedTooLarge, "initiali[sz]|deviation|explod|grow"},
      {"initialised_100_times_too_small", initialisedTooSmall, "initiali[sz]|deviation|vanish|shrink"},
      {"twenty_sigmoid_layers", twentySigmoids, "vanish|sigmoid|saturat"},
      {"tanh_saturated", tanhSaturated, "saturat|flat", {"*/x"}},
      {"cast_cuts_gradient", castCuts, "\\bCast\\b|integer|int32|cut off", kCutOff},
      {"step_cuts_gradient", stepCuts, "\\bGreater\\b|\\bCast\\b|comparison|cut off|bool", kCutOff},
      {"arg_max_cuts_gradient", argMaxCuts, "\\bArgMax\\b|cut off", kCutOff},
      {"unused_layer",
       unusedLayer,
       "unused|not used|nothing (reads|uses)|no gradient|(never|not|does not) (reach|lead).{0,30}loss|cut "
       "off",
       {"*/fc2/*"}},
      {"nearly_all_dropped", nearlyAllDropped, "drop|0\\.99|ratio"},
      {"batch_norm_of_one_row", batchNormOfOneRow, "variance|one row|single|batch of (1|one)"},
      {"layer_norm_of_one_feature", layerNormOfOneFeature, "variance|one (element|feature|value)|single"},
      {"clipped_to_zero", clippedToZero, "\\bclip"},
      {"mask_of_zeros", maskOfZeros,
       "mask|all zero where it enters|input 1 is (all )?(zero|0)|(product|multipl|Mul).{0,60}zero"},
      {"scores_not_scaled", scoresNotScaled, "saturat|one-hot|scal(e|ing)|softmax.{0,60}(flat|large)"},
      {"huge_factor", hugeFactor, "large|factor|scale|explod|grow|range"},
  };
  return kCases;
}

}  // namespace msdbg::corpus
