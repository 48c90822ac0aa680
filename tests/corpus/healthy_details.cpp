// Healthy: what looks like the mistakes of sick_details.cpp and is none.
#include <cmath>

#include "tests/corpus/corpus.h"
#include "tests/corpus/data.h"

namespace msdbg::corpus {
namespace {

Value layer(Graph& g, const char* name, Value x, std::int64_t out) {
  const Scope s = g.scope(name);
  return linear(x, {.out = out});
}

/// A likelihood of data without noise: it falls below zero as long as one trains.
void sureLikelihood(Session& run) {
  Graph g("density");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const Value h = tanh(layer(g, "fc1", x, 32));
  const Value mean = layer(g, "mean", h, 1), logVar = layer(g, "log_var", h, 1);
  const Value error = y - mean;
  const Value loss = reduceMean((logVar + error * error * exp(-logVar)) * 0.5, {}, false);
  Trainer t(run, g, loss, Adam{.lr = 3e-3});
  for (const At at : iterations(run, 300)) t.step(curve(at));
}

/// A second derivative with a step that float32 bears, and a mean over two iterations of half a loss.
void derivative(Session& run) {
  Graph g("wave");
  const Value x = g.input("x", {16, 1});
  const Value w = g.parameter("w", {1, 24}, Init::normal(1)),
              b = g.parameter("b", {24}, Init::uniform(-1, 1));
  const Value v = g.parameter("v", {24, 1}, Init::normal(0.3));
  const auto u = [&](Value at) { return matmul(tanh(matmul(at, w) + b), v); };
  constexpr double h = 0.01;
  const Value second = (u(x + h) - u(x) * 2.0 + u(x - h)) / (h * h);
  const Value rest = second - u(x) + sin(x);
  Optimizer optimizer = Adam{.lr = 3e-3};
  optimizer.accumulate = 4;
  Trainer t(run, g, reduceMean(rest * rest, {}, false) * 0.5, optimizer);
  for (const At at : iterations(run, 120)) {
    Batch batch = curve(at, {.features = 1});
    std::erase_if(batch.tensors, [](const auto& tensor) { return tensor.first == "y"; });
    t.step(batch);
  }
}

/// One number chooses a word, how much it counts, and one of fewer groups by what is left of it.
void tablesOfOneIndex(Session& run) {
  Graph g("words");
  const Value word = g.input("word", {32}, DType::Int64), group = g.input("group", {32}, DType::Int64);
  const Value y = g.input("y", {32, 1});
  const auto table = [&](const char* name, Value index, std::int64_t count, std::int64_t width) {
    const Scope s = g.scope(name);
    return embedding(index, {.count = count, .width = width, .deviation = 0.3});
  };
  const Value row = table("word", word, 60, 8) * table("gate", word, 60, 8) + table("group", group, 7, 8);
  Trainer t(run, g, meanSquaredError(layer(g, "fc", row, 1), y), Adam{.lr = 2e-2});
  for (const At at : iterations(run, 100)) {
    const Batch from = points(at, {.rows = 32, .features = 1});
    const Tensor& drawn = from.tensors.front().second;
    Tensor words(DType::Int64, {32}), groups(DType::Int64, {32});
    for (std::int64_t i = 0; i < 32; ++i) {
      words.data<std::int64_t>()[i] = static_cast<std::int64_t>(std::abs(drawn.at(i)) * 1e4) % 60;
      groups.data<std::int64_t>()[i] = words.at(i) < 0 ? 0 : static_cast<std::int64_t>(words.at(i)) % 7;
    }
    t.step({.iteration = Iteration{at.iteration},
            .tensors = {{"word", words}, {"group", groups}, {"y", filled({32, 1}, [&](std::int64_t i) {
                                                               return std::sin(words.at(i));
                                                             })}}});
  }
}

/// The next value of a series from the window before it; its distance from the last one is what is learnt.
void windowBeforeTheTarget(Session& run) {
  Graph g("series");
  const Value x = g.input("x", {16, 8}), y = g.input("y", {16, 1});
  const Value out = slice(x, 1, 7, 8) + layer(g, "fc2", relu(layer(g, "fc1", x, 24)), 1);
  Trainer t(run, g, meanSquaredError(out, y), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 100)) {
    const auto series = [&](std::int64_t i, std::int64_t k) {
      return std::sin(0.7 * static_cast<double>(at.iteration * 16 + i) + 0.3 * static_cast<double>(k));
    };
    t.step({.iteration = Iteration{at.iteration},
            .tensors = {{"x", filled({16, 8}, [&](std::int64_t i) { return series(i / 8, i % 8); })},
                        {"y", filled({16, 1}, [&](std::int64_t i) { return series(i, 8); })}}});
  }
}

/// Two views of each sample, each compared with the other views only.
void viewsWithViews(Session& run) {
  Graph g("views");
  const Value a = g.input("a", {16, 8}), b = g.input("b", {16, 8}), own = g.input("own", {16}, DType::Int64);
  const auto code = [&](const char* name, Value x) {
    const Value z = layer(g, name, x, 8);
    return z / sqrt(reduceSum(z * z, {1}) + 1e-6);
  };
  const Value logits = matmul(code("left", a), transpose(code("right", b))) / 0.1;
  Trainer t(run, g, softmaxCrossEntropy(logits, own), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 80)) {
    Tensor same(DType::Int64, {16});
    for (std::int64_t i = 0; i < 16; ++i) same.data<std::int64_t>()[i] = i;
    const Batch from = points(at, {.rows = 16});
    const Tensor& view = from.tensors.front().second;
    const auto moved = [&](double by) {
      return filled({16, 8}, [&](std::int64_t i) {
        return view.at(i) + 0.05 * std::sin(by * static_cast<double>(3 * i + at.iteration));
      });
    };
    t.step({.iteration = Iteration{at.iteration},
            .tensors = {{"a", moved(1.3)}, {"b", moved(2.1)}, {"own", same}}});
  }
}

/// Returns of thousandths, which are normalised first.
void smallReturns(Session& run) {
  Graph g("returns");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16, 1});
  const Value h = [&] {
    const Scope s = g.scope("norm");
    return batchNorm(x);
  }();
  Trainer t(run, g, meanSquaredError(layer(g, "fc2", tanh(layer(g, "fc1", h, 32)), 1), y), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 100))
    t.step(changed(curve(at), "x", [](float v, std::size_t) { return 1e-3f * v; }));
}

}  // namespace

std::span<const HealthyCase> healthyDetails() {
  static const HealthyCase kCases[] = {
      {"sure_likelihood", sureLikelihood},       {"derivative_by_differences", derivative},
      {"tables_of_one_index", tablesOfOneIndex}, {"window_before_the_target", windowBeforeTheTarget},
      {"views_with_views", viewsWithViews},      {"small_returns_normalised", smallReturns},
  };
  return kCases;
}

}  // namespace msdbg::corpus
