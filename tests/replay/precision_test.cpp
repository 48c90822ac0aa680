// The precision bisect, against closed forms in double that are written here: no operator of ours computes
// what is expected.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <random>

#include "core_engine/base/text.h"
#include "core_engine/ops/functions.h"
#include "core_engine/train/layers.h"
#include "replay/precision/bisect.h"
#include "replay/precision/measure.h"
#include "tests/replay/recorded_program.h"
#include "tests/support/sampling.h"

using namespace msdbg;
using namespace msdbg::core;
using replay::Precision;
using replay::PrecisionRow;
using replay::RoundingKind;
using test::RecordedProgram;
using test::RecordedRun;

namespace {

constexpr double kEps = 0x1p-23;

Tensor floats(Shape shape, const std::function<double(std::int64_t)>& at) {
  Tensor t(DType::Float32, std::move(shape));
  for (std::int64_t i = 0; i < t.elements(); ++i)
    t.data<float>()[static_cast<std::size_t>(i)] = static_cast<float>(at(i));
  return t;
}

Tensor doubles(std::initializer_list<double> values) {
  return Tensor::of<double>({static_cast<std::int64_t>(values.size())}, std::vector<double>(values));
}

/// One scope `case`, whose result's mean is the loss; x as given, in every iteration.
RecordedProgram programOf(std::function<Value(Graph&, Value x)> network, Tensor x) {
  RecordedProgram p;
  p.loss = [network = std::move(network), shape = x.shape()](Graph& g) {
    const Value in = g.input("x", shape);
    const auto scope = g.scope("case");
    return reduceMean(network(g, in), {}, false);
  };
  p.batch = [x](int) { return std::vector<std::pair<std::string, Tensor>>{{"x", x}}; };
  p.iterations = 2;
  p.values = true;
  return p;
}

Precision bisected(RecordedRun& recorded, int iteration = 1) {
  return replay::bisectPrecision(recorded.run(), Iteration(iteration), {Rank(0)}, {}).orThrow();
}

const PrecisionRow& rowOf(RecordedRun& recorded, const Precision& precision, const std::string& name) {
  const TensorId id = replay::resolveTensor(recorded.run().graph(), name).orThrow();
  for (const PrecisionRow& row : precision.rows)
    if (row.tensor == id) return row;
  throw std::runtime_error("no row of " + name);
}

Tensor valueOf(RecordedRun& recorded, const std::string& name, int iteration = 1) {
  const TensorId id = replay::resolveTensor(recorded.run().graph(), name).orThrow();
  return recorded.run().value(Rank(0), Iteration(iteration), id).orThrow();
}

std::vector<RoundingKind> kindsOf(RecordedProgram program, const std::string& name) {
  RecordedRun recorded(program);
  const Precision precision = bisected(recorded, 0);
  return rowOf(recorded, precision, name).local.value().kinds;
}

}  // namespace

TEST_CASE(
    "The local error of a product is its distance from the double sum, in eps times the sum of |terms|") {
  RecordedRun recorded(programOf(
      [](Graph& g, Value x) {
        const Value w = g.parameter("w", {50, 4}, Init::normal());
        return matmul(x, w);
      },
      floats({3, 50}, [](std::int64_t i) { return std::sin(0.7 * static_cast<double>(i)); })));
  const Precision precision = bisected(recorded);
  const Tensor x = valueOf(recorded, "network/x"), w = valueOf(recorded, "case/w"),
               y = valueOf(recorded, "network/case/MatMul-op1");
  double worst = 0;
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 4; ++j) {
      double sum = 0, terms = 0;
      for (std::int64_t k = 0; k < 50; ++k) {
        sum += x.at(i * 50 + k) * w.at(k * 4 + j);
        terms += std::abs(x.at(i * 50 + k) * w.at(k * 4 + j));
      }
      worst = std::max(worst, std::abs(y.at(i * 4 + j) - sum) / (kEps * terms));
    }
  REQUIRE(worst > 0);
  CHECK(rowOf(recorded, precision, "network/case/MatMul-op1").local->units == Approx(worst).epsilon(1e-6));
  CHECK_FALSE(precision.suspicious());
  CHECK(precision.unjudged.empty());
}

TEST_CASE("One wrong element is found, with its place and both values") {
  const Tensor exact = doubles({1, 2, -3}), terms = doubles({1, 8, 3});
  const std::vector<float> was = {1, 2 + 0x1p-18F, -3};
  const replay::LocalError error = replay::localError(Tensor::of<float>({3}, was), exact, terms);
  CHECK(error.units == Approx(0x1p-18 / (8 * kEps)));  // 4
  CHECK(error.element == 1);
  CHECK(error.recorded == 2 + 0x1p-18);
  CHECK(error.exact == 2);
  CHECK(error.terms == 8);
}

