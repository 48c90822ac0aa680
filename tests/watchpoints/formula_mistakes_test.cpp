// Conditions on one word or number that is wrong in a formula, a table, a target: each fires on its mistake,
// and is silent on what looks like it.
#include <catch2/catch.hpp>

#include "core_engine/train/freeze.h"
#include "core_engine/train/keep.h"
#include "tests/watchpoints/said.h"

using namespace msdbg::core;
using namespace msdbg::watch;
using namespace msdbg::test;
using Catch::Matchers::Contains;

TEST_CASE("frozen_at_random tells of a last layer that was frozen and not loaded") {
  const auto frozen = [](bool headLoaded) {
    Named inputs = rows();
    inputs.emplace_back("network/weight", waves({6, 40}, 0.05));
    if (headLoaded) inputs.emplace_back("network/head", waves({40, 30}, 0.05));
    return said(
        "frozen_at_random",
        [&](Graph& g) {
          const Value x = g.input("x", {4, 6}), label = g.input("label", {4}, DType::Int64);
          const Value w = g.parameter("weight", {6, 40}, Init::kaimingNormal());
          const Value head = g.parameter("head", {40, 30}, Init::kaimingNormal());
          freeze(w);
          freeze(head);
          const Value bias = g.parameter("bias", {30}, Init::zeros());
          return softmaxCrossEntropy(matmul(relu(matmul(x, w)), head) + bias, label);
        },
        inputs);
  };
  CHECK_THAT(frozen(false), Contains("1 of 2 frozen weights, the last layer's among them"));
  CHECK(frozen(true).empty());
}

TEST_CASE("unshared_weights tells of a recurrent cell that makes its weights in each step") {
  enum class Cell { kAnew, kShared, kColumns, kLayers };
  const auto cell = [](Cell how) {
    return said(
        "unshared_weights",
        [how](Graph& g) {
          const Value x = g.input("x", {4, 6}), label = g.input("label", {4}, DType::Int64);
          Value h = linear(x, {.out = 1});
          std::vector<Value> columns;
          const Value shared = g.parameter("w", {2, 1}, Init::xavierUniform());
          for (int t = 0; t < 6; ++t) {
            const Value at = slice(x, 1, t, t + 1);
            if (how == Cell::kAnew) h = tanh(linear(concat({at, h}, 1), {.out = 1}));
            if (how == Cell::kShared) h = tanh(matmul(concat({at, h}, 1), shared));
            if (how == Cell::kColumns) columns.push_back(linear(at, {.out = 2}));
            if (how == Cell::kLayers) h = tanh(linear(h, {.out = 1}));
          }
          if (how == Cell::kColumns) h = concat(columns, 1);
          return softmaxCrossEntropy(linear(h, {.out = 3}), label);
        },
        rows());
  };
  CHECK_THAT(cell(Cell::kAnew), Contains("6 weights [1, 2]") && Contains("one for each slice of network/x"));
  CHECK(cell(Cell::kShared).empty());
  CHECK(cell(Cell::kColumns).empty());
  CHECK(cell(Cell::kLayers).empty());
}

TEST_CASE("result_unused tells of steps that do not carry their state on") {
  enum class Steps { kLost, kCarried, kCollected, kKept };
  const auto steps = [](Steps how) {
    return said(
        "result_unused",
        [how](Graph& g) {
          const Value x = g.input("x", {4, 6}), label = g.input("label", {4}, DType::Int64);
          const Value w = g.parameter("w", {6, 5}, Init::xavierUniform()), none = constant(g, 0, {4, 5});
          Value h = none, sum = none;
          for (int t = 0; t < 6; ++t) {
            const Value state = how == Steps::kCarried ? h : none;
            h = tanh(matmul(concat({slice(x, 1, t, t + 1), state}, 1), w)) + state;
            if (how == Steps::kCollected) sum = sum + h;
            if (how == Steps::kKept) keep(h);
          }
          return softmaxCrossEntropy(linear(how == Steps::kCollected ? sum : h, {.out = 3}), label);
        },
        rows());
  };
  CHECK_THAT(steps(Steps::kLost), Contains("of 6 steps over network/x what the last one gives is read"));
  CHECK(steps(Steps::kCarried).empty());
  CHECK(steps(Steps::kCollected).empty());
  CHECK(steps(Steps::kKept).empty());
  const auto heads = [] {  // a head for each layer, of which the last is read: no sequence
    return said(
        "result_unused",
        [](Graph& g) {
          const Value x = g.input("x", {4, 6}), label = g.input("label", {4}, DType::Int64);
          Value h = x, logits;
          for (int i = 0; i < 4; ++i) {
            h = relu(linear(h, {.out = 6}));
            logits = linear(h, {.out = 3});
          }
          return softmaxCrossEntropy(logits, label);
        },
        rows());
  };
  CHECK(heads().empty());
}

