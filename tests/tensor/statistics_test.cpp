#include "core_engine/tensor/statistics.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

using namespace msdbg::core;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor tensorOf(const std::vector<double>& values, DType dtype = DType::Float64) {
  return Tensor::of<double>(Shape{static_cast<std::int64_t>(values.size())}, values).cast(dtype);
}

/// The definitions, written down plainly.
TensorStatistics naive(const Tensor& tensor) {
  TensorStatistics s;
  s.count = tensor.elements();
  long double n = 0, sum = 0, sumAbs = 0, squares = 0, deviations = 0;
  s.min = kInf;
  s.max = -kInf;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const double v = tensor.at(i);
    s.nan += std::isnan(v);
    s.posInf += v == kInf;
    s.negInf += v == -kInf;
    if (!std::isfinite(v)) continue;
    s.zero += v == 0;
    s.negative += v < 0;
    s.positive += v > 0;
    s.min = std::fmin(s.min, v);
    s.max = std::fmax(s.max, v);
    n += 1;
    sum += v;
    sumAbs += std::fabs(v);
    squares += static_cast<long double>(v) * v;
  }
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    if (const double v = tensor.at(i); std::isfinite(v)) deviations += (v - sum / n) * (v - sum / n);
  s.mean = static_cast<double>(sum / n);
  s.meanAbs = static_cast<double>(sumAbs / n);
  s.std = n < 2 ? 0 : static_cast<double>(std::sqrt(deviations / (n - 1)));
  s.l1 = static_cast<double>(sumAbs);
  s.l2 = static_cast<double>(std::sqrt(squares));
  if (n == 0) s.min = s.max = s.mean = s.meanAbs = kNaN;
  return s;
}

void checkClose(double actual, double expected, double scale) {
  if (std::isnan(expected))
    CHECK(std::isnan(actual));
  else
    CHECK(std::fabs(actual - expected) <= 1e-12 * scale);
}

void checkAgainstNaive(const Tensor& tensor) {
  const TensorStatistics a = computeStatistics(tensor), e = naive(tensor);
  CHECK(a.count == e.count);
  CHECK(a.nan == e.nan);
  CHECK(a.posInf == e.posInf);
  CHECK(a.negInf == e.negInf);
  CHECK(a.zero == e.zero);
  CHECK(a.negative == e.negative);
  CHECK(a.positive == e.positive);
  checkClose(a.min, e.min, 0);
  checkClose(a.max, e.max, 0);
  checkClose(a.mean, e.mean, e.meanAbs);
  checkClose(a.meanAbs, e.meanAbs, e.meanAbs);
  checkClose(a.std, e.std, e.std);
  checkClose(a.l1, e.l1, e.l1);
  checkClose(a.l2, e.l2, e.l2);
}

Tensor randomTensor(DType dtype, std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(3, 50);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& v : values) v = normal(random);
  return tensorOf(values, dtype);
}

bool sameBits(const TensorStatistics& a, const TensorStatistics& b) {
  const double x[] = {a.min, a.max, a.mean, a.meanAbs, a.std, a.l1, a.l2};
  const double y[] = {b.min, b.max, b.mean, b.meanAbs, b.std, b.l1, b.l2};
  return std::memcmp(x, y, sizeof x) == 0 && a.count == b.count && a.nan == b.nan && a.zero == b.zero &&
         a.negative == b.negative && a.positive == b.positive && a.inf() == b.inf() && a.hash == b.hash;
}

}  // namespace

TEST_CASE("Statistics of every dtype agree with the definitions, at every block and lane boundary") {
  for (const DType dtype : kDTypes)
    for (const std::int64_t count : {1, 2, 15, 16, 17, 1000, 8192, 16384, 16385, 70001, 200003}) {
      INFO(dtypeName(dtype) << " " << count);
      checkAgainstNaive(randomTensor(dtype, count, static_cast<std::uint64_t>(count)));
    }
}

TEST_CASE("NaN and Inf are counted apart and hide nothing, wherever they stand") {
  for (const DType dtype : {DType::Float32, DType::Float64})
    for (const std::int64_t at : {0, 7, 16383, 16384, 40000, 40001}) {
      INFO(dtypeName(dtype) << " " << at);
      Tensor tensor = randomTensor(dtype, 40002, 3);
      visitFloating(dtype, [&](auto type) {
        auto* data = tensor.data<decltype(type)>().data();
        data[at] = std::numeric_limits<decltype(type)>::quiet_NaN();
        data[(at + 5) % 40002] = std::numeric_limits<decltype(type)>::infinity();
        data[(at + 9) % 40002] = -std::numeric_limits<decltype(type)>::infinity();
      });
      checkAgainstNaive(tensor);
      CHECK(computeStatistics(tensor).nonFinite() == 3);
    }
}