TEST_CASE("Where only one of both is finite the error is infinite, where none is there is none") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const auto units = [](float was, double exact) {
    return replay::localError(Tensor::of<float>({1}, std::vector{was}), doubles({exact}), doubles({1})).units;
  };
  CHECK(std::isinf(units(inf, 1)));
  CHECK(std::isinf(units(1, nan)));
  CHECK(units(nan, inf) == 0);
  CHECK(units(0, 1e-60) <= 1);  // nothing in float32 is nearer
}

TEST_CASE("Overflow, underflow, denormals, cancellation and absorption are told apart") {
  const Tensor ones = floats({8}, [](std::int64_t i) { return 1 + 0.1 * static_cast<double>(i); });
  const auto weighted = [](double factor) {
    return [factor](Graph& g, Value x) { return x * factor * g.parameter("w", {8}, Init::constant(factor)); };
  };
  CHECK(kindsOf(programOf(weighted(1e30), ones), "network/case/Mul-op2") ==
        std::vector{RoundingKind::kOverflow});
  CHECK(kindsOf(programOf(weighted(1e-30), ones), "network/case/Mul-op2") ==
        std::vector{RoundingKind::kUnderflow});
  CHECK(kindsOf(programOf(weighted(1e-20), ones), "network/case/Mul-op2") ==
        std::vector{RoundingKind::kDenormals});
  CHECK(kindsOf(programOf(weighted(2), ones), "network/case/Mul-op2").empty());
  const auto difference = [](Graph& g, Value x) {  // equal but for 1e-5 of them
    return x * g.parameter("w", {8}, Init::constant(1.00001)) - x;
  };
  CHECK(kindsOf(programOf(difference, ones), "network/case/Sub-op1") ==
        std::vector{RoundingKind::kCancellation});
  const auto sum = [](Graph& g, Value x) { return x + g.parameter("w", {8}, Init::constant(1e-9)); };
  CHECK(kindsOf(programOf(sum, ones), "network/case/Add-op1") == std::vector{RoundingKind::kAbsorption});
  RecordedProgram slow = programOf(weighted(2), ones);
  slow.optimizer = Sgd{.lr = 1e-9};
  CHECK(kindsOf(slow, "next(case/w)") == std::vector{RoundingKind::kAbsorption});
}

namespace {

constexpr std::int64_t kRows = 6, kIn = 10, kHidden = 8, kOut = 3;
using Matrix = std::vector<double>;

RecordedProgram smallMlp() {
  RecordedProgram p;
  p.loss = [](Graph& g) {
    const Value label = g.input("label", {kRows}, DType::Int64);
    Value x = g.input("x", {kRows, kIn});
    {
      const auto scope = g.scope("fc1");
      x = relu(linear(x, {.out = kHidden}));
    }
    const auto scope = g.scope("fc2");
    return softmaxCrossEntropy(linear(x, {.out = kOut}), label);
  };
  p.batch = [](int iteration) {
    std::vector<std::int64_t> labels;
    for (std::int64_t i = 0; i < kRows; ++i) labels.push_back((i + iteration) % kOut);
    const Tensor x = floats(
        {kRows, kIn}, [&](std::int64_t i) { return std::sin(0.37 * static_cast<double>(i) + iteration); });
    return std::vector<std::pair<std::string, Tensor>>{{"x", x},
                                                       {"label", Tensor::of<std::int64_t>({kRows}, labels)}};
  };
  p.optimizer = Sgd{.lr = 0.1};
  p.iterations = 6;
  p.values = true;
  return p;
}

Matrix matrixOf(const Tensor& t) {
  Matrix m;
  for (std::int64_t i = 0; i < t.elements(); ++i) m.push_back(t.at(i));
  return m;
}

/// x [rows, in] by weight [out, in], plus bias
Matrix affine(const Matrix& x, const Matrix& w, const Matrix& b, std::int64_t in, std::int64_t out) {
  Matrix y;
  for (std::int64_t r = 0; r < kRows; ++r)
    for (std::int64_t o = 0; o < out; ++o) {
      double sum = b[o];
      for (std::int64_t i = 0; i < in; ++i) sum += x[r * in + i] * w[o * in + i];
      y.push_back(sum);
    }
  return y;
}

/// dy [rows, out], x [rows, in] -> [out, in]
Matrix weightGradient(const Matrix& dy, const Matrix& x, std::int64_t in, std::int64_t out) {
  Matrix dw(static_cast<std::size_t>(out * in), 0.0);
  for (std::int64_t r = 0; r < kRows; ++r)
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t i = 0; i < in; ++i) dw[o * in + i] += dy[r * out + o] * x[r * in + i];
  return dw;
}

