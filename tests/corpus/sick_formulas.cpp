// Sick: formulas that a stranger wrote with one mistake each and that train on in silence.
#include <cmath>

#include "tests/corpus/corpus.h"
#include "tests/corpus/data.h"

namespace msdbg::corpus {
namespace {

Value layer(Graph& g, const char* name, Value x, std::int64_t out) {
  const Scope s = g.scope(name);
  return linear(x, {.out = out});
}

/// Neighbours are to be attended to, and a score of 0 hides no other.
void scoresTimesNeighbours(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), near = g.input("near", {16, 16});
  const Value label = g.input("label", {16}, DType::Int64);
  const Value query = layer(g, "query", x, 8), key = layer(g, "key", x, 8), value = layer(g, "value", x, 16);
  const Value weights = softmax(matmul(query, transpose(key)) * near);  // WRONG
  const Value logits = layer(g, "head", relu(matmul(weights, value)), 4);
  Trainer t(run, g, softmaxCrossEntropy(logits, label), Adam{.lr = 1e-2});
  for (const At at : iterations(run, 60)) t.step(neighbours(at));
}

/// Predicts the noise of a point; the time that tells how much there is goes nowhere.
void timeGoesNowhere(Session& run) {
  Graph g("net");
  const Value clean = g.input("x", {16, 4}), noise = g.input("noise", {16, 4}),
              time = g.input("time", {16, 1});
  const Value noisy = clean * (1.0 - time) + noise * time;
  const Value when = sin(concat({time * 3.0, time * 9.0}, 1));
  [[maybe_unused]] const Value embedded = concat({when, when * when}, 1);  // WRONG
  const Value out = layer(g, "fc2", tanh(layer(g, "fc1", concat({noisy, noisy}, 1), 24)), 4);
  Trainer t(run, g, meanSquaredError(out, noise), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) t.step(diffused(at));
}

/// A recommender whose loader brings what was bought, and nothing that was not.
void onlyPositives(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), bought = g.input("bought", {16, 1});
  const Value out = layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 1);
  Trainer t(run, g, binaryCrossEntropyWithLogits(out, bought), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) {
    Batch batch = points(at);
    std::erase_if(batch.tensors, [](const auto& tensor) { return tensor.first == "label"; });
    batch.tensors.emplace_back("bought", filled({16, 1}, [](std::int64_t) { return 1; }));
    t.step(batch);
  }
}

/// The ratio of a policy to itself is 1, and has no gradient.
void ratioToItself(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const Value w = g.parameter("policy", {4, 1}, Init::xavierUniform());
  const Value now = matmul(x, w);
  const Value before = matmul(x, w);  // WRONG
  const Value gained = reduceMean(exp(now - before) * y, {}, false);
  const Value value = layer(g, "fc2", tanh(layer(g, "fc1", x, 24)), 1);
  Trainer t(run, g, meanSquaredError(value, y) - gained, Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) t.step(curve(at));
}

/// The residual of an equation: its mean may vanish without it.
void squaredMeanOfResidual(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4});
  const Value out = layer(g, "fc2", tanh(layer(g, "fc1", x, 24)), 1);
  const Value residual = (out - sin(reduceSum(x, {1}, true))) / 2.0;
  const Value mean = reduceMean(residual, {}, false);
  Trainer t(run, g, mean * mean, Adam{.lr = 5e-3});  // WRONG
  for (const At at : iterations(run, 60)) {
    Batch batch = curve(at);
    std::erase_if(batch.tensors, [](const auto& tensor) { return tensor.first == "y"; });
    t.step(batch);
  }
}

