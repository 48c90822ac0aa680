// Statistics of the dtypes that nothing is computed in. tests/tensor/statistics_test.cpp compares those of
// all dtypes with the definitions.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core_engine/tensor/statistics.h"

using namespace msdbg::core;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
constexpr DType kSmall[] = {DType::Float16,        DType::BFloat16,   DType::Float8E4M3FN,
                            DType::Float8E4M3FNUZ, DType::Float8E5M2, DType::Float8E5M2FNUZ,
                            DType::Int8,           DType::UInt16};

Tensor row(const std::vector<double>& values, DType dtype) {
  return Tensor::of<double>(Shape{static_cast<std::int64_t>(values.size())}, values).cast(dtype);
}

Tensor random(Shape shape, DType dtype, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal(0, 3);
  std::vector<double> values(static_cast<std::size_t>(shape.elements()));
  for (double& v : values) v = normal(generator);
  return Tensor::of<double>(std::move(shape), values).cast(dtype);
}

template <typename T>
Tensor complexRow(const std::vector<T>& values) {
  return Tensor::of<T>(Shape{static_cast<std::int64_t>(values.size())}, values);
}

}  // namespace

TEST_CASE("Statistics of small numbers are those of the float32 that they are, hash aside") {
  for (const DType dtype : kSmall) {
    CAPTURE(dtypeName(dtype));
    const Tensor x = random({64, 60}, dtype, 1), previous = random({64, 60}, dtype, 2);
    const Tensor wide = x.cast(DType::Float32), widePrevious = previous.cast(DType::Float32);
    const TensorStatistics a = computeStatistics(x), b = computeStatistics(wide);
    CHECK(std::tie(a.count, a.zero, a.negative, a.positive) ==
          std::tie(b.count, b.zero, b.negative, b.positive));
    CHECK(std::tie(a.min, a.max, a.mean, a.meanAbs, a.std, a.l1, a.l2) ==
          std::tie(b.min, b.max, b.mean, b.meanAbs, b.std, b.l1, b.l2));
    CHECK(a.hash == hashBytes(x.byteSpan()));
    const ChangeStatistics c = computeChange(x, previous), d = computeChange(wide, widePrevious);
    CHECK(std::tie(c.meanAbsChange, c.maxAbsChange, c.meanAbsPrevious, c.outsideTolerance, c.skipped) ==
          std::tie(d.meanAbsChange, d.maxAbsChange, d.meanAbsPrevious, d.outsideTolerance, d.skipped));
    const ActivationStatistics e = computeActivation(x, -1, 1), f = computeActivation(wide, -1, 1);
    CHECK(std::tie(e.shareInRange, e.shareDeadUnits) == std::tie(f.shareInRange, f.shareDeadUnits));
  }
}

TEST_CASE("Change and activation of small numbers agree with float32 beyond a block, for units of any size") {
  for (const DType dtype : {DType::Float16, DType::Float8E5M2, DType::Int16})
    for (const Shape& shape : {Shape{3, 70'001}, Shape{300, 7, 50}, Shape{2, 3, 40'000}}) {
      CAPTURE(dtypeName(dtype), shape.text());
      const Tensor x = random(shape, dtype, 3), previous = random(shape, dtype, 4);
      const Tensor wide = x.cast(DType::Float32), widePrevious = previous.cast(DType::Float32);
      const ChangeStatistics c = computeChange(x, previous), d = computeChange(wide, widePrevious);
      CHECK(c.outsideTolerance == d.outsideTolerance);
      CHECK(c.maxAbsChange == d.maxAbsChange);
      CHECK(c.meanAbsChange == Approx(d.meanAbsChange).epsilon(1e-12));
      const ActivationStatistics e = computeActivation(x, -1, 1, 2), f = computeActivation(wide, -1, 1);
      CHECK(e.shareInRange == f.shareInRange);
      CHECK(e.shareDeadUnits == f.shareDeadUnits);
    }
}

TEST_CASE("NaN and Inf of small floats are counted apart") {
  const TensorStatistics s = computeStatistics(row({1, kNaN, kInf, -kInf, -2, 0}, DType::Float16));
  CHECK(std::tuple(s.nan, s.posInf, s.negInf, s.zero, s.negative, s.positive) ==
        std::tuple(1, 1, 1, 1, 1, 1));
  CHECK(s.min == -2);
  CHECK(s.mean == Approx(-1.0 / 3));
  CHECK(computeStatistics(row({1, 1e9}, DType::Float8E4M3FN)).nan == 1);  // it has no Inf
}

TEST_CASE("The ends of the integers are exact as far as a double is") {
  const auto of = [](auto value) { return computeStatistics(Tensor::scalar(value)); };
  CHECK(of(std::int8_t{-128}).min == -128);
  CHECK(of(std::uint32_t{4'294'967'295}).max == 4'294'967'295.0);
  CHECK(of(std::uint16_t{65'535}).mean == 65'535);
  CHECK(of(std::numeric_limits<std::uint64_t>::max()).max == std::ldexp(1.0, 64));  // rounded
  CHECK(of(std::uint64_t{9'007'199'254'740'993}).max == 9'007'199'254'740'992.0);
}

TEST_CASE("Statistics of complex numbers are those of their moduli, and a phase that turns is a change") {
  const Tensor x = complexRow<Complex64>({{3, 4}, {0, 0}, {-5, 12}, {kNaN, kInf}, {1, -kInf}});
  const TensorStatistics s = computeStatistics(x);
  CHECK(std::tuple(s.count, s.nan, s.posInf, s.negInf, s.zero, s.negative, s.positive) ==
        std::tuple(5, 1, 1, 0, 1, 0, 2));
  CHECK(std::tuple(s.min, s.max, s.mean, s.meanAbs, s.l1) == std::tuple(0.0, 13.0, 6.0, 6.0, 18.0));
  CHECK(s.l2 == Approx(std::sqrt(25 + 169)));
  CHECK(s.std == Approx(std::sqrt((36 + 1 + 49) / 2.0)));
  const ChangeStatistics c = computeChange(complexRow<Complex128>({{1, 0}, {0, 1}, {kNaN, 0}}),
                                           complexRow<Complex128>({{1, 0}, {0, -1}, {0, 0}}));
  CHECK(std::tuple(c.maxAbsChange, c.meanAbsChange, c.meanAbsPrevious) == std::tuple(2.0, 1.0, 1.0));
  CHECK(std::tuple(c.outsideTolerance, c.skipped) == std::tuple(2, 1));
}

TEST_CASE("Statistics of every dtype that is observed block by block are those of the whole") {
  for (const DType dtype : kDTypes) {
    CAPTURE(dtypeName(dtype));
    const Tensor x = random({50'000}, dtype, 5), previous = random({50'000}, dtype, 6);
    BlockwiseObservation observation(x);
    for (std::size_t i = 0; i < observation.blocks(); ++i)
      observation.add(i, previous.byteSpan().data() + i * kBlockBytes);
    const TensorObservation seen = observation.finish();
    const TensorStatistics s = computeStatistics(x);
    CHECK(seen.values.hash == s.hash);
    CHECK(std::tie(seen.values.mean, seen.values.std) == std::tie(s.mean, s.std));
    CHECK(seen.change->meanAbsChange == computeChange(x, previous).meanAbsChange);
  }
}
