// Conditions on mistakes that trainings live with: each fires on its mistake, and is silent on what looks
// like it.
#include <catch2/catch.hpp>

#include "core_engine/train/freeze.h"
#include "tests/watchpoints/said.h"

using namespace msdbg::core;
using namespace msdbg::watch;
using namespace msdbg::test;
using Catch::Matchers::Contains;

namespace {

constexpr std::int64_t kRows = 2, kLength = 6, kWidth = 8, kWords = 9;

/// One layer of attention over words of which each label is the next one.
std::string saidOfAttention(const char* condition, Value (*masked)(Value scores, Value row, Value column),
                            std::int64_t axis = -1) {
  Tensor words = counted({kRows, kLength}, kWords), next = words.clone();
  for (std::int64_t& each : next.data<std::int64_t>()) each = (each + 1) % kWords;
  return said(condition,
              [&](Graph& g) {
                const Value x = g.input("x", {kRows, kLength}, DType::Int64),
                            label = g.input("label", {kRows, kLength}, DType::Int64);
                const Value text = embedding(x, {.count = kWords, .width = kWidth});
                const Value place = cast(range(g, kLength), DType::Float32);
                const Value scores = masked(matmul(text, transpose(text, {0, 2, 1})), unsqueeze(place, {1}),
                                            unsqueeze(place, {0}));
                const Value seen = matmul(softmax(scores, axis), text);
                return softmaxCrossEntropy(linear(reshape(seen, {-1, kWidth}), {.out = kWords}),
                                           reshape(label, {-1}));
              },
              {{"network/x", words}, {"network/label", next}});
}

Value causal(Value scores, Value row, Value column) {
  return scores + cast(greater(column, row), DType::Float32) * -1e9;
}

}  // namespace

TEST_CASE("target_leak knows a mask that is turned round from one that hides what comes after") {
  CHECK(saidOfAttention("target_leak", causal).empty());
  CHECK_THAT(saidOfAttention("target_leak",
                             [](Value scores, Value row, Value column) {
                               return scores + cast(less(column, row), DType::Float32) * -1e9;
                             }),
             Contains("turned round"));
}

TEST_CASE("mask_reversed finds that only the padding is let through") {
  const auto saidOf = [](bool turned) {
    return said("mask_reversed",
                [&](Graph& g) {
                  const Value x = g.input("x", {kRows, kLength}, DType::Int64);
                  const Value label = g.input("label", {kRows}, DType::Int64);
                  const Value none = constant(g, 0, {kRows, kLength}, DType::Float32);
                  Value kept = cast(equal(cast(x, DType::Float32), none), DType::Float32);
                  if (!turned) kept = 1 - kept;
                  const Value text = embedding(x, {.count = kWords, .width = kWidth}) * unsqueeze(kept, {2});
                  return softmaxCrossEntropy(linear(reduceSum(text, {1}, false), {.out = 3}), label);
                },
                {{"network/x", counted({kRows, kLength}, kWords)}, {"network/label", counted({kRows}, 3)}});
  };
  CHECK_THAT(saidOf(true), Contains("turned round"));
  CHECK(saidOf(false).empty());
}

TEST_CASE("softmax_axis knows queries from keys, and a softmax of one number") {
  CHECK(saidOfAttention("softmax_axis", causal).empty());
  CHECK_THAT(saidOfAttention("softmax_axis", causal, 1), Contains("sums over axis 2"));
  const auto outputs = [](std::int64_t count) {
    return saidOfRows("softmax_axis",
                      [&](Value x, Value) { return meanOf(softmax(linear(x, {.out = count}))); });
  };
  CHECK_THAT(outputs(1), Contains("always 1"));
  CHECK(outputs(2).empty());
}

TEST_CASE("bounded_logits asks for a temperature, and is content with one") {
  const auto cosines = [](double scale) {
    return saidOfRows("bounded_logits", [&](Value x, Value label) {
      const auto unit = [](Value v) { return v / sqrt(reduceSum(v * v, {1}, true) + 1e-8); };
      const Value a = unit(linear(x, {.out = 5})), b = unit(linear(x, {.out = 5}));
      return softmaxCrossEntropy(matmul(a, transpose(b, {1, 0})) * scale, label);
    });
  };
  CHECK_THAT(cosines(0.5), Contains("cannot fall below"));
  CHECK(cosines(10).empty());
}

