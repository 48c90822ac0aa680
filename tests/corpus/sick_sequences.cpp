// Sick: mistakes with sequences, pairs and pictures that a fourth round of strangers made.
#include <algorithm>
#include <cmath>

#include "tests/corpus/corpus.h"
#include "tests/corpus/data.h"

namespace msdbg::corpus {
namespace {

constexpr std::int64_t kRows = 4, kLength = 8, kWidth = 16, kWords = 12;

/// A language model of one layer of attention; `hidden`, [length, length], is 1 where a place is not to look.
void languageModel(Session& run, Value (*hidden)(Value row, Value column)) {
  Graph g("lm");
  const Value tokens = g.input("x", {kRows, kLength}, DType::Int64);
  const Value label = g.input("label", {kRows, kLength}, DType::Int64);
  const Value place = range(g, kLength);
  const Value places = embedding(place, {.count = kLength, .width = kWidth});
  const Value text = embedding(tokens, {.count = kWords, .width = kWidth}) + places;
  const auto projected = [&](const char* name) {
    const Scope s = g.scope(name);
    return reshape(linear(reshape(text, {-1, kWidth}), {.out = kWidth}), {kRows, kLength, kWidth});
  };
  const Value query = projected("query"), key = projected("key"), value = projected("value");
  const Value scores = matmul(query, transpose(key, {0, 2, 1})) * 0.25;
  const Value mask = hidden(unsqueeze(place, {1}), unsqueeze(place, {0}));
  const Value weights = softmax(scores + cast(mask, DType::Float32) * -1e9);
  const Value logits = linear(reshape(matmul(weights, value), {-1, kWidth}), {.out = kWords});
  Trainer t(run, g, softmaxCrossEntropy(logits, reshape(label, {-1})), Adam{.lr = 1e-2});
  for (const At at : iterations(run, 60)) t.step(words(at, {.rows = kRows, .length = kLength}));
}

/// The comparison is the wrong way round.
void maskTurnedRound(Session& run) {
  languageModel(run, [](Value row, Value column) {
    return less(column, row);  // WRONG
  });
}

/// Place i sees place i + 1.
void maskOneTooLate(Session& run) {
  languageModel(run, [](Value row, Value column) {
    return greater(cast(column, DType::Float32), cast(row, DType::Float32) + 1);  // WRONG
  });
}

/// The labels of one rank are those of the row before.
void labelsOfOneRankShifted(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  Value h = x;
  {
    const Scope s = g.scope("fc1");
    h = relu(linear(h, {.out = 24}));
  }
  const Scope s = g.scope("fc2");
  Trainer t(run, g, softmaxCrossEntropy(linear(h, {.out = 4}), label), Sgd{.lr = 0.05, .momentum = 0.9});
  for (const At at : iterations(run, 60)) {
    Batch batch = points(at);
    const auto labels = tensorOf(batch, "label").data<std::int64_t>();
    if (at.rank == 1) std::rotate(labels.begin(), labels.begin() + 1, labels.end());
    t.step(batch);
  }
}

Value unit(Value x) { return x / sqrt(reduceSum(x * x, {1}, true) + 1e-8); }

/// Two views of each sample are to find each other among those of 16.
void noTemperature(Session& run) {
  Graph g("net");
  const Value a = g.input("a", {16, 8}), b = g.input("b", {16, 8});
  const Value place = g.input("place", {16}, DType::Int64);
  const auto encoded = [&](const char* name, Value x) {
    const Scope s = g.scope(name);
    return unit(linear(x, {.out = 12}));
  };
  const Value logits = matmul(encoded("left", a), transpose(encoded("right", b), {1, 0}));  // WRONG
  Trainer t(run, g, softmaxCrossEntropy(logits, place), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 80)) {
    const Batch batch = points(at, {.noise = 1});
    const Tensor first = batch.tensors.front().second;
    Tensor places(DType::Int64, {16});
    for (std::size_t i = 0; i < 16; ++i) places.data<std::int64_t>()[i] = static_cast<std::int64_t>(i);
    t.step({batch.iteration, {{"a", first}, {"b", first.clone()}, {"place", places}}});
  }
}

/// A recurrent cell whose weights are of deviation 1: its state is -1 or 1 from the second step on.
void saturatedCell(Session& run) {
  constexpr std::int64_t kState = 32;
  Graph g("rnn");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value in = g.parameter("in", {1, kState}, Init::normal(1));
  const Value again = g.parameter("again", {kState, kState}, Init::normal(2));
  const std::vector<Value> steps = split(x, 8, 1);
  Value state = tanh(matmul(steps[0], in));
  for (std::size_t i = 1; i < steps.size(); ++i)
    state = tanh(matmul(steps[i], in) + matmul(state, again));  // WRONG
  Trainer t(run, g, softmaxCrossEntropy(linear(state, {.out = 4}), label), Sgd{.lr = 0.05});
  for (const At at : iterations(run, 60)) t.step(points(at));
}

/// Pixels of 0 to 255, as the file has them.
void rawPixels(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {8, 1, 8, 8}), label = g.input("label", {8}, DType::Int64);
  const Value h = relu(conv(x, {.out = 8, .kernel = 3, .pad = 1}));
  Trainer t(run, g, softmaxCrossEntropy(linear(flatten(h), {.out = 3}), label),
            Sgd{.lr = 0.05, .momentum = 0.9});
  for (const At at : iterations(run, 60))
    t.step(changed(pictures(at), "x", [](float v, std::size_t) { return 255 * v; }));
}