TEST_CASE("loss_input tells of an overlap that is computed of logits") {
  const auto dice = [](bool bounded, bool squared) {
    return said("loss_input",
                [=](Graph& g) {
                  const Value x = g.input("x", {4, 6}), mask = g.input("mask", {4, 6});
                  Value p = linear(x, {.out = 6});
                  if (bounded) p = sigmoid(p);
                  const Value overlap = reduceSum(p * mask, {1}, false);
                  const Value area = reduceSum(squared ? p * p : p, {1}, false) + reduceSum(mask, {1}, false);
                  return 1.0 - meanOf((2.0 * overlap + 1.0) / (area + 1.0));
                },
                {{"network/x", waves({4, 6})}, {"network/mask", waves({4, 6})}});
  };
  CHECK_THAT(dice(false, false), Contains("what comes straight out of network/Gemm-op1"));
  CHECK_THAT(dice(false, true), Contains("which may be any number"));
  CHECK(dice(true, false).empty());
  CHECK(dice(true, true).empty());
}

TEST_CASE("softmax_axis follows a norm through transposes to the product of our engine") {
  const auto contrast = [](std::int64_t axis, bool features) {
    return said("softmax_axis",
                [=](Graph& g) {
                  const Value x = g.input("x", {4, 6});
                  const auto unit = [axis](Value z) { return z / sqrt(reduceSum(z * z, {axis}) + 1e-8); };
                  const Value a = unit(linear(x, {.out = 5})), b = unit(linear(x, {.out = 5}));
                  const Value products = features ? matmul(transpose(a), b) : matmul(a, transpose(b));
                  return softmaxCrossEntropy(products / 0.2, range(g, features ? 5 : 4));
                },
                {{"network/x", waves({4, 6})}});
  };
  CHECK_THAT(contrast(0, false),
             Contains("the norm runs along axis 0 of [4, 5]") && Contains("along axis 1"));
  CHECK(contrast(1, false).empty());
  CHECK(contrast(0, true).empty());
  CHECK_THAT(contrast(1, true), Contains("the norm runs along axis 1 of [4, 5]") && Contains("along axis 0"));
}

TEST_CASE("cancellation tells of a difference of equal numbers that is made large again") {
  const auto second = [](double h) {
    return saidOfRows("cancellation", [h](Value x, Value label) {
      const Value y = linear(x, {.out = 3, .init = Init::normal(1)});
      const Value curved = (tanh(y + h) - tanh(y) * 2.0 + tanh(y - h)) / (h * h);
      return softmaxCrossEntropy(y, label) + meanOf(curved * curved);
    });
  };
  CHECK_THAT(second(1e-4), Contains("rounding noise, and here it is made 1e+08 times as large"));
  CHECK(second(1e-2).empty());
}