struct Expected {
  Matrix logits, grad2, grad1, next1;
  double loss = 0;
};

Expected inDouble(RecordedRun& recorded, int iteration) {
  const auto get = [&](const char* name) { return matrixOf(valueOf(recorded, name, iteration)); };
  const Matrix x = get("network/x"), label = get("network/label"), w1 = get("fc1/weight"),
               b1 = get("fc1/bias"), w2 = get("fc2/weight"), b2 = get("fc2/bias"),
               mask = get("network/fc1/Relu-op1");
  Expected e;
  Matrix hidden = affine(x, w1, b1, kIn, kHidden);
  for (double& h : hidden) h = std::max(h, 0.0);
  e.logits = affine(hidden, w2, b2, kHidden, kOut);
  Matrix dLogits, dHidden(kRows * kHidden, 0.0);
  for (std::int64_t r = 0; r < kRows; ++r) {
    double all = 0;
    for (std::int64_t o = 0; o < kOut; ++o) all += std::exp(e.logits[r * kOut + o]);
    e.loss -= std::log(std::exp(e.logits[r * kOut + static_cast<std::int64_t>(label[r])]) / all) / kRows;
    for (std::int64_t o = 0; o < kOut; ++o)
      dLogits.push_back((std::exp(e.logits[r * kOut + o]) / all - (o == label[r] ? 1 : 0)) / kRows);
  }
  e.grad2 = weightGradient(dLogits, hidden, kHidden, kOut);
  for (std::int64_t r = 0; r < kRows; ++r)
    for (std::int64_t h = 0; h < kHidden; ++h)
      for (std::int64_t o = 0; o < kOut; ++o)
        if (mask[r * kHidden + h] > 0)
          dHidden[r * kHidden + h] += dLogits[r * kOut + o] * w2[o * kHidden + h];
  e.grad1 = weightGradient(dHidden, x, kIn, kHidden);
  const double rate = valueOf(recorded, "learning_rate", iteration).at(0);
  for (std::size_t i = 0; i < w1.size(); ++i) e.next1.push_back(w1[i] - rate * e.grad1[i]);
  return e;
}

double relativeError(const Tensor& was, const Matrix& exact) {
  double squares = 0, all = 0;
  for (std::int64_t i = 0; i < was.elements(); ++i) {
    squares += std::pow(was.at(i) - exact[static_cast<std::size_t>(i)], 2);
    all += std::pow(exact[static_cast<std::size_t>(i)], 2);
  }
  return std::sqrt(squares / all);
}

}  // namespace

TEST_CASE("Accumulated errors of forward, backward and update are those of a training step in double") {
  RecordedRun recorded(smallMlp());
  for (const int iteration : {0, 3}) {
    const Precision precision = bisected(recorded, iteration);
    const Expected expected = inDouble(recorded, iteration);
    const std::vector<std::pair<std::string, Matrix>> all = {{"network/fc2/Gemm-op1", expected.logits},
                                                             {"SoftmaxCrossEntropyLoss-op1", {expected.loss}},
                                                             {"grad(network/fc2/weight)", expected.grad2},
                                                             {"grad(network/fc1/weight)", expected.grad1},
                                                             {"next(network/fc1/weight)", expected.next1}};
    for (const auto& [name, exact] : all) {
      CAPTURE(name, iteration);
      const double relative = relativeError(valueOf(recorded, name, iteration), exact);
      REQUIRE(relative < 1e-5);
      const PrecisionRow& row = rowOf(recorded, precision, name);
      CHECK(row.accumulated->relative == Approx(relative).epsilon(1e-6).margin(1e-14));
      CHECK(row.computed == false);
    }
    const PrecisionRow& first = rowOf(recorded, precision, "network/fc1/Gemm-op1");
    CHECK_FALSE(first.accumulated->amplification);  // it reads sources, which are exact
    const PrecisionRow& logits = rowOf(recorded, precision, "network/fc2/Gemm-op1");
    const double before = rowOf(recorded, precision, "network/fc1/Relu-op1").accumulated->relative;
    CHECK(logits.accumulated->amplification == Approx(logits.accumulated->relative / before));
  }
}

