#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "core_engine/tensor/float_blocks_internal.h"
#include "core_engine/tensor/statistics.h"

using namespace msdbg::core;

namespace {

std::vector<float> values(std::size_t count, float mean, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(mean, 1);
  std::vector<float> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = i % 7 == 3 ? -0.0f : normal(random);
  return result;
}

template <typename T>
bool sameBits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

Tensor tensorOf(const std::vector<float>& v, Shape shape) { return Tensor::of<float>(std::move(shape), v); }

}  // namespace

TEST_CASE("The kernels of every instruction set give the same bits") {
  const FloatKernels& plain = kPlainFloatKernels;
  for (const FloatKernels* kernels : {avx2FloatKernels(), avx512FloatKernels()}) {
    if (!kernels) continue;
    for (const std::size_t count : {1, 2, 7, 8, 15, 16, 17, 31, 33, 1000, 2047, 2064, 5001, 16383, 16384}) {
      INFO(count);
      const auto x = values(count, 0.5f, count), p = values(count, 0.5f, count + 1);
      const auto n = static_cast<std::int64_t>(count);
      FloatSums a, b;
      plain.sums(x.data(), n, nullptr, a);
      kernels->sums(x.data(), n, p.data(), b);
      a.min += 0.0, a.max += 0.0, b.min += 0.0, b.max += 0.0;  // which zero is the least is left open
      CHECK(sameBits(a, b));
      FloatChange c, d;
      plain.change(x.data(), p.data(), n, 0.5, 1e-3, c);
      kernels->change(x.data(), p.data(), n, 0.5, 1e-3, d);
      CHECK(sameBits(c, d));
      BlockActivation e, f;
      plain.activation(x.data(), n, -0.5f, 0.25f, e);
      kernels->activation(x.data(), n, -0.5f, 0.25f, f);
      CHECK(sameBits(e, f));
      const UnitRuns runs{.inner = 5, .units = 3, .unit = 1, .left = 2};
      std::vector<std::int64_t> active(3), others(3);
      const std::int64_t inRange = plain.units(x.data(), n, -0.5f, 0.25f, runs, active.data());
      CHECK(kernels->units(x.data(), n, -0.5f, 0.25f, runs, others.data()) == inRange);
      CHECK(active == others);
      CHECK(inRange == e.inRange);
      CHECK(active[0] + active[1] + active[2] == e.active);
      CHECK((count < 15 || c.inside > 0));
    }
  }
}

TEST_CASE("Elements that are all negative or all zero are counted as what they are in every tail") {
  for (const FloatKernels* kernels : {&kPlainFloatKernels, avx2FloatKernels(), avx512FloatKernels()})
    for (const std::int64_t count : {1, 7, 8, 9, 15, 16, 17, 100}) {
      if (!kernels) continue;
      for (const float value : {-3.0f, 0.0f, -0.0f, 2.0f}) {
        INFO(count << " of " << value);
        const std::vector<float> x(static_cast<std::size_t>(count), value);
        FloatSums s;
        kernels->sums(x.data(), count, nullptr, s);
        CHECK(s.zero == (value == 0 ? count : 0));
        CHECK(s.negative == (value < 0 ? count : 0));
        CHECK(s.min == value);
        CHECK(s.max == value);
        CHECK(s.sumAbs == std::abs(value) * static_cast<double>(count));
      }
    }
}