TEST_CASE("table_lookup tells of a table that is read by the index of another") {
  const auto factors = [](std::int64_t items, bool byUser) {
    return said(
        "table_lookup",
        [&](Graph& g) {
          const Value user = g.input("user", {4}, DType::Int64), item = g.input("item", {4}, DType::Int64);
          const Value y = g.input("y", {4, 1});
          const auto table = [&](const char* name, Value index, std::int64_t count, std::int64_t width) {
            const Scope s = g.scope(name);
            return embedding(index, {.count = count, .width = width});
          };
          const Value left = table("left", user, 5, 3),
                      right = table("right", byUser ? user : item, items, 3);
          return meanSquaredError(reduceSum(left * right, {1}) + table("bias", item, items, 1), y);
        },
        {{"network/user", counted({4}, 5)}, {"network/item", counted({4}, 4)}, {"network/y", waves({4, 1})}});
  };
  CHECK_THAT(factors(7, true), Contains("has 7 rows and is looked up by network/user"));
  CHECK_THAT(factors(5, true), Contains("are both looked up by"));
  CHECK(factors(7, false).empty());
  CHECK(factors(5, false).empty());
}

TEST_CASE("A loss is not divided by what the trainer averages over, nor tells samples from themselves") {
  const auto divided = [](double by) {
    Optimizer optimizer = Sgd{.lr = 0.01};
    optimizer.accumulate = 4;
    return said(
        "loss_input",
        [&](Graph& g) {
          const Value x = g.input("x", {4, 6}), label = g.input("label", {4}, DType::Int64);
          return softmaxCrossEntropy(linear(x, {.out = 3}), label) / by;
        },
        rows(), optimizer);
  };
  CHECK_THAT(divided(4), Contains("every step is 4 times too small"));
  CHECK(divided(3).empty());
  const auto alike = [](bool itself) {
    return saidOfRows("loss_input", [itself](Value x, Value label) {
      const Value a = linear(x, {.out = 4}), b = itself ? a : linear(x, {.out = 4});
      return softmaxCrossEntropy(matmul(a, transpose(b)) / 0.1, label);
    });
  };
  CHECK_THAT(alike(true), Contains("compared with itself too"));
  CHECK(alike(false).empty());
}

TEST_CASE("target_leak tells of a target that is a column of what is read") {
  const auto leak = [](bool copied) {
    const Tensor x = waves({8, 3});
    Tensor y(DType::Float32, {8, 1});
    for (std::int64_t i = 0; i < 8; ++i)
      y.data<float>()[static_cast<std::size_t>(i)] =
          static_cast<float>(x.at(3 * i + 1)) + (copied || i < 7 ? 0.f : 0.1f);
    return said("target_leak",
                [](Graph& g) {
                  const Value read = g.input("x", {8, 3}), target = g.input("y", {8, 1});
                  return meanSquaredError(linear(read, {.out = 1}), target);
                },
                {{"network/x", x}, {"network/y", y}});
  };
  CHECK_THAT(leak(true), Contains("is number 1 of the 3 of each sample of network/x"));
  CHECK(leak(false).empty());
}

TEST_CASE("target_leak hints at a column that is the target, standardised") {
  // Of 3 batches of 8 samples, `columns` of the 4 are (target - 1.8) / 0.7, but for `noise`.
  const auto leak = [](int columns, double noise, int batches = 3) {
    Graph g("network");
    const Value read = g.input("x", {8, 4}), target = g.input("y", {8, 1});
    meanSquaredError(linear(read, {.out = 1}), target);
    FakeSource source(std::move(g), 1, batches);
    for (int k = 0; k < batches; ++k) {
      Tensor x = waves({8, 4}, 1 + 0.3 * k), y = waves({8, 1}, 2 - 0.4 * k);
      for (std::size_t i = 0; i < 8; ++i)
        for (int c = 0; c < columns; ++c)
          x.data<float>()[4 * i + static_cast<std::size_t>(c)] =
              static_cast<float>((static_cast<double>(y.data<float>()[i]) - 1.8) / 0.7 +
                                 noise * std::sin(7.0 * static_cast<double>(i) + k));
      source.record(Rank(0), Iteration(k), source.id("network/x"), x);
      source.record(Rank(0), Iteration(k), source.id("network/y"), y);
    }
    return said("target_leak", source);
  };
  CHECK_THAT(leak(1, 0), Contains("number 0 of the 4 of each sample of network/x is network/y, scaled and"));
  CHECK(leak(1, 0.01).empty());
  CHECK(leak(0, 0).empty());
  CHECK(leak(3, 0).empty());     // all lies on a line
  CHECK(leak(1, 0, 2).empty());  // too little to tell
}

