// Healthy: what people built who knew only the guide, and what check once called wrong.
#include <algorithm>
#include <cmath>

#include "tests/corpus/corpus.h"
#include "tests/corpus/data.h"

namespace msdbg::corpus {
namespace {

Value layer(Graph& g, const char* name, Value x, std::int64_t out) {
  const Scope s = g.scope(name);
  return linear(x, {.out = out});
}

/// Two heads; the second learns from the few batches that are labelled, guarded against a count of zero.
void partlyLabelled(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value known = g.input("known", {16}), one = g.input("one", {1});
  const Value h = relu(layer(g, "fc1", x, 24));
  const Value logits = layer(g, "head", h, 4);
  const Value each = -reduceSum(logSoftmax(logits) * classRows(label, 4), {1}, false);
  const Value labelled = reduceSum(each * known, {}, false) / squeeze(max(reduceSum(known, {0}, true), one));
  const Value same = meanSquare(layer(g, "decoder", h, 8), x);
  Trainer t(run, g, same + labelled * 0.5, Adam{.lr = 1e-2});
  for (const At at : iterations(run, 60)) {
    Batch batch = points(at);
    const double there = at.iteration % 8 == 5 ? 1 : 0;
    batch.tensors.emplace_back("known", filled({16}, [&](std::int64_t) { return there; }));
    batch.tensors.emplace_back("one", filled({1}, [](std::int64_t) { return 1.0; }));
    t.step(batch);
  }
}

/// A hinge that reaches zero: its Relu is dead because everything is learnt.
void supportVectors(Session& run) {
  Graph g("svm");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const Value w = g.parameter("w", {4, 1}, Init::zeros()), b = g.parameter("b", {1}, Init::zeros());
  Trainer t(run, g, reduceMean(relu(1.0 - y * (matmul(x, w) + b)), {}, false), Sgd{.lr = 0.2});
  for (const At at : iterations(run, 60)) {
    Batch batch = curve(at);
    Tensor& rows = tensorOf(batch, "x");
    for (std::int64_t i = 0; i < 16; ++i) {
      const float side = i % 2 == 0 ? 1 : -1;
      tensorOf(batch, "y").data<float>()[static_cast<std::size_t>(i)] = side;
      for (std::size_t c = 0; c < 4; ++c) {
        float& v = rows.data<float>()[static_cast<std::size_t>(i) * 4 + c];
        v = 0.3f * v + (c < 2 ? 2 * side : 0);
      }
    }
    t.step(batch);
  }
}

/// Counts of hundreds of thousands; their likelihood, less its constant, is below zero from the beginning.
void poissonCounts(Session& run) {
  Graph g("counts");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  Value rate;
  {
    const Scope s = g.scope("fc2");
    rate = linear(tanh(layer(g, "fc1", x, 24)),
                  {.out = 1, .init = Init::normal(0.05), .biasInit = Init::constant(11)});
  }
  Trainer t(run, g, reduceMean(exp(rate) - y * rate, {}, false), Adam{.lr = 3e-2});
  for (const At at : iterations(run, 100)) {
    Batch batch = curve({0, at.rank});  // all of the data in every iteration
    batch.iteration = Iteration(at.iteration);
    batch = changed(std::move(batch), "y",
                    [](float v, std::size_t) { return std::round(std::exp(12 + 0.5f * v)); });
    t.step(batch);
  }
}

/// A head that starts at zero: what is before it has no gradient until the first update, which comes late.
void accumulatedBehindZero(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const Value h = tanh(layer(g, "fc1", x, 24));
  Value out;
  {
    const Scope s = g.scope("head");
    out = linear(h, {.out = 1, .init = Init::zeros()});
  }
  Optimizer optimizer = Adam{.lr = 1e-2};
  optimizer.accumulate = 2;
  Trainer t(run, g, meanSquare(out, y), optimizer);
  for (const At at : iterations(run, 60)) t.step(curve(at));
}

/// A bias before a normalisation, under accumulation and clipping together.
void accumulatedAndClipped(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {8, 1, 8, 8}), label = g.input("label", {8}, DType::Int64);
  Value h = x;
  for (const char* name : {"conv1", "conv2"}) {
    const Scope s = g.scope(name);
    h = relu(batchNorm(conv(h, {.out = 8, .kernel = 3, .pad = 1})));
  }
  Optimizer optimizer = Adam{.lr = 1e-2};
  optimizer.accumulate = 2;
  optimizer.clipNorm = 1;
  Trainer t(run, g, softmaxCrossEntropy(layer(g, "fc", flatten(h), 3), label), optimizer);
  for (const At at : iterations(run, 40)) t.step(pictures(at));
}

/// Weights over the instances of a bag: a softmax over the first dimension that is meant so.
void attentionOverInstances(Session& run) {
  Graph g("bag");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value h = relu(layer(g, "fc1", x, 24));
  const Value context = reduceSum(softmax(layer(g, "score", h, 1), 0) * h, {0}, true);
  Trainer t(run, g, softmaxCrossEntropy(layer(g, "head", h + context, 4), label), Adam{.lr = 1e-2});
  for (const At at : iterations(run, 40)) t.step(points(at));
}

/// Targets between 0 and 1 for a Sigmoid, and of -1 and 1 for a Tanh, at the very ends.
void boundedTargets(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const Value h = relu(layer(g, "fc1", x, 24));
  const Value up = sigmoid(layer(g, "up", h, 1)), side = tanh(layer(g, "side", h, 1));
  Trainer t(run, g, meanSquare(up, y) + meanSquare(side, y * 2.0 - 1.0), Adam{.lr = 1e-2});
  for (const At at : iterations(run, 60))
    t.step(changed(curve(at), "y", [](float v, std::size_t) { return v > 0 ? 1.f : 0.f; }));
}

/// The likelihood of a normal distribution whose width is learnt falls below zero, and stays there.
void gaussianLikelihood(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const Value h = tanh(layer(g, "fc1", x, 24));
  const Value mean = layer(g, "mean", h, 1), logVariance = layer(g, "width", h, 1);
  const Value off = y - mean;
  Trainer t(run, g, reduceMean((logVariance + off * off * exp(-logVariance)) * 0.5, {}, false),
            Adam{.lr = 1e-2});
  for (const At at : iterations(run, 120)) t.step(curve(at));
}

/// The same hinge written as a maximum; triplets of a siamese net that are soon far enough apart.
void triplets(Session& run) {
  Graph g("triplet");
  const Value anchor = g.input("anchor", {16, 8}), near = g.input("near", {16, 8}),
              far = g.input("far", {16, 8});
  Value all = concat({anchor, near, far}, 0);
  all = layer(g, "fc2", relu(layer(g, "fc1", all, 24)), 8);
  const std::vector<Value> e = split(all, 3, 0);
  const auto distance = [](Value a, Value b) { return reduceSum((a - b) * (a - b), {1}, false); };
  const Value loss = reduceMean(max(distance(e[0], e[1]) - distance(e[0], e[2]) + 0.5, 0.0), {}, false);
  Trainer t(run, g, loss, Sgd{.lr = 0.05, .momentum = 0.9});
  for (const At at : iterations(run, 80)) {
    const auto cloud = [&](double centre, double phase) {
      return filled({16, 8}, [&](std::int64_t i) {
        return centre + 0.3 * std::sin(phase + 1.7 * static_cast<double>(i + 128 * at.iteration));
      });
    };
    Batch batch;
    batch.iteration = Iteration(at.iteration);
    batch.tensors = {{"anchor", cloud(1, 0)}, {"near", cloud(1, 1)}, {"far", cloud(-1, 2)}};
    t.step(batch);
  }
}

/// A distance net: the bias of its last layer cancels, to the last bit.
void distances(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const std::vector<Value> half = split(layer(g, "fc2", tanh(layer(g, "fc1", x, 24)), 4), 2, 0);
  const Value apart = half[0] - half[1];
  const Value distance = sqrt(reduceSum(apart * apart, {1}) + 1e-4);
  const std::vector<Value> target = split(y, 2, 0);
  Trainer t(run, g, meanSquaredError(distance, abs(target[0] - target[1])), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) t.step(curve(at));
}

/// Equal weights that have no unit to be equal with, and knots that their biases tell apart.
void equalWeights(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  Value knots, line;
  {
    const Scope s = g.scope("knots");
    knots = relu(linear(x, {.out = 24, .init = Init::ones(), .biasInit = Init::uniform(-1, 1)}));
  }
  {
    const Scope s = g.scope("line");
    line = linear(x, {.out = 1, .init = Init::constant(0.1)});
  }
  Trainer t(run, g, meanSquaredError(line + layer(g, "out", knots, 1), y), Adam{.lr = 1e-2});
  for (const At at : iterations(run, 80)) t.step(curve(at));
}

/// The class of what is not to count: its row of the targets is zero.
void ignoredClass(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value logits = layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 4);
  const Value target = oneHot(label, 4);
  Trainer t(run, g, -reduceSum(target * logSoftmax(logits), {}, false) / reduceSum(target, {}, false),
            Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) {
    Batch batch = points(at);
    for (std::int64_t& each : tensorOf(batch, "label").data<std::int64_t>())
      if (each == 3) each = 255;
    t.step(batch);
  }
}

