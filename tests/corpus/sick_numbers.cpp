// Sick: numbers that an operator cannot take.
#include <limits>

#include "tests/corpus/corpus.h"
#include "tests/corpus/data.h"

namespace msdbg::corpus {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value head(Graph& g, Value x) {
  Value h;
  {
    const Scope s = g.scope("fc1");
    h = relu(linear(x, {.out = 24}));
  }
  const Scope s = g.scope("fc2");
  return linear(h, {.out = 4});
}

/// Standardised by the batch, one column of which is always 1.
void constantColumn(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value centred = x - reduceMean(x, {0});
  const Value deviation = sqrt(reduceMean(centred * centred, {0}));
  const Value standardised = centred / deviation;  // WRONG
  Trainer t(run, g, softmaxCrossEntropy(head(g, standardised), label), Sgd{.lr = 0.05});
  for (const At at : iterations(run, 20))
    t.step(changed(points(at), "x", [](float v, std::size_t i) { return i % 8 == 3 ? 1.0f : v; }));
}

/// A layer normalisation by hand that has no epsilon, and a row of padding in iteration 4.
void noEpsilon(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value centred = x - reduceMean(x, {1});
  const Value variance = reduceMean(centred * centred, {1});
  const Value normed = centred / sqrt(variance);  // WRONG
  Trainer t(run, g, softmaxCrossEntropy(head(g, normed), label), Adam{.lr = 3e-3});
  for (const At at : iterations(run, 20)) {
    const bool padded = at.iteration == 4;
    t.step(changed(points(at), "x", [&](float v, std::size_t i) { return padded && i / 8 == 5 ? 0 : v; }));
  }
}

/// A norm as a penalty: 0 for a row of zeros, where its gradient is 0 / 0.
void gradientOfRootAtZero(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value features = linear(x, {.out = 24, .bias = false});
  const Value norm = sqrt(reduceSum(features * features, {1}));  // WRONG
  const Value loss = softmaxCrossEntropy(linear(relu(features), {.out = 4}), label);
  Trainer t(run, g, loss + reduceMean(norm, {}, false) * 0.01, Sgd{.lr = 0.05});
  for (const At at : iterations(run, 20)) {
    const bool blank = at.iteration == 6;
    t.step(changed(points(at), "x", [&](float v, std::size_t i) { return blank && i / 8 == 2 ? 0 : v; }));
  }
}

/// Poisson regression on inputs that nobody has scaled.
void exponentialOverflows(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const Value z = linear(x, {.out = 1});
  const Value rate = exp(z);  // WRONG
  Trainer t(run, g, reduceMean(rate - y * z, {}, false), Sgd{.lr = 1e-3});
  for (const At at : iterations(run, 20))
    t.step(changed(curve(at), "x", [](float v, std::size_t) { return 300 * v; }));
}

/// Without subtracting the largest logit.
void softmaxByHand(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value powers = exp(head(g, x) * 100.0);  // WRONG
  const Value probability = powers / reduceSum(powers, {1});
  const Value picked = reduceSum(classRows(label, 4) * probability, {1}, false);
  Trainer t(run, g, 0.0 - reduceMean(log(picked + 1e-6), {}, false), Sgd{.lr = 0.01});
  for (const At at : iterations(run, 20)) t.step(points(at));
}

void powerOfNegative(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value softened = pow(x, 0.75);  // WRONG
  Trainer t(run, g, softmaxCrossEntropy(head(g, softened), label), Sgd{.lr = 0.05});
  for (const At at : iterations(run, 20)) t.step(points(at));
}

void logOfNegative(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value counts = log(x + 1.0);  // WRONG
  Trainer t(run, g, softmaxCrossEntropy(head(g, counts), label), Sgd{.lr = 0.05});
  for (const At at : iterations(run, 20)) t.step(points(at));
}

/// E[x²] - E[x]² of columns far from zero: rounding makes it negative.
void negativeVariance(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value mean = reduceMean(x, {0});
  const Value variance = reduceMean(x * x, {0}) - mean * mean;
  const Value deviation = sqrt(variance);  // WRONG
  const Value standardised = (x - mean) / (deviation + 1e-3);
  Trainer t(run, g, softmaxCrossEntropy(head(g, standardised), label), Sgd{.lr = 0.05});
  for (const At at : iterations(run, 20))
    t.step(changed(points(at), "x", [](float v, std::size_t) { return 3000 + 0.01f * v; }));
}

/// The mean over the rows of a mask that in iteration 9 has none.
void meanOfNothing(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value mask = g.input("mask", {16});
  const Value each = 0.0 - reduceSum(classRows(label, 4) * logSoftmax(head(g, x)), {1}, false);
  const Value loss = reduceSum(each * mask, {}, false) / reduceSum(mask, {}, false);  // WRONG
  Trainer t(run, g, loss, Sgd{.lr = 0.05});
  for (const At at : iterations(run, 20)) {
    Batch batch = points(at);
    const double kept = at.iteration == 9 ? 0 : 1;
    batch.tensors.emplace_back("mask", filled({16}, [&](std::int64_t i) { return i < 12 ? kept : 0; }));
    t.step(batch);
  }
}

/// An entropy, p log p, of probabilities some of which are exactly 0.
void entropyOfZero(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value logits = head(g, x), p = softmax(logits * 100.0);
  const Value logs = log(p);  // WRONG
  const Value entropy = 0.0 - reduceMean(reduceSum(p * logs, {1}), {}, false);
  Trainer t(run, g, softmaxCrossEntropy(logits, label) - entropy * 0.01, Sgd{.lr = 0.05});
  for (const At at : iterations(run, 20)) t.step(points(at));
}

/// Sentence 2 of iteration 8 is all padding: every score of its rows is -inf.
void wholeRowMasked(Session& run) {
  constexpr std::int64_t kRows = 4, kLength = 6, kWidth = 12;
  Graph g("attention");
  const Value tokens = g.input("x", {kRows, kLength}, DType::Int64);
  const Value label = g.input("label", {kRows, kLength}, DType::Int64);
  const Value mask = g.input("mask", {kRows, 1, kLength});
  const Value x = embedding(tokens, {.count = 10, .width = kWidth});
  const Value flat = reshape(x, {kRows * kLength, kWidth});
  const Value query = reshape(linear(flat, {.out = kWidth}), {kRows, kLength, kWidth});
  const Value scores = matmul(query, transpose(x, {0, 2, 1})) * 0.3;
  const Value weights = softmax(scores + mask);  // WRONG
  const Value seen = reshape(matmul(weights, x), {kRows * kLength, kWidth});
  const Value loss = softmaxCrossEntropy(linear(seen, {.out = 10}), reshape(label, {-1}));
  Trainer t(run, g, loss, Adam{.lr = 3e-3});
  for (const At at : iterations(run, 20)) {
    Batch batch = words(at);
    batch.tensors.emplace_back("mask", filled({kRows, 1, kLength}, [&](std::int64_t i) {
                                 const bool padding = i % kLength == 5;
                                 const bool sentence = at.iteration == 8 && i / kLength == 2;
                                 return padding || sentence ? -kInfinity : 0;
                               }));
    t.step(batch);
  }
}

/// The input is added twice in every block, so that it doubles 40 times.
void residualDoubled(Session& run) {
  Graph g("net");
  Value x = g.input("x", {16, 8});
  const Value label = g.input("label", {16}, DType::Int64);
  for (int i = 1; i <= 40; ++i) {
    const Scope s = g.scope("block" + std::to_string(i));
    const Value y = relu(linear(layerNorm(x), {.out = 8}));
    x = x + x + y;  // WRONG
  }
  Trainer t(run, g, softmaxCrossEntropy(linear(x, {.out = 4}), label), Sgd{.lr = 1e-3});
  for (const At at : iterations(run, 20)) t.step(points(at));
}

}  // namespace