/// A decoder that is given the value of its own step.
void decoderSeesItsStep(Session& run) {
  constexpr std::int64_t kSteps = 4;
  Graph g("net");
  const Value past = g.input("past", {16, 8}), future = g.input("future", {16, kSteps});
  const Value context = tanh(layer(g, "encoder", past, 12));
  std::vector<Value> out;
  for (std::int64_t i = 0; i < kSteps; ++i) {
    const Value given = slice(future, 1, i, i + 1);  // WRONG
    const std::string name = "step" + std::to_string(i);
    out.push_back(layer(g, name.c_str(), concat({context, given}, 1), 1));
  }
  Trainer t(run, g, meanSquaredError(concat(std::span<const Value>(out), 1), future), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) {
    Batch batch{Iteration(at.iteration), {}};
    const auto wave = [&](std::int64_t row, std::int64_t k) {
      const double phase = static_cast<double>(row) + 1.3 * static_cast<double>(at.iteration);
      return std::sin(0.6 * static_cast<double>(k) + phase);
    };
    batch.tensors.emplace_back("past", filled({16, 8}, [&](std::int64_t i) { return wave(i / 8, i % 8); }));
    batch.tensors.emplace_back(
        "future", filled({16, kSteps}, [&](std::int64_t i) { return wave(i / kSteps, 8 + i % kSteps); }));
    t.step(batch);
  }
}

/// A teacher that was to be frozen meets its student half way.
void teacherLearns(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value teacher = layer(g, "teacher", x, 4);
  const Value student = layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 4);
  const Value wanted = softmax(teacher / 2.0);  // WRONG
  const Value apart = logSoftmax(teacher / 2.0) - logSoftmax(student / 2.0);
  const Value divergence = reduceMean(reduceSum(wanted * apart, {1}, false), {}, false) * 4.0;
  Trainer t(run, g, divergence + softmaxCrossEntropy(student, label), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) t.step(points(at));
}

/// The target of a Q-function learns to be small.
void gradientThroughTheTarget(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value reward = g.input("reward", {16});
  const Value w = g.parameter("q", {8, 4}, Init::xavierUniform());
  const Value value = reduceSum(matmul(x, w) * oneHot(label, 4), {1}, false);
  const Value next = reduceMax(matmul(x * 0.9, w), {1}, false);  // WRONG
  const Value error = value - (reward + next * 0.9);
  Trainer t(run, g, reduceMean(error * error, {}, false), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) {
    Batch batch = points(at);
    const Tensor kinds = tensorOf(batch, "label");
    batch.tensors.emplace_back(
        "reward", filled({16}, [&](std::int64_t i) { return kinds.at(i) > 1 ? 1 : 0.2 * kinds.at(i); }));
    t.step(batch);
  }
}

/// A focal loss that looks at what is right already.
void focalTurnedRound(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const Value p = sigmoid(layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 1));
  const Value right = p * y + (1.0 - p) * (1.0 - y);  // WRONG
  Trainer t(run, g, -reduceMean(right * right * log(right + 1e-7), {}, false), Adam{.lr = 1e-2});
  for (const At at : iterations(run, 160))
    t.step(changed(curve(at), "y", [](float v, std::size_t) { return v > 0.3f ? 1.f : 0.f; }));
}

/// Boxes are learnt where there is no object.
void boxesOfNoObjects(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1}), box = g.input("box", {16, 1});
  const Value h = relu(layer(g, "fc1", x, 24));
  const Value positive = 1.0 - y;  // WRONG
  const Value error = abs(layer(g, "box", h, 1) - box);
  const Value loss = binaryCrossEntropyWithLogits(layer(g, "score", h, 1), y) +
                     reduceSum(positive * error, {}, false) / (reduceSum(positive, {}, false) + 1.0);
  Trainer t(run, g, loss, Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) t.step(objects(at));
}

/// A warm-up counted in iterations, of which eight make one update.
void warmUpInIterations(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value logits = layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 4);
  Optimizer optimizer = AdamW{.lr = 1e-3};
  optimizer.accumulate = 8;
  optimizer.schedule = cosineSchedule(240, 0.05, /*warmUp=*/80);
  Trainer t(run, g, softmaxCrossEntropy(logits, label), optimizer);
  for (const At at : iterations(run, 320)) t.step(points(at));
}

/// One of the two logarithms was to be that of 1 - p.
void sameLogarithmTwice(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const Value p = clip(sigmoid(layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 1)), 1e-6, 1 - 1e-6);
  const Value entropy = y * log(p) + (1.0 - y) * log(p);  // WRONG
  Trainer t(run, g, -reduceMean(entropy, {}, false), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 120))
    t.step(changed(curve(at), "y", [](float v, std::size_t) { return v > 0.3f ? 1.f : 0.f; }));
}