/// Harder samples from the middle on: the loss jumps, and falls again.
void curriculum(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  Trainer t(run, g, meanSquaredError(layer(g, "fc2", tanh(layer(g, "fc1", x, 32)), 1), y), Adam{.lr = 2e-2});
  for (const At at : iterations(run, 200)) {
    const float size = at.iteration < 60 ? 0.5f : 8.f;
    t.step(changed(curve(at), "y", [&](float v, std::size_t) { return v * size; }));
  }
}

}  // namespace

std::span<const HealthyCase> healthyStrangers() {
  static constexpr HealthyCase kCases[] = {
      {"partly_labelled_batches", partlyLabelled},
      {"hinge_reaches_zero", supportVectors},
      {"poisson_counts_below_zero", poissonCounts},
      {"accumulated_behind_a_zero_head", accumulatedBehindZero},
      {"accumulated_and_clipped_bias_before_norm", accumulatedAndClipped},
      {"accumulated_and_clipped_2_ranks", accumulatedAndClipped, 2},
      {"attention_over_instances", attentionOverInstances},
      {"bounded_targets", boundedTargets},
      {"gaussian_likelihood", gaussianLikelihood},
      {"triplets_far_enough_apart", triplets},
      {"bias_that_a_distance_cancels", distances},
      {"equal_weights_that_are_told_apart", equalWeights},
      {"ignored_class_255", ignoredClass},
      {"curriculum", curriculum},
  };
  return kCases;
}

}  // namespace msdbg::corpus
