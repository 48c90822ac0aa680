#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core_engine/tensor/statistics.h"

using namespace msdbg::core;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor tensorOf(Shape shape, const std::vector<double>& values, DType dtype = DType::Float64) {
  return Tensor::of<double>(std::move(shape), values).cast(dtype);
}
Tensor row(const std::vector<double>& values, DType dtype = DType::Float64) {
  return tensorOf(Shape{static_cast<std::int64_t>(values.size())}, values, dtype);
}

std::vector<double> randomValues(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double& v : values) v = normal(random);
  return values;
}

}  // namespace

TEST_CASE("Change is measured element by element against the previous value") {
  const ChangeStatistics s = computeChange(row({1, -2, 3, 0}), row({1, -1, 5, 0}));
  CHECK(s.meanAbsChange == 0.75);
  CHECK(s.maxAbsChange == 2);
  CHECK(s.meanAbsPrevious == 1.75);
  CHECK(s.outsideTolerance == 2);
  CHECK(s.skipped == 0);
}

TEST_CASE("The tolerance is atol + rtol |previous|, its end included") {
  const double edge = kChangeAtol + kChangeRtol * 0;
  CHECK(computeChange(row({edge}), row({0})).outsideTolerance == 0);
  CHECK(computeChange(row({std::nextafter(edge, 1)}), row({0})).outsideTolerance == 1);
  CHECK(computeChange(row({1000.009}), row({1000})).outsideTolerance == 0);
  CHECK(computeChange(row({1000.011}), row({1000})).outsideTolerance == 1);
}

TEST_CASE("What is not finite is left out of the sums, and counts as skipped and outside") {
  const ChangeStatistics s = computeChange(row({kNaN, 1, kInf, 2, kInf}), row({0, kNaN, kInf, 1, 3}));
  CHECK(s.skipped == 4);
  CHECK(s.outsideTolerance == 5);
  CHECK(s.meanAbsChange == 1);
  CHECK(s.maxAbsChange == 1);
  CHECK(s.meanAbsPrevious == 1);
}

TEST_CASE("An empty tensor and one without finite elements have no change") {
  CHECK(computeChange(row({}), row({})).meanAbsChange == 0);
  const ChangeStatistics s = computeChange(row({kNaN}), row({1}));
  CHECK(s.meanAbsChange == 0);
  CHECK(s.meanAbsPrevious == 0);
}

TEST_CASE("Change of every dtype agrees with plain sums and does not depend on threads") {
  for (const DType dtype :
       {DType::Float32, DType::Float64, DType::Int64, DType::Int32, DType::UInt8, DType::Bool})
    for (const std::size_t count : {std::size_t{5}, std::size_t{16}, std::size_t{100'003}}) {
      const Tensor x = row(randomValues(count, 1), dtype), p = row(randomValues(count, 2), dtype);
      long double change = 0, previous = 0;
      double largest = 0;
      std::int64_t outside = 0;
      for (std::int64_t i = 0; i < x.elements(); ++i) {
        const double d = std::fabs(x.at(i) - p.at(i));
        change += d;
        previous += std::fabs(p.at(i));
        largest = std::fmax(largest, d);
        outside += d > kChangeAtol + kChangeRtol * std::fabs(p.at(i));
      }
      const ChangeStatistics one = computeChange(x, p, 1), three = computeChange(x, p, 3);
      CHECK(one.meanAbsChange == Approx(static_cast<double>(change / count)).epsilon(1e-13));
      CHECK(one.meanAbsPrevious == Approx(static_cast<double>(previous / count)).epsilon(1e-13));
      CHECK(one.maxAbsChange == largest);
      CHECK(one.outsideTolerance == outside);
      CHECK(one.meanAbsChange == three.meanAbsChange);
      CHECK(one.meanAbsPrevious == three.meanAbsPrevious);
    }
}

TEST_CASE("The share in range counts both ends, and NaN is in no range") {
  const Tensor x = row({-1, -0.5, 0, 0.5, 1, kNaN, 2, kInf});
  CHECK(computeActivation(x, -0.5, 1).shareInRange == 0.5);
  CHECK(computeActivation(row({}), 0, 1).shareInRange == 0);
}

TEST_CASE("A unit is a channel, dead when active in fewer than one percent of its elements") {
  // Channel 0 never active, channel 1 active in 1 of 200 elements, channel 2 in 2 of 200 (1 %: alive),
  // channel 3 in all.
  std::vector<double> values(2 * 4 * 10 * 10, -1);
  values[1 * 100 + 37] = 1;
  values[2 * 100 + 5] = values[6 * 100 + 99] = 1;
  for (int i = 0; i < 100; ++i)
    values[static_cast<std::size_t>(3 * 100 + i)] = values[static_cast<std::size_t>(7 * 100 + i)] = 1;
  const Tensor x = tensorOf(Shape{2, 4, 10, 10}, values, DType::Float32);
  for (const int threads : {1, 2, 3, 9}) CHECK(computeActivation(x, 0, 1, threads).shareDeadUnits == 0.5);
}

TEST_CASE("Of a rank-2 tensor the units are the columns") {
  const Tensor x = tensorOf(Shape{2, 3}, {0, 1, -1, /**/ 0, kNaN, 2});
  for (const int threads : {1, 2, 5})
    CHECK(computeActivation(x, 0, 0, threads).shareDeadUnits == Approx(1.0 / 3));
  CHECK(computeActivation(tensorOf(Shape{0, 3}, {}), 0, 0).shareDeadUnits == 0);
  CHECK(computeActivation(row({0, 0}), 0, 0).shareDeadUnits == 1);
}