TEST_CASE("loss_input tells of a normal density without the logarithm of its deviation") {
  enum class Deviation { kLogarithm, kAdded, kDividedBy, kVariance, kHealthyVariance };
  const auto density = [](Deviation how) {
    return saidOfRows("loss_input", [how](Value x, Value) {
      const Value mean = linear(x, {.out = 1}), s = linear(x, {.out = 1});
      const Value error = mean - slice(x, 1, 0, 1), spread = exp(s);
      const auto scaled = [&](Value by) {
        const Value z = error / by;
        return z * z * -0.5;
      };
      switch (how) {
        case Deviation::kLogarithm:
          return -reduceMean(scaled(spread) - s - 0.9189, {}, false);
        case Deviation::kAdded:
          return -reduceMean(scaled(spread) - spread - 0.9189, {}, false);
        case Deviation::kDividedBy:
          return -reduceMean(scaled(s) - s - 0.9189, {}, false);
        case Deviation::kVariance:
          return reduceMean(error * error / spread + spread * 0.5, {}, false);
        case Deviation::kHealthyVariance:
          return reduceMean(error * error / spread + s * 0.5, {}, false);
      }
      return x;
    });
  };
  CHECK(density(Deviation::kLogarithm).empty());
  CHECK(density(Deviation::kHealthyVariance).empty());
  CHECK_THAT(density(Deviation::kAdded),
             Contains("itself stands in the same sum") && Contains("has its logarithm there, "));
  CHECK_THAT(density(Deviation::kDividedBy), Contains("or is divided by its exponential"));
  CHECK_THAT(density(Deviation::kVariance), Contains("itself stands in the same sum"));
}

TEST_CASE("loss_input tells of a mixture whose weights are no logarithms") {
  const auto mixture = [](bool logarithms, bool shifted) {
    return saidOfRows("loss_input", [=](Value x, Value) {
      const Value logits = linear(x, {.out = 3}), mean = linear(x, {.out = 3});
      const Value error = mean - slice(x, 1, 0, 1);
      const Value each = (logarithms ? logSoftmax(logits) : softmax(logits)) - error * error * 0.5;
      const Value most = reduceMax(each, {1});
      const Value sum =
          shifted ? log(reduceSum(exp(each - most), {1})) + most : log(reduceSum(exp(each), {1}));
      return -reduceMean(sum, {}, false);
    });
  };
  for (const bool shifted : {false, true}) {
    CHECK_THAT(mixture(false, shifted), Contains("are added to what is exponentiated then"));
    CHECK(mixture(true, shifted).empty());
  }
}

TEST_CASE("loss_input tells of a binary cross-entropy without its minus") {
  enum class Minus { kNone, kBefore, kInside, kInsideOne };
  const auto likelihood = [](Minus minus, bool clipped, bool rest = true) {
    return said("loss_input",
                [&](Graph& g) {
                  const Value x = g.input("x", {4, 6});
                  const Value y = cast(g.input("y", {4, 1}, DType::Int64), DType::Float32);
                  Value p = sigmoid(linear(x, {.out = 1}));
                  if (clipped) p = clip(p, 1e-6, 1 - 1e-6);
                  const Value yes = y * log(p), no = (rest ? 1.0 - y : y) * log(1.0 - p);
                  if (minus == Minus::kInside) return meanOf(-yes - no);
                  if (minus == Minus::kInsideOne) return meanOf(yes - no);
                  const Value mean = meanOf(yes + no);
                  return minus == Minus::kNone ? mean : -mean;
                },
                {{"network/x", waves({4, 6})}, {"network/y", counted({4, 1}, 2)}});
  };
  CHECK_THAT(likelihood(Minus::kNone, true), Contains("the log-likelihood of the answers itself"));
  CHECK_THAT(likelihood(Minus::kNone, false), Contains("the log-likelihood of the answers itself"));
  CHECK(likelihood(Minus::kBefore, true).empty());
  CHECK(likelihood(Minus::kInside, true).empty());
  CHECK(likelihood(Minus::kInsideOne, true).empty());    // another mistake
  CHECK(likelihood(Minus::kNone, true, false).empty());  // y log(p (1 - p)): whatever that is
}