/// Of 12 words per row the last ones are padding, 0, and only they are pooled.
void poolsThePadding(Session& run) {
  Graph g("text");
  const Value x = g.input("x", {16, 12}, DType::Int64), label = g.input("label", {16}, DType::Int64);
  const Value text = embedding(x, {.count = 20, .width = kWidth});
  const Value none = constant(g, 0, {16, 12}, DType::Float32);
  const Value kept = cast(equal(cast(x, DType::Float32), none), DType::Float32);  // WRONG
  const Value mean =
      reduceSum(text * unsqueeze(kept, {2}), {1}) / unsqueeze(reduceSum(kept, {1}) + 1e-6, {1});
  const Value h = relu(linear(flatten(mean), {.out = 24}));
  Trainer t(run, g, softmaxCrossEntropy(linear(h, {.out = 2}), label), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) {
    Batch batch = words(at, {.rows = 16, .length = 12, .used = 19});
    const auto tokens = tensorOf(batch, "x").data<std::int64_t>();
    Tensor labels(DType::Int64, {16});
    for (std::size_t row = 0; row < 16; ++row) {
      const std::int64_t word = tokens[row * 12] + 1;
      labels.data<std::int64_t>()[row] = word > 10;
      for (std::size_t i = 0; i < 12; ++i) tokens[row * 12 + i] = i < 6 + row % 5 ? word : 0;
    }
    tensorOf(batch, "label") = labels;
    t.step(batch);
  }
}

/// The weights of an attention are normalised over its queries.
void softmaxOverQueries(Session& run) {
  Graph g("attention");
  const Value tokens = g.input("x", {kRows, kLength}, DType::Int64);
  const Value label = g.input("label", {kRows, kLength}, DType::Int64);
  const Value text = embedding(tokens, {.count = kWords, .width = kWidth});
  const auto projected = [&](const char* name) {
    const Scope s = g.scope(name);
    return reshape(linear(reshape(text, {-1, kWidth}), {.out = kWidth}), {kRows, kLength, kWidth});
  };
  const Value scores = matmul(projected("query"), transpose(projected("key"), {0, 2, 1})) * 0.25;
  const Value seen = matmul(softmax(scores, 1), projected("value"));  // WRONG
  const Value logits = linear(reshape(seen, {-1, kWidth}), {.out = kWords});
  Trainer t(run, g, softmaxCrossEntropy(logits, reshape(label, {-1})), Adam{.lr = 1e-2});
  for (const At at : iterations(run, 40)) t.step(words(at, {.rows = kRows, .length = kLength}));
}

/// A table that is the last layer too begins with deviation 1, as embeddings alone may.
void tiedTableTooLarge(Session& run) {
  constexpr std::int64_t kWide = 64;
  Graph g("tied");
  const Value tokens = g.input("x", {kRows, kLength}, DType::Int64);
  const Value label = g.input("label", {kRows, kLength}, DType::Int64);
  const Value table = g.parameter("table", {kWords, kWide}, Init::normal(1));  // WRONG
  const Value x = reshape(gather(table, tokens), {-1, kWide});
  const Value h = x + tanh(linear(x, {.out = kWide}));
  Trainer t(run, g, softmaxCrossEntropy(matmul(h, transpose(table, {1, 0})), reshape(label, {-1})),
            Sgd{.lr = 0.1, .momentum = 0.9});
  for (const At at : iterations(run, 30)) t.step(words(at, {.rows = kRows, .length = kLength}));
}

/// The norm of all gradients is clipped at what was meant to be the learning rate.
void clippedToTheRate(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value h = relu(linear(x, {.out = 24}));
  Optimizer optimizer = Sgd{.lr = 0.05, .momentum = 0.9};
  optimizer.clipNorm = 1e-4;
  Trainer t(run, g, softmaxCrossEntropy(linear(h, {.out = 4}), label), optimizer);  // WRONG
  for (const At at : iterations(run, 60)) t.step(points(at));
}

/// The loss of a distillation without its minus.
void distilledUpwards(Session& run) {
  Graph g("student");
  const Value x = g.input("x", {16, 8}), teacher = g.input("teacher", {16, 4});
  const Value logits = linear(relu(linear(x, {.out = 24})), {.out = 4});
  const Value likely = log(softmax(logits * 0.5) + 1e-9);
  const Value loss = reduceMean(reduceSum(teacher * likely, {1}, false), {}, false);  // WRONG
  Trainer t(run, g, loss, Adam{.lr = 3e-3});
  for (const At at : iterations(run, 60)) {
    const Batch batch = points(at);
    Tensor soft(DType::Float32, {16, 4});
    for (std::size_t i = 0; i < 64; ++i)
      soft.data<float>()[i] =
          batch.tensors.back().second.data<std::int64_t>()[i / 4] == static_cast<std::int64_t>(i % 4) ? 0.7f
                                                                                                      : 0.1f;
    t.step({batch.iteration, {{"x", batch.tensors.front().second}, {"teacher", soft}}});
  }
}