std::span<const SickCase> sickNumbers() {
  constexpr std::string_view kDivision =
      "(divi[ds]|Div).{0,80}(zero|\\b0\\b)|(zero|\\b0\\b).{0,60}divi|input 1 is "
      "0|(deviation|variance).{0,30}("
      "zero|\\b0\\b)";
  constexpr std::string_view kOverflow = "overflow|exp.{0,60}(large|above|beyond|8[89])";
  constexpr std::string_view kLogOfZero = "log.{0,60}(zero|\\b0\\b)|(zero|\\b0\\b).{0,60}log|input 0 is 0";
  constexpr std::string_view kNegative = "negative|input 0 is -|below (zero|0)|< 0|<= 0";
  static const SickCase kCases[] = {
      {"constant_column_standardised", constantColumn, kDivision, {}, 1, -1, 0},
      {"normalisation_without_epsilon", noEpsilon, kDivision, {}, 1, -1, 4},
      {"gradient_of_root_at_zero",
       gradientOfRootAtZero,
       "(sqrt|root).{0,80}(zero|\\b0\\b)|(zero|\\b0\\b).{0,60}(sqrt|root)|(divi[ds]|Div).{0,80}(zero|"
       "\\b0\\b)",
       {},
       1,
       -1,
       6},
      {"exponential_overflows", exponentialOverflows, kOverflow},
      {"softmax_by_hand_overflows", softmaxByHand, kOverflow},
      {"power_of_negative", powerOfNegative, kNegative, {}, 1, -1, 0},
      {"log_of_negative", logOfNegative, kNegative, {}, 1, -1, 0},
      {"negative_variance", negativeVariance, kNegative},
      {"mean_of_nothing", meanOfNothing, kDivision, {}, 1, -1, 9},
      {"entropy_of_zero", entropyOfZero, kLogOfZero},
      // The mask is the mistake, the softmax what cannot take it.
      {"whole_row_masked",
       wholeRowMasked,
       "-inf|whole (row|line)|mask|every.{0,40}inf|all.{0,40}inf",
       {"*/mask"},
       1,
       -1,
       8},
      {"residual_doubled", residualDoubled, "doubl|grow|explod|times (larger|its input|as large)|too large"},
  };
  return kCases;
}

}  // namespace msdbg::corpus