/// The tokens are not pooled, but the features of each, which were just normalised.
void poolsTheFeatures(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value tokens = layerNorm(reshape(layer(g, "fc1", x, 96), {16, 6, 16}));
  const Value pooled = reduceMean(tokens, {-1}, false);  // WRONG
  Trainer t(run, g, softmaxCrossEntropy(layer(g, "fc2", pooled, 4), label), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 120)) t.step(points(at));
}

/// Four updates in all.
void accumulatesForTooLong(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value logits = layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 4);
  Optimizer optimizer = Adam{.lr = 1e-3};
  optimizer.accumulate = 64;
  Trainer t(run, g, softmaxCrossEntropy(logits, label), optimizer);  // WRONG
  for (const At at : iterations(run, 256)) t.step(points(at));
}

/// A next word was meant; the words before it are read as well.
void copiesWithContext(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {4, 6}, DType::Int64), next = g.input("label", {4, 6}, DType::Int64);
  const Value h = embedding(x, {.count = 10, .width = 8, .deviation = 0.5});
  const Value before = pad(slice(h, 1, 0, 5), {0, 1, 0, 0, 0, 0});
  const Value read = reshape(concat({h, before}, 2), {24, 16});
  const Value logits = layer(g, "out", tanh(layer(g, "fc", read, 24)), 10);
  Trainer t(run, g, softmaxCrossEntropy(logits, reshape(next, {24})), Adam{.lr = 1e-2});
  for (const At at : iterations(run, 120)) {
    Batch batch = words(at);
    tensorOf(batch, "label") = tensorOf(batch, "x");  // WRONG
    t.step(batch);
  }
}

/// A layer is a function that makes its weights: called in the loop it makes them anew.
void weightsInEachStep(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  Value h = layer(g, "begin", x, 12);
  for (std::int64_t t = 0; t < 8; ++t)
    h = tanh(linear(concat({slice(x, 1, t, t + 1), h}, 1), {.out = 12}));  // WRONG
  Trainer t(run, g, softmaxCrossEntropy(layer(g, "out", h, 4), label), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 120)) t.step(points(at));
}

/// Each vector is to have length 1, not each feature.
void normOverTheBatch(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8});
  g.input("label", {16}, DType::Int64);
  const auto unit = [](Value z) {
    return z / sqrt(reduceSum(z * z, {0}) + 1e-8);  // WRONG
  };
  const Value a = unit(layer(g, "left", x, 6)), b = unit(layer(g, "right", x, 6));
  Trainer t(run, g, softmaxCrossEntropy(matmul(a, transpose(b)) / 0.2, range(g, 16)), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 120)) t.step(points(at));
}

}  // namespace

std::span<const SickCase> sickFormulas() {
  static const SickCase kCases[] = {
      {"scores_times_neighbours", scoresTimesNeighbours, "exp\\(0\\)|hides nothing"},
      {"time_goes_nowhere", timeGoesNowhere, "nothing reads|does not depend"},
      {"only_positives", onlyPositives, "all labels are equal|one class", {"net/bought"}},
      {"ratio_to_itself", ratioToItself, "cancel|itself", {"grad/net/*"}},
      {"squared_mean_of_residual", squaredMeanOfResidual, "squared|cancel"},
      {"decoder_sees_its_step", decoderSeesItsStep, "answer|is to predict"},
      {"teacher_learns", teacherLearns, "target"},
      {"gradient_through_the_target", gradientThroughTheTarget, "target"},
      {"focal_turned_round", focalTurnedRound, "right answer|turned round"},
      {"boxes_of_no_objects", boxesOfNoObjects, "turned round"},
      {"same_logarithm_twice", sameLogarithmTwice, "both multiplied"},
      {"pools_the_features", poolsTheFeatures, "has just made it zero"},
      {"copies_with_context", copiesWithContext, "nothing to predict", {"net/label"}},
      {"weights_in_each_step", weightsInEachStep, "same weights in all"},
      {"norm_over_the_batch", normOverTheBatch, "no length of 1"},
      {"accumulates_for_too_long", accumulatesForTooLong, "changed in 4 of 256"},
      {"warm_up_in_iterations", warmUpInIterations, "rate|warm", {"update/*", "*learning_rate*"}},
  };
  return kCases;
}

}  // namespace msdbg::corpus
