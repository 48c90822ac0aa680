// Sick: one word or number that is wrong in a formula, a table, a target.
#include <cmath>

#include "tests/corpus/corpus.h"
#include "tests/corpus/data.h"

namespace msdbg::corpus {
namespace {

Value layer(Graph& g, const char* name, Value x, std::int64_t out) {
  const Scope s = g.scope(name);
  return linear(x, {.out = out});
}

/// The variance of the code is rewarded where it should cost.
void varianceSign(Session& run) {
  Graph g("vae");
  const Value x = g.input("x", {16, 8}), noise = g.input("noise", {16, 3});
  const Value h = relu(layer(g, "fc1", x, 24));
  const Value mean = layer(g, "mean", h, 3), logVar = layer(g, "log_var", h, 3);
  const Value out = layer(g, "out", relu(layer(g, "fc2", mean + exp(logVar * 0.5) * noise, 24)), 8);
  const Value error = out - x;
  const Value near = reduceMean(reduceSum(error * error, {1}, false), {}, false);
  const Value each = mean * mean - 1.0 + logVar;  // WRONG
  const Value divergence = reduceMean(reduceSum(each, {1}, false), {}, false) * 0.5;
  Trainer t(run, g, near + divergence, Adam{.lr = 1e-2});
  for (const At at : iterations(run, 250)) {
    Batch batch = points(at);
    std::erase_if(batch.tensors, [](const auto& tensor) { return tensor.first == "label"; });
    batch.tensors.emplace_back("noise",
                               points({at.iteration + 1000, at.rank}, {.features = 3}).tensors[0].second);
    t.step(batch);
  }
}

/// A second derivative whose step is below what float32 tells apart.
void stepTooSmall(Session& run) {
  Graph g("wave");
  const Value x = g.input("x", {16, 1});
  const Value w = g.parameter("w", {1, 24}, Init::normal(1)),
              b = g.parameter("b", {24}, Init::uniform(-1, 1));
  const Value v = g.parameter("v", {24, 1}, Init::normal(0.3));
  const auto u = [&](Value at) { return matmul(tanh(matmul(at, w) + b), v); };
  constexpr double h = 1e-4;
  const Value second = (u(x + h) - u(x) * 2.0 + u(x - h)) / (h * h);  // WRONG
  const Value rest = second + u(x) - sin(x);
  Trainer t(run, g, reduceMean(rest * rest, {}, false), Adam{.lr = 1e-3});
  for (const At at : iterations(run, 60)) {
    Batch batch = curve(at, {.features = 1});
    std::erase_if(batch.tensors, [](const auto& tensor) { return tensor.first == "y"; });
    t.step(batch);
  }
}

/// The trainer averages over eight iterations already.
void dividedTwice(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value logits = layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 4);
  const Value loss = softmaxCrossEntropy(logits, label) * (1.0 / 8);  // WRONG
  Optimizer optimizer = Sgd{.lr = 0.1};
  optimizer.accumulate = 8;
  Trainer t(run, g, loss, optimizer);
  for (const At at : iterations(run, 80)) t.step(points(at));
}

constexpr std::int64_t kUsers = 40, kItems = 60;

/// Who rates what how: by the distance of two numbers.
Batch ratings(At at, std::int64_t items) {
  const Batch from = points(at, {.rows = 32, .features = 2});
  const Tensor& drawn = from.tensors.front().second;
  Tensor user(DType::Int64, {32}), item(DType::Int64, {32});
  for (std::int64_t i = 0; i < 32; ++i) {
    user.data<std::int64_t>()[i] = static_cast<std::int64_t>(std::abs(drawn.at(2 * i)) * 1e4) % kUsers;
    item.data<std::int64_t>()[i] = static_cast<std::int64_t>(std::abs(drawn.at(2 * i + 1)) * 1e4) % items;
  }
  Tensor rating = filled({32, 1}, [&](std::int64_t i) {
    return std::cos(static_cast<double>(user.at(i))) * std::sin(static_cast<double>(item.at(i)));
  });
  return {.iteration = Iteration{at.iteration},
          .tensors = {{"user", user}, {"item", item}, {"rating", rating}}};
}

void factors(Session& run, std::int64_t items, bool byUser) {
  Graph g("ratings");
  const Value user = g.input("user", {32}, DType::Int64), item = g.input("item", {32}, DType::Int64);
  const Value rating = g.input("rating", {32, 1});
  const auto table = [&](const char* name, Value index, std::int64_t count, std::int64_t width) {
    const Scope s = g.scope(name);
    return embedding(index, {.count = count, .width = width, .deviation = 0.3});
  };
  const Value left = table("user", user, kUsers, 6);
  const Value right = table("item", byUser ? user : item, items, 6);
  const Value bias = table("item_bias", item, items, 1);
  Trainer t(run, g, meanSquaredError(reduceSum(left * right, {1}) + bias, rating), Adam{.lr = 2e-2});
  for (const At at : iterations(run, 80)) t.step(ratings(at, items));
}

/// The user's number chooses the item.
void itemByUser(Session& run) { factors(run, kItems, true); }
void itemByUserAsMany(Session& run) { factors(run, kUsers, true); }

/// 900 words, whose numbers went through a byte.
void idsOfAByte(Session& run) {
  Graph g("words");
  const Value word = g.input("word", {64}, DType::Int64), y = g.input("y", {64, 1});
  const Value row = embedding(word, {.count = 900, .width = 8});
  Trainer t(run, g, meanSquaredError(layer(g, "fc", row, 1), y), Adam{.lr = 2e-2});
  for (const At at : iterations(run, 60)) {
    const Batch from = points(at, {.rows = 64, .features = 1});
    const Tensor& drawn = from.tensors.front().second;
    Tensor words(DType::Int64, {64});
    for (std::int64_t i = 0; i < 64; ++i)
      words.data<std::int64_t>()[i] = static_cast<std::int64_t>(std::abs(drawn.at(i)) * 1e5) % 900;
    const Tensor known = filled({64, 1}, [&](std::int64_t i) { return words.at(i) < 450 ? -1 : 1; });
    for (std::int64_t& each : words.data<std::int64_t>()) each &= 255;
    t.step({.iteration = Iteration{at.iteration}, .tensors = {{"word", words}, {"y", known}}});
  }
}

/// The last value of the window is the one to predict.
void targetInTheWindow(Session& run) {
  Graph g("series");
  const Value x = g.input("x", {16, 8}), y = g.input("y", {16, 1});
  Trainer t(run, g, meanSquaredError(layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 1), y), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) {
    const auto series = [&](std::int64_t i, std::int64_t k) {
      return std::sin(0.7 * static_cast<double>(at.iteration * 16 + i) + 0.3 * static_cast<double>(k));
    };
    t.step({.iteration = Iteration{at.iteration},
            .tensors = {{"x", filled({16, 8}, [&](std::int64_t i) { return series(i / 8, i % 8); })},
                        {"y", filled({16, 1}, [&](std::int64_t i) { return series(i, 7); })}}});
  }
}