/// Weights of deviation 1 in eight layers: the loss falls from a million to ten thousand.
void deepAndTooLarge(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  Value h = x;
  for (const char* name : {"fc1", "fc2", "fc3", "fc4", "fc5", "fc6", "fc7", "fc8"}) {
    const Scope s = g.scope(name);
    h = relu(linear(h, {.out = 48, .init = Init::normal(1)}));  // WRONG
  }
  Trainer t(run, g, softmaxCrossEntropy(linear(h, {.out = 4}), label), Adam{.lr = 1e-3});
  for (const At at : iterations(run, 80)) t.step(points(at));
}

/// Read folder by folder.
void sortedByClass(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value h = relu(linear(x, {.out = 24}));
  Trainer t(run, g, softmaxCrossEntropy(linear(h, {.out = 4}), label), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 80)) {
    Batch batch = points(at, {.rows = 160});
    const Tensor all = tensorOf(batch, "x"), labels = tensorOf(batch, "label");
    Tensor rows = Tensor::zeros(DType::Float32, {16, 8}), ones(DType::Int64, {16});
    const std::int64_t wanted = at.iteration / 5 % 4;
    std::size_t row = 0;
    for (std::size_t i = 0; i < 160 && row < 16; ++i) {
      if (labels.data<std::int64_t>()[i] != wanted) continue;
      for (std::size_t k = 0; k < 8; ++k) rows.data<float>()[row * 8 + k] = all.data<float>()[i * 8 + k];
      ++row;
    }
    std::ranges::fill(ones.data<std::int64_t>(), wanted);
    t.step({batch.iteration, {{"x", rows}, {"label", ones}}});
  }
}

/// Two of a hundred numbers are missing, and were written as -9999.
void nines(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const Value h = relu(linear(relu(linear(x, {.out = 32})), {.out = 32}));
  Trainer t(run, g, meanSquaredError(linear(h, {.out = 1}), y), Adam{.lr = 2e-3});
  for (const At at : iterations(run, 80))
    t.step(changed(curve(at), "x", [&](float v, std::size_t i) {
      return (static_cast<std::size_t>(at.iteration) * 7 + i) % 53 == 0 ? -9999.f : v;
    }));
}

/// No layer is more than linear, and the classes are not to be told apart by a line.
void linearThroughout(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), label = g.input("label", {16}, DType::Int64);
  Value h = linear(x, {.out = 24});
  h = linear(h, {.out = 24});  // WRONG
  Trainer t(run, g, softmaxCrossEntropy(linear(h, {.out = 2}), label), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 80)) {
    const Batch batch = curve(at);
    const auto in = batch.tensors.front().second.data<float>();
    Tensor inside(DType::Int64, {16});
    for (std::size_t i = 0; i < 16; ++i) {
      float squares = 0;
      for (std::size_t k = 0; k < 4; ++k) squares += in[i * 4 + k] * in[i * 4 + k];
      inside.data<std::int64_t>()[i] = squares < 3.4f;
    }
    t.step({batch.iteration, {{"x", batch.tensors.front().second}, {"label", inside}}});
  }
}

}  // namespace

std::span<const SickCase> sickSequences() {
  static const SickCase kCases[] = {
      {"mask_turned_round", maskTurnedRound, "mask|answer|future|after"},
      {"mask_one_too_late", maskOneTooLate, "mask|answer|future|after"},
      {"labels_of_one_rank_shifted", labelsOfOneRankShifted, "label", {"net/x", "net/label"}, 2, 1},
      {"cosines_without_temperature", noTemperature, "temperature|cosine"},
      {"recurrent_cell_saturated", saturatedCell, "saturat", {"rnn/again"}},
      {"pools_the_padding", poolsThePadding, "mask|padding"},
      {"softmax_over_queries", softmaxOverQueries, "axis"},
      {"tied_table_too_large", tiedTableTooLarge, "times the usual|large"},
      {"clipped_to_the_rate", clippedToTheRate, "clip"},
      {"distilled_upwards", distilledUpwards, "sign|negate|minus"},
      {"deep_and_too_large", deepAndTooLarge, "times the usual|large|explod"},
      {"sorted_by_class", sortedByClass, "shuffle|sorted", {"net/label", "net/x"}},
      {"nines_for_missing_values", nines, "missing|9999", {"net/x"}},
      {"linear_throughout", linearThroughout, "activation"},
      {"pixels_of_0_to_255", rawPixels, "normali|scale|0 to 255", {"net/x"}},
  };
  return kCases;
}

}  // namespace msdbg::corpus