TEST_CASE("saturated_start names data that are too large for a Tanh, and is silent on usual ones") {
  const auto withData = [](double size) {
    return saidOfRows(
        "saturated_start",
        [](Value x, Value label) {
          return softmaxCrossEntropy(linear(tanh(linear(x, {.out = 8})), {.out = 3}), label);
        },
        size);
  };
  CHECK_THAT(withData(500), Contains("saturated from the first iteration on") && Contains("not normalised"));
  CHECK(withData(1).empty());
}

namespace {

/// One Sgd layer whose gradients are clipped to `norm`; the loss of every iteration is given.
std::string saidOfClipping(double norm, double (*lossAt)(int iteration)) {
  constexpr int kIterations = 40;
  Optimizer optimizer = Sgd{.lr = 0.05};
  optimizer.clipNorm = norm;
  const Trace trace = traceTraining(
      [](Graph& g) {
        const Value x = g.input("x", {4, 6}), label = g.input("label", {4}, DType::Int64);
        return softmaxCrossEntropy(linear(x, {.out = 3}), label);
      },
      rows(), optimizer);
  FakeSource run(trace.source->graph(), 1, kIterations);
  for (const TensorInfo& info : run.graph().tensors())
    if (const StatisticsRow* row = trace.source->statistics(Rank(0), Iteration(0), info.id))
      for (int k = 0; k < kIterations; ++k) {
        run.row(0, k, info.id) = *row;
        if (info.role == TensorRole::kLoss) run.row(0, k, info.id).values.mean = lossAt(k);
      }
  return said("clipping_too_tight", run);
}

}  // namespace

TEST_CASE("clipping_too_tight needs a norm that leaves next to nothing, and a loss that stays") {
  const auto stays = [](int k) { return 1 + 0.01 * std::sin(k); };
  CHECK_THAT(saidOfClipping(1e-5, stays), Contains("clip"));
  CHECK(saidOfClipping(10, stays).empty());
  CHECK(saidOfClipping(1e-5, [](int k) { return std::exp(-0.1 * k); }).empty());
}

namespace {

/// The losses of three ranks: `lossAt(rank, iteration)`, and some noise; `mean` of the input of rank 1, which
/// has another weight from some iteration on.
std::string saidOfRanks(double (*lossAt)(int rank, int iteration), double mean = 1, int parted = 1000) {
  constexpr int kIterations = 40;
  FakeSource source = healthySource(3, kIterations);
  const TensorId x = source.id("network/x");
  for (int rank = 0; rank < 3; ++rank)
    for (int k = 0; k < kIterations; ++k) {
      for (const TensorInfo& info : source.graph().tensors())
        if (info.role == TensorRole::kLoss)
          source.row(rank, k, info.id).values.mean = lossAt(rank, k) + 0.02 * std::sin(3 * k + rank);
      if (rank == 1) source.row(rank, k, x).values.mean = mean;
      if (rank == 1 && k >= parted) source.row(rank, k, source.id("network/fc/weight")).values.hash = {7, 7};
    }
  return said("rank_loss_gap", source);
}

double falling(int, int k) { return 0.1 + 2 * std::exp(-0.15 * k); }

}  // namespace

TEST_CASE("rank_loss_gap names the rank that stays behind or lies above, and how its data differ") {
  CHECK(saidOfRanks(falling).empty());
  CHECK(saidOfRanks(falling, 3).empty());  // other data, learnt as well
  const auto staying = [](int rank, int k) { return rank == 1 ? 2 : falling(rank, k); };
  CHECK_THAT(saidOfRanks(staying), Contains("the loss of rank 1") && Contains("labels belong"));
  CHECK(saidOfRanks(staying, 1, 20).empty());  // no longer the same weights
  const auto above = [](int rank, int k) { return falling(rank, k) + (rank == 1 ? 0.2 : 0); };
  CHECK_THAT(saidOfRanks(above), Contains("the loss of rank 1"));
  CHECK_THAT(saidOfRanks(above, 3), Contains("normalised and preprocessed alike"));
  CHECK(saidOfRanks([](int rank, int k) {
          return falling(rank, k) + 0.2 * rank;
        }).empty());  // each another one
}