/// Two views of each sample; a sample is its own nearest.
void comparedWithItself(Session& run) {
  Graph g("views");
  const Value x = g.input("x", {16, 8}), other = g.input("other", {16}, DType::Int64);
  const Value code = layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 8);
  const Value unit = code / sqrt(reduceSum(code * code, {1}) + 1e-6);
  const Value logits = matmul(unit, transpose(unit)) / 0.1;  // WRONG
  Trainer t(run, g, softmaxCrossEntropy(logits, other), Adam{.lr = 3e-3});
  for (const At at : iterations(run, 60)) {
    Tensor pair(DType::Int64, {16});
    for (std::int64_t i = 0; i < 16; ++i) pair.data<std::int64_t>()[i] = (i + 8) % 16;
    const Batch from = points(at, {.rows = 8});
    const Tensor& view = from.tensors.front().second;
    t.step({.iteration = Iteration{at.iteration},
            .tensors = {{"x", filled({16, 8},
                                     [&](std::int64_t i) {
                                       return view.at(i % 64) + 0.1 * std::sin(static_cast<double>(3 * i));
                                     })},
                        {"other", pair}}});
  }
}

/// The loader gives fractions of 255 already.
void scaledTwice(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {8, 1, 8, 8}), label = g.input("label", {8}, DType::Int64);
  const Value scaled = x / 255.0;  // WRONG
  const Value logits = layer(g, "fc2", relu(layer(g, "fc1", flatten(scaled), 32)), 3);
  Trainer t(run, g, softmaxCrossEntropy(logits, label), Sgd{.lr = 0.02});
  for (const At at : iterations(run, 60)) t.step(pictures(at));
}

}  // namespace

std::span<const SickCase> sickDetails() {
  static const SickCase kCases[] = {
      {"variance_rewarded", varianceSign, "below zero|sign|bound"},
      {"difference_step_too_small", stepTooSmall, "round|step|precision|cancel"},
      {"divided_by_accumulate_twice", dividedTwice, "accumulate|divided|averages"},
      // The table is made by a function: its lookup is the place.
      {"item_by_user", itemByUser, "user|index|item", {"ratings/item/*"}},
      {"item_by_user_of_as_many", itemByUserAsMany, "user|index|item", {"ratings/item/*"}},
      {"ids_of_a_byte", idsOfAByte, "8 bits|byte|255", {"words/word", "words/*Gather*"}},
      {"target_in_the_window", targetInTheWindow, "answer|leak|reads", {"series/y", "series/x"}},
      {"compared_with_itself", comparedWithItself, "itself|diagonal"},
      {"scaled_twice", scaledTwice, "small|scale"},
  };
  return kCases;
}

}  // namespace msdbg::corpus
