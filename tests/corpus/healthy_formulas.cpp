// Healthy: what looks like the mistakes of sick_formulas.cpp, and is meant.
#include <cmath>

#include "tests/corpus/corpus.h"
#include "tests/corpus/data.h"

namespace msdbg::corpus {
namespace {

Value layer(Graph& g, const char* name, Value x, std::int64_t out) {
  const Scope s = g.scope(name);
  return linear(x, {.out = out});
}

/// A softmax over what a mask leaves, as AllenNLP writes it: masked before, after, and divided by the sum.
void maskedTwice(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), near = g.input("near", {16, 16});
  const Value label = g.input("label", {16}, DType::Int64);
  const Value query = layer(g, "query", x, 8), key = layer(g, "key", x, 8), value = layer(g, "value", x, 16);
  const Value kept = softmax(matmul(query, transpose(key)) * near) * near;
  const Value weights = kept / (reduceSum(kept, {1}, true) + 1e-9);
  const Value logits = layer(g, "head", relu(matmul(weights, value)), 4);
  Trainer t(run, g, softmaxCrossEntropy(logits, label), Adam{.lr = 1e-2});
  for (const At at : iterations(run, 60)) t.step(neighbours(at));
}

/// Two networks that learn from each other, and both from the labels.
void learningFromEachOther(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value a = layer(g, "a2", relu(layer(g, "a1", x, 24)), 4),
              b = layer(g, "b2", tanh(layer(g, "b1", x, 16)), 4);
  const Value apart =
      reduceMean(reduceSum(softmax(a) * (logSoftmax(a) - logSoftmax(b)), {1}, false), {}, false);
  Trainer t(run, g, softmaxCrossEntropy(a, label) + softmaxCrossEntropy(b, label) + apart, Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) t.step(points(at));
}

/// A teacher behind stopGradient(), which learns from the labels.
void teacherBesideStudent(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value teacher = layer(g, "teacher", x, 4);
  const Value student = layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 4);
  const Value wanted = softmax(stopGradient(teacher));
  const Value loss = -reduceMean(reduceSum(wanted * logSoftmax(student), {1}, false), {}, false);
  Trainer t(run, g, loss + softmaxCrossEntropy(teacher, label), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) t.step(points(at));
}

/// The focal loss of Lin et al.
void focalLoss(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const Value p = sigmoid(layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 1));
  const Value right = p * y + (1.0 - p) * (1.0 - y);
  const Value rest = 1.0 - right;
  Trainer t(run, g, -reduceMean(rest * rest * log(right + 1e-7), {}, false), Adam{.lr = 1e-2});
  for (const At at : iterations(run, 160))
    t.step(changed(curve(at), "y", [](float v, std::size_t) { return v > 0.3f ? 1.f : 0.f; }));
}

/// Two heads of one detector: what is nowhere weighs less, and boxes count where something is.
void detector(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1}), box = g.input("box", {16, 1});
  const Value h = relu(layer(g, "fc1", x, 24));
  const Value there = sigmoid(layer(g, "score", h, 1)) - y, error = layer(g, "box", h, 1) - box;
  const Value loss = reduceMean(y * there * there, {}, false) +
                     reduceMean((1.0 - y) * there * there, {}, false) * 0.5 +
                     reduceSum(y * error * error, {}, false) / (reduceSum(y, {}, false) + 1.0);
  Trainer t(run, g, loss, Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) t.step(objects(at));
}

/// A denoising network, whose target is part of what it reads.
void denoiser(Session& run) {
  Graph g("net");
  const Value clean = g.input("x", {16, 4}), noise = g.input("noise", {16, 4}),
              time = g.input("time", {16, 1});
  const Value noisy = clean * (1.0 - time) + noise * time;
  const Value out = layer(g, "fc2", tanh(layer(g, "fc1", concat({noisy, sin(time * 3.0)}, 1), 32)), 4);
  Trainer t(run, g, meanSquaredError(out, noise), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 80)) t.step(diffused(at));
}

/// Eight iterations an update, and a warm-up of a quarter of the updates.
void warmUpOfUpdates(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value logits = layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 4);
  Optimizer optimizer = AdamW{.lr = 1e-2};
  optimizer.accumulate = 8;
  optimizer.schedule = cosineSchedule(40, 0.05, /*warmUp=*/10);
  Trainer t(run, g, softmaxCrossEntropy(logits, label), optimizer);
  for (const At at : iterations(run, 320)) t.step(points(at));
}

}  // namespace

std::span<const HealthyCase> healthyFormulas() {
  static constexpr HealthyCase kCases[] = {
      {"masked_before_and_after_a_softmax", maskedTwice},
      {"learning_from_each_other", learningFromEachOther},
      {"teacher_behind_a_stopped_gradient", teacherBesideStudent},
      {"focal_loss", focalLoss},
      {"detector_of_two_heads", detector},
      {"denoiser", denoiser},
      {"warm_up_of_accumulated_updates", warmUpOfUpdates},
  };
  return kCases;
}

}  // namespace msdbg::corpus