TEST_CASE("reshape_mixes_axes tells heads that need a transposition from those that have it") {
  const auto heads = [](const Shape& split, std::vector<std::int64_t> order, const Shape& from = {4, 6, 8}) {
    return said("reshape_mixes_axes",
                [&](Graph& g) {
                  const Value x = g.input("x", from);
                  Value h = reshape(x * g.parameter("w", {from[from.rank() - 1]}, Init::ones()), split);
                  if (!order.empty()) h = transpose(h, order);
                  return meanOf(h * h);
                },
                {{"network/x", waves(from)}});
  };
  CHECK_THAT(heads({4, 2, 6, 4}, {}), Contains("takes a transpose"));
  CHECK(heads({4, 6, 2, 4}, {0, 2, 1, 3}).empty());
  CHECK_THAT(heads({6, 4, 8}, {}), Contains("[4, 6, 8] to [6, 4, 8]"));           // batch and time
  CHECK_THAT(heads({4, 16, 12}, {}, {4, 12, 4, 4}), Contains("the axis of 12"));  // channels to the end
  for (const Shape& meant : {Shape{24, 8}, Shape{4, 48}, Shape{4, 3, 16}, Shape{4, 6, 4, 2}, Shape{4, 12, 4},
                             Shape{2, 2, 6, 8}, Shape{12, 16}})
    CHECK(heads(meant, {}) == "");
}

TEST_CASE("reshape_mixes_axes knows the axes behind a layer, and those that a residual sum brings") {
  const auto joined = [](std::vector<std::int64_t> order) {
    return said("reshape_mixes_axes",
                [&](Graph& g) {
                  const Value x = g.input("x", {4, 6, 8});
                  const Value flat = reshape(x, {-1, 8});
                  Value heads = transpose(reshape(linear(flat, {.out = 8}), {4, 6, 2, 4}), {0, 2, 1, 3});
                  if (!order.empty()) heads = transpose(heads, order);
                  const Value sum = flat + linear(reshape(heads, {24, 8}), {.out = 8});
                  return meanOf(sum * sum);
                },
                {{"network/x", waves({4, 6, 8})}});
  };
  CHECK_THAT(joined({}), Contains("[4, 2, 6, 4] to [4, 6, 8]"));
  CHECK(joined({0, 2, 1, 3}).empty());
  const std::string besideAWeight = said(  // of [6, 4], which is not what the 24 rows are made of
      "reshape_mixes_axes",
      [](Graph& g) {
        const Value y = linear(reshape(g.input("x", {4, 6, 4}), {24, 4}), {.out = 6});
        return meanOf(y * y);
      },
      {{"network/x", waves({4, 6, 4})}});
  CHECK(besideAWeight == "");
}

TEST_CASE("loss_input knows formulas written by hand that are given what was squashed already") {
  const auto byHand = [](Value (*output)(Value)) {
    return saidOfRows("loss_input", [&](Value x, Value label) {
      const Value p = clip(sigmoid(output(linear(x, {.out = 3}))), 1e-6, 1 - 1e-6), y = oneHot(label, 3);
      return -meanOf(y * log(p) + (1 - y) * log(1 - p));
    });
  };
  CHECK_THAT(byHand([](Value v) { return sigmoid(v); }), Contains("sigmoid is applied twice"));
  CHECK(byHand([](Value v) { return v; }).empty());
  const auto stable = [](Value (*output)(Value)) {
    return saidOfRows("loss_input", [&](Value x, Value label) {
      const Value z = output(linear(x, {.out = 3}));
      return meanOf(relu(z) - z * oneHot(label, 3) + log(exp(-max(z, -z)) + 1));
    });
  };
  CHECK_THAT(stable([](Value v) { return sigmoid(v); }), Contains("sigmoid is applied twice"));
  CHECK(stable([](Value v) { return v; }).empty());
  const auto powers = [](Value (*output)(Value)) {
    return saidOfRows("loss_input", [&](Value x, Value label) {
      const Value z = output(linear(x, {.out = 3})), e = exp(z - reduceMax(z, {1}));
      return -meanOf(log(e / reduceSum(e, {1})) * oneHot(label, 3));
    });
  };
  CHECK_THAT(powers([](Value v) { return softmax(v); }), Contains("softmax is applied twice"));
  CHECK(powers([](Value v) { return v; }).empty());
}

TEST_CASE("frozen_at_random is a hint, and none where the frozen weights are others") {
  const auto frozen = [](const Init& init, bool loaded) {
    Named inputs = rows();
    if (loaded) inputs.emplace_back("network/backbone/weight", waves({6, 40}, 0.05));
    return said(
        "frozen_at_random",
        [&](Graph& g) {
          const Value x = g.input("x", {4, 6}), label = g.input("label", {4}, DType::Int64);
          const Scope s = g.scope("backbone");
          const Value w = g.parameter("weight", {6, 40}, init);
          freeze(w);
          return softmaxCrossEntropy(linear(relu(matmul(x, w)), {.out = 3}), label);
        },
        inputs);
  };
  for (const Init& init : {Init::kaimingNormal(), Init::xavierUniform(), Init::truncatedNormal(0.5)}) {
    CHECK_THAT(frozen(init, false), Contains("never loaded"));
    CHECK(frozen(init, true).empty());
  }
}