TEST_CASE("A sample that is not finite makes no node suspicious for the others of its batch") {
  const Tensor x = floats({4, 2, 6, 6}, [](std::int64_t i) {
    return i == 2 * 72 + 5 ? std::nan("") : std::sin(0.31 * static_cast<double>(i)) * 1e-3;
  });
  RecordedRun recorded(
      programOf([](Graph&, Value in) { return relu(conv(in, {.out = 3, .kernel = 3, .pad = 1})); }, x));
  const Precision precision = bisected(recorded, 0);
  const PrecisionRow& row = rowOf(recorded, precision, "Conv-op1");
  REQUIRE(row.local);
  CHECK(row.local->units < 32);
  CHECK(row.local->units > 0);
  CHECK_FALSE(precision.suspicious());
}

TEST_CASE("What was not stored is computed again: the same rows, said to be computed") {
  RecordedRun stored(smallMlp());
  RecordedProgram less = smallMlp();
  less.values = false;
  less.options.policy = dump::Policy::kRecord;
  less.options.batches = true;
  RecordedRun hashes(less);
  const Precision a = bisected(stored, 4), b = bisected(hashes, 4);
  REQUIRE(a.rows.size() == b.rows.size());
  CHECK(b.unjudged.empty());
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
    CHECK(a.rows[i].local->units == b.rows[i].local->units);
    CHECK(a.rows[i].accumulated->relative == b.rows[i].accumulated->relative);
    CHECK(b.rows[i].computed);
  }
}

TEST_CASE("A wrong kernel that was not stored is no precision: what follows from it is left out, and said") {
  RecordedProgram p = smallMlp();
  p.values = false;
  p.options.policy = dump::Policy::kRecord;
  p.options.batches = true;
  p.faults = {"wrong_kernel@iteration=2,node=*fc2/Gemm-op1"};
  RecordedRun recorded(p);
  const Precision precision = bisected(recorded, 2);
  REQUIRE(precision.differences.size() == 1);
  CHECK(recorded.run().graph().tensor(precision.differences[0].tensor).fullName() ==
        "network/fc2/Gemm-op1:0");
  CHECK_FALSE(precision.unjudged.empty());
  CHECK_THROWS(rowOf(recorded, precision, "network/fc2/Gemm-op1"));
  CHECK(rowOf(recorded, precision, "network/fc1/Gemm-op1").local.has_value());
}

TEST_CASE("Without values and without what they can be computed from it says what is missing") {
  RecordedProgram p = smallMlp();
  p.values = false;
  p.options.batches = false;
  p.options.checkpointEvery = dump::RecordOptions::kNoCheckpoints;
  RecordedRun recorded(p);
  const auto precision = replay::bisectPrecision(recorded.run(), Iteration(1), {Rank(0)}, {});
  REQUIRE_FALSE(precision.ok());
  CHECK(precision.error().code() == ErrorCode::kUnavailable);
  CHECK_THAT(precision.error().message(), Catch::Contains("iteration 1: nothing to compare with float64: "));
}

TEST_CASE("It can be cancelled") {
  RecordedRun recorded(smallMlp());
  replay::BisectOptions options;
  options.progress = [&](std::int64_t done, std::int64_t) {
    if (done == 3) options.cancel.cancel();
  };
  const auto precision = replay::bisectPrecision(recorded.run(), Iteration(1), {Rank(0)}, options);
  REQUIRE_FALSE(precision.ok());
  CHECK(precision.error().code() == ErrorCode::kCancelled);
}

TEST_CASE("Wrong kernels, truncated dtypes and wrong gradients at drawn places rank first by local error") {
  std::mt19937_64 random(test::drawnSeed("precision of planted faults"));
  RecordedRun healthy(smallMlp());
  const Graph& graph = healthy.run().graph();
  int drawn = 0, missed = 0;
  while (drawn < 12) {
    const std::string kind = std::array{"wrong_kernel", "truncate_dtype", "wrong_backward"}[random() % 3];
    const Node& node = graph.nodes()[random() % graph.nodes().size()];
    const int iteration = std::array{0, 3, 5}[random() % 3];
    if (kind == "wrong_backward" && node.phase != Phase::kBackward) continue;
    RecordedProgram p = smallMlp();
    p.faults = {kind + "@iteration=" + std::to_string(iteration) + ",node=" + node.name};
    RecordedRun recorded(p);
    const Precision precision = bisected(recorded, iteration);
    CAPTURE(p.faults.front());
    const PrecisionRow& mine = rowOf(recorded, precision, node.name);
    if (mine.local->units < 1) continue;  // zeros, or numbers that bfloat16 has: nothing was changed
    ++drawn;
    const PrecisionRow& first = precision.rows[replay::rankedByLocal(precision.rows).front()];
    const bool found = first.tensor == mine.tensor && precision.suspicious();
    if (!found) WARN(p.faults.front() << ": " << mine.local->units << " units");
    missed += !found;
  }
  CHECK(missed == 0);
}