TEST_CASE("Without a finite element the moments are NaN and the sums zero") {
  for (const Tensor& tensor : {tensorOf({}), tensorOf({kNaN}), tensorOf({kInf, -kInf, kNaN})}) {
    const TensorStatistics s = computeStatistics(tensor);
    for (const double v : {s.min, s.max, s.mean, s.meanAbs}) CHECK(std::isnan(v));
    for (const double v : {s.std, s.l1, s.l2}) CHECK(v == 0);
    CHECK(s.zero + s.negative + s.positive == 0);
    checkAgainstNaive(tensor);
  }
}

TEST_CASE("One element has no deviation, and minus zero counts as zero") {
  const TensorStatistics one = computeStatistics(tensorOf({-2.5}));
  CHECK(one.mean == -2.5);
  CHECK(one.meanAbs == 2.5);
  CHECK(one.std == 0);
  const TensorStatistics zeros = computeStatistics(tensorOf({-0.0, 0.0, -0.0}, DType::Float32));
  CHECK(zeros.zero == 3);
  CHECK(zeros.negative == 0);
  CHECK_FALSE(std::signbit(zeros.min));
  CHECK_FALSE(std::signbit(zeros.max));
}

TEST_CASE("Equal elements have exactly their value as mean and no deviation") {
  for (const std::int64_t count : {3, 100, 50001}) {
    const TensorStatistics s =
        computeStatistics(tensorOf(std::vector<double>(static_cast<std::size_t>(count), 0.1)));
    CHECK(s.mean == 0.1);
    CHECK(s.meanAbs == 0.1);
    CHECK(s.std == 0);
  }
}

TEST_CASE("A small deviation beside a large mean is not lost") {
  std::vector<double> values(100'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1e9 + static_cast<double>(i % 2);
  // Half at -1/2 and half at +1/2 of the mean: sqrt(n/4 / (n - 1)).
  CHECK(computeStatistics(tensorOf(values)).std == Approx(std::sqrt(25'000.0 / 99'999.0)).epsilon(1e-12));
}

TEST_CASE("The largest float32 numbers neither overflow the sums nor count as infinite") {
  const double big = std::numeric_limits<float>::max();
  const TensorStatistics s = computeStatistics(tensorOf({big, -big, big, big}, DType::Float32));
  CHECK(s.nonFinite() == 0);
  CHECK(s.max == big);
  CHECK(s.mean == big / 2);
  CHECK(s.l2 == 2 * big);
}

TEST_CASE("Statistics equal exact rational arithmetic") {
  // From Python's fractions over float32((k * 2654435761 mod 2^32 - 2^31) / 2^28), k < 50000.
  std::vector<float> values(50'000);
  for (std::uint32_t k = 0; k < values.size(); ++k)
    values[k] = static_cast<float>((static_cast<double>(k * 2654435761u) - 2147483648.0) / 268435456.0);
  const TensorStatistics s = computeStatistics(Tensor::of<float>(Shape{50, 1000}, values));
  CHECK(s.mean == Approx(-0.00012330269888043404).epsilon(1e-13));
  CHECK(s.std == Approx(4.618919622321344).epsilon(1e-14));
  CHECK(s.meanAbs == Approx(4.00005784098357).epsilon(1e-14));
  CHECK(s.l1 == Approx(200002.89204917848).epsilon(1e-14));
  CHECK(s.l2 == Approx(1032.811497909932).epsilon(1e-14));
  CHECK(s.min == -8.0);
  CHECK(s.max == 7.999650001525879);
  CHECK(s.negative == 25000);
}

TEST_CASE("Statistics are bitwise equal for any number of threads") {
  for (const DType dtype : kDTypes) {
    const Tensor tensor = randomTensor(dtype, 300'007, 11);
    const TensorStatistics one = computeStatistics(tensor, 1);
    for (const int threads : {0, 2, 3, 7}) CHECK(sameBits(one, computeStatistics(tensor, threads)));
  }
}

TEST_CASE("A stored boolean that is neither 0 nor 1 counts as one") {
  Tensor tensor = Tensor::zeros(DType::Bool, Shape{20});
  tensor.byteSpan()[3] = std::byte{0xff};
  tensor.byteSpan()[18] = std::byte{2};
  const TensorStatistics s = computeStatistics(tensor);
  CHECK(s.max == 1);
  CHECK(s.l1 == 2);
  CHECK(s.zero == 18);
}