TEST_CASE("A weight that the program sets anew between iterations is not frozen") {
  const auto ofCritic = [](bool follows) {
    Graph g("network");
    const Value w = g.parameter("weight", {16, 40}, Init::xavierUniform());
    freeze(w);
    meanOf(matmul(g.input("x", {4, 16}), w));
    FakeSource source(std::move(g), 1, 3);
    Tensor drawn = waves({16, 40}, std::sqrt(6.0 / 56));  // about as spread as it would be drawn
    for (float& each : drawn.data<float>()) each *= 0.8165F;
    for (int k = 0; k < 3; ++k) {
      if (follows) drawn.data<float>()[0] += 1e-3F;
      source.record(Rank(0), Iteration(k), source.id("network/weight"), drawn);
    }
    return runRecommended(source, "frozen_at_random").hints.size();
  };
  CHECK(ofCritic(false) == 1);
  CHECK(ofCritic(true) == 0);
}

TEST_CASE("A gradient that a saturated Tanh stops is called vanishing there, and not a tensor of zeros") {
  const auto program = [](Value x, Value label) {
    return softmaxCrossEntropy(linear(tanh(linear(x, {.out = 8}) * 1e6), {.out = 3}), label);
  };
  CHECK_THAT(saidOfRows("gradient_vanishing", program), Contains("every element of Tanh is saturated"));
  CHECK(saidOfRows("tensor_all_zero", program).empty());
}

namespace {

/// A run of 40 iterations whose statistics are those of one, but for the losses.
std::string saidOfLosses(const char* condition, const msdbg::test::Program& program, const Named& inputs,
                         double (*lossAt)(int iteration), double (*rateAt)(int iteration) = nullptr) {
  constexpr int kIterations = 40;
  const Trace trace = traceTraining(program, inputs);
  FakeSource run(trace.source->graph(), 1, kIterations);
  for (const TensorInfo& info : run.graph().tensors())
    if (const StatisticsRow* row = trace.source->statistics(Rank(0), Iteration(0), info.id))
      for (int k = 0; k < kIterations; ++k) {
        run.row(0, k, info.id) = *row;
        if (info.role == TensorRole::kLoss) run.row(0, k, info.id).values.mean = lossAt(k);
        if (info.role == TensorRole::kHyperparameter && rateAt)
          run.row(0, k, info.id).values.mean = rateAt(k);
        if (info.updateOf.valid()) run.row(0, k, info.id).change = ChangeStatistics{0.01, 0.02, 1, 1, 0};
      }
  return said(condition, run);
}

double toAThousandth(int k) { return 3 * std::exp(-0.2 * k) + 0.001; }

}  // namespace

TEST_CASE("gradient_vanishing names the Sigmoids that lie between a layer and the loss") {
  const auto stacked = [](int count) {
    return [count](Graph& g) {
      Value h = g.input("x", {4, 6});
      const Value label = g.input("label", {4}, DType::Int64);
      for (int i = 0; i < count; ++i) h = sigmoid(linear(h, {.out = 6}));
      return softmaxCrossEntropy(linear(h, {.out = 3}), label);
    };
  };
  const auto stays = [](int k) { return 1.1 + 0.01 * std::sin(k); };
  CHECK_THAT(saidOfLosses("gradient_vanishing", stacked(8), rows(), stays),
             Contains("Sigmoid lie between it"));
  CHECK(saidOfLosses("gradient_vanishing", stacked(8), rows(), toAThousandth).empty());
  CHECK(saidOfLosses("gradient_vanishing", stacked(2), rows(), stays).empty());
}

TEST_CASE("loss_not_decreasing knows what the mean of the targets costs") {
  const auto program = [](Graph& g) {
    const Value x = g.input("x", {4, 6}), y = g.input("y", {4, 1});
    const Value error = linear(x, {.out = 1}) - y;
    return meanOf(error * error);
  };
  const Named inputs = {{"network/x", waves({4, 6})}, {"network/y", waves({4, 1}, 10)}};
  const auto toTheVariance = [](int k) { return 200 * std::exp(-0.2 * k) + 75; };
  CHECK_THAT(saidOfLosses("loss_not_decreasing", program, inputs, toTheVariance),
             Contains("giving the mean of network/y"));
  CHECK(saidOfLosses("loss_not_decreasing", program, inputs, toAThousandth).empty());
}