TEST_CASE("A float32 deviation is right on both sides of where sums would lose it") {
  for (const float mean : {0.f, 5.f, 7.5f, 8.5f, 20.f, 1e3f, 1e6f}) {
    INFO(mean);
    const auto x = values(50'000, mean, 9);
    long double sum = 0, deviations = 0;
    for (const float v : x) sum += v;
    const long double average = sum / static_cast<long double>(x.size());
    for (const float v : x) deviations += (v - average) * (v - average);
    const double expected = static_cast<double>(std::sqrt(deviations / 49'999));
    CHECK(computeStatistics(tensorOf(x, Shape{50'000})).std == Approx(expected).epsilon(1e-12));
  }
}

TEST_CASE("One not finite element anywhere in a float32 block is found, by sums and by changes") {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()})
    for (const std::size_t at : {0, 5, 16, 99, 100}) {
      auto x = values(101, 0, 4);
      const auto p = x;
      x[at] = bad;
      BlockMoments moments;
      BlockChange change;
      CHECK_FALSE(finiteMoments(x.data(), 101, nullptr, moments));
      CHECK_FALSE(finiteChange(x.data(), p.data(), 101, 1, 1, change));
      CHECK_FALSE(finiteChange(p.data(), x.data(), 101, 1, 1, change));
      CHECK(finiteMoments(p.data(), 101, nullptr, moments));
      CHECK(computeStatistics(tensorOf(x, Shape{101})).nonFinite() == 1);
      CHECK(computeChange(tensorOf(x, Shape{101}), tensorOf(p, Shape{101})).skipped == 1);
    }
}

TEST_CASE("The ends of a range are compared as exactly as in double") {
  const float third = 1.0f / 3, above = std::nextafter(third, 1.0f);
  const std::vector<float> x = {third, above};
  const double between = (static_cast<double>(third) + above) / 2;
  CHECK(floatActivation(x.data(), 2, between, 1).inRange == 1);
  CHECK(floatActivation(x.data(), 2, 0, between).inRange == 1);
  CHECK(floatActivation(x.data(), 2, third, third).inRange == 1);
  CHECK(floatActivation(x.data(), 2, -1e300, 1e300).inRange == 2);
}

TEST_CASE("One pass gives what the single functions give, for any threads") {
  const auto x = values(64 * 37 * 129, 0.1f, 1), p = values(x.size(), 0.2f, 2);
  for (const Shape& shape : {Shape{64, 37, 129}, Shape{64 * 129, 37}, Shape{64 * 37 * 129}}) {
    const Tensor tensor = tensorOf(x, shape), previous = tensorOf(p, shape);
    const TensorStatistics values = computeStatistics(tensor);
    const ChangeStatistics change = computeChange(tensor, previous);
    const ActivationStatistics activation = computeActivation(tensor, -0.5, 0.25);
    for (const int threads : {1, 2, 5}) {
      const ObservationWish all{.previous = &previous, .range = std::pair(-0.5, 0.25)};
      const TensorObservation seen = observeTensor(tensor, all, threads);
      CHECK(sameBits(seen.values.std, values.std));
      CHECK(sameBits(seen.values.mean, values.mean));
      CHECK(seen.values.hash == values.hash);
      CHECK(hashOfBlocks(seen.blocks) == values.hash);
      CHECK(sameBits(*seen.change, change));
      CHECK(sameBits(*seen.activation, activation));
      int calls = 0;
      const std::thread::id caller = std::this_thread::get_id();
      ObservationWish alongside = all;
      alongside.alongside = [&] { calls += std::this_thread::get_id() == caller; };
      const TensorObservation same = observeTensor(tensor, alongside, threads);
      CHECK(calls == 1);
      CHECK(sameBits(same.values.std, values.std));
      CHECK(same.values.hash == values.hash);
      CHECK(sameBits(*same.change, change));
      CHECK(sameBits(*same.activation, activation));
    }
    CHECK_FALSE(observeTensor(tensor, {}).change.has_value());
  }
}

TEST_CASE("What is expected is believed where the hash agrees, and only there") {
  const auto numbers = values(40'000, 0.f, 3);
  const Tensor tensor = tensorOf(numbers, {40'000});
  const TensorObservation seen = observeTensor(tensor, {}, 2);
  TensorStatistics expected = seen.values;
  expected.mean = 77;  // as nothing that is computed would say
  const ObservationWish wish{.expected = &expected};
  const TensorObservation believed = observeTensor(tensor, wish, 2);
  CHECK(believed.values.mean == 77);
  CHECK(believed.blocks == seen.blocks);
  auto changed = numbers;
  changed.back() = std::nextafter(changed.back(), 9.f);
  const Tensor other = tensorOf(changed, {40'000});
  CHECK(sameBits(observeTensor(other, wish, 2).values.mean, observeTensor(other, {}).values.mean));
  CHECK(observeTensor(other, wish, 2).values.hash == hashTensor(other));
  CHECK(observeTensor(tensorOf({numbers.begin(), numbers.end() - 1}, {39'999}), wish).values.count == 39'999);
}