TEST_CASE("loss_input tells of a binary cross-entropy with the same logarithm for both answers") {
  const auto entropy = [](bool firstOfRest, bool secondOfRest, bool clipped) {
    return said("loss_input",
                [&](Graph& g) {
                  const Value x = g.input("x", {4, 6});
                  const Value y = cast(g.input("y", {4, 1}, DType::Int64), DType::Float32);
                  const Value p = sigmoid(linear(x, {.out = 1}));
                  const auto logOf = [&](bool rest) {
                    const Value each = rest ? 1.0 - p : p;
                    return log(clipped ? clip(each, 1e-6, 1 - 1e-6) : each + 1e-7);
                  };
                  return -meanOf(y * logOf(firstOfRest) + (1.0 - y) * logOf(secondOfRest));
                },
                {{"network/x", waves({4, 6})}, {"network/y", counted({4, 1}, 2)}});
  };
  for (const bool clipped : {false, true}) {
    CHECK_THAT(entropy(false, false, clipped), Contains("both multiplied with log(p)"));
    CHECK_THAT(entropy(true, true, clipped), Contains("both multiplied with log(1 - p)"));
    CHECK(entropy(false, true, clipped).empty());
    CHECK(entropy(true, false, clipped).empty());  // p is that of the other answer
  }
}

TEST_CASE("normalization_of_one tells of a mean along the axis that was just normalised") {
  enum class Norm { kLayer, kChannel, kGroup, kBatch };
  const auto pooled = [](Norm norm, std::vector<std::int64_t> axes, bool activated = false) {
    return said("normalization_of_one",
                [&](Graph& g) {
                  const Value x = g.input("x", {4, 6, 5, 3}), label = g.input("label", {4}, DType::Int64);
                  const Value h = x * g.parameter("gain", {1, 6, 1, 1}, Init::constant(2));
                  Value n = norm == Norm::kLayer     ? layerNorm(h)
                            : norm == Norm::kBatch   ? batchNorm(h)
                            : norm == Norm::kChannel ? groupNorm(h, {.groups = 6})
                                                     : groupNorm(h, {.groups = 3});
                  if (activated) n = relu(n);
                  const Value mean = axes.empty() ? globalAveragePool(dropout(n, 0.1)) : reduceMean(n, axes);
                  return softmaxCrossEntropy(linear(flatten(mean), {.out = 3}), label);
                },
                {{"network/x", waves({4, 6, 5, 3})}, {"network/label", counted({4}, 3)}});
  };
  CHECK_THAT(pooled(Norm::kLayer, {-1}), Contains("has just made it zero, of [4, 6, 5, 3]"));
  CHECK_THAT(pooled(Norm::kLayer, {2, 3}), Contains("has just made it zero"));
  CHECK_THAT(pooled(Norm::kChannel, {}), Contains("has just made it zero"));
  CHECK(pooled(Norm::kLayer, {2}).empty());
  CHECK(pooled(Norm::kLayer, {-1}, true).empty());
  CHECK(pooled(Norm::kChannel, {2}).empty());
  CHECK(pooled(Norm::kGroup, {}).empty());
  CHECK(pooled(Norm::kBatch, {}).empty());
}

TEST_CASE("activation_range says of a silent Relu that it is 0, and nothing of a hinge that is met") {
  const auto silent = [](bool ofNetwork) {
    return saidOfRows("activation_range", [ofNetwork](Value x, Value label) {
      const Value y = linear(x, {.out = 3, .biasInit = Init::constant(ofNetwork ? -100 : 0)});
      const Value hinge = relu(ofNetwork ? y : y * y * -1.0 - 100.0);
      return softmaxCrossEntropy(y, label) + meanOf(hinge);
    });
  };
  CHECK_THAT(silent(true), Contains("100 % of its elements are 0: it is silent"));
  CHECK(silent(false).empty());
}