TEST_CASE("weight_change_too_small knows a rate that is gone early, and a warm-up that outlasts the run") {
  const auto program = [](Graph& g) {
    const Value x = g.input("x", {4, 6}), label = g.input("label", {4}, DType::Int64);
    return softmaxCrossEntropy(linear(x, {.out = 3}), label);
  };
  const auto saidOf = [&](double (*lossAt)(int), double (*rateAt)(int)) {
    return saidOfLosses("weight_change_too_small", program, rows(), lossAt, rateAt);
  };
  const auto standsHigh = [](int k) { return 1 + 2 * std::exp(-0.5 * k) + 0.01 * std::sin(k); };
  const auto gone = [](int k) { return 0.1 * std::pow(0.7, k); };
  const auto steps = [](int k) { return k < 30 ? 0.1 : 0.01; };
  const auto rises = [](int k) { return 1e-4 * (k + 1); };
  const auto risen = [](int k) { return 1e-2 * std::min(k + 1, 10); };
  CHECK_THAT(saidOf(standsHigh, gone), Contains("the learning rate falls from 0.1"));
  CHECK(saidOf(toAThousandth, gone).empty());
  CHECK(saidOf(standsHigh, steps).empty());
  CHECK_THAT(saidOf(standsHigh, rises), Contains("longer than the run"));
  CHECK(saidOf(toAThousandth, rises).empty());
  CHECK(saidOf(standsHigh, risen).empty());
}

TEST_CASE("shifted_broadcast finds sums that are laid along the axis that they were taken over") {
  const auto divided = [](Value (*by)(Value weights), const Shape& shape = {6, 6}) {
    static Value (*divisor)(Value);
    divisor = by;
    return said("shifted_broadcast",
                [&](Graph& g) {
                  const Value x = g.input("x", shape);
                  const Value weights = exp(x * g.parameter("w", {shape[shape.rank() - 1]}, Init::ones()));
                  const Value share = weights / divisor(weights);
                  return meanOf(share * share);
                },
                {{"network/x", waves(shape)}});
  };
  CHECK_THAT(divided([](Value w) { return reduceSum(w, {1}, false); }),
             Contains("reduces axis 1 of [6, 6] and does not keep it") && Contains("both are 6 long"));
  CHECK_THAT(divided([](Value w) { return sqrt(reduceSum(w, {1}, false) + 1e-6); }), Contains("axis 1 of"));
  CHECK_THAT(divided([](Value w) { return reduceSum(w, {-1}, false); }, {6, 6, 6}),
             Contains("axis 2 of [6, 6, 6]"));
  CHECK(divided([](Value w) { return reduceSum(w, {1}, true); }).empty());
  CHECK(divided([](Value w) { return reduceSum(w, {0}, false); }).empty());
  CHECK(divided([](Value w) { return unsqueeze(reduceSum(w, {1}, false), {1}); }).empty());
  CHECK(divided([](Value w) {
          const Value sums = sqrt(reduceSum(w, {1}, false));
          return sums * unsqueeze(sums, {1});
        }).empty());  // both axes of a symmetric matrix
}

TEST_CASE("shifted_broadcast finds a number a sample that meets the features") {
  const auto scaled = [](bool rows, bool columns, std::int64_t width) {
    return said("shifted_broadcast",
                [&](Graph& g) {
                  const Value x = g.input("x", {8, width}), time = g.input("time", {8});
                  Value h = tanh(linear(x, {.out = width}));
                  if (columns) h = h * cos((rows && width != 8 ? unsqueeze(time, {1}) : time) * 1.5);
                  if (rows) h = concat({h, unsqueeze(time, {1})}, 1);
                  return meanOf(h * h);
                },
                {{"network/x", waves({8, width})}, {"network/time", waves({8})}});
  };
  CHECK_THAT(scaled(true, true, 8), Contains("time [8] has a number for each row elsewhere"));
  CHECK(scaled(true, true, 5).empty());
  CHECK(scaled(true, false, 8).empty());
  CHECK(scaled(false, true, 8).empty());  // weights of features: nobody knows
}

TEST_CASE("rank_loss_gap knows ranks that learn within the first iterations") {
  const auto quickly = [](int rank, int k) { return rank == 1 ? 2.0 : 0.6 + 1.6 * std::exp(-1.2 * k); };
  CHECK_THAT(saidOfRanks(quickly), Contains("the loss of rank 1"));
}
