#include "core_engine/base/vec_math.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/cpu/kernel_harness.h"

using namespace msdbg::core;
using msdbg::test::ulps;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// The largest error in ulp against `exact` (libm in double) over every 509th float32 bit pattern, both
/// signs.
template <typename F, typename G>
double worst(const F& f, const G& exact) {
  double largest = 0;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 509) {
    const float x = floatFromBits(static_cast<std::uint32_t>(bits));
    const double error = ulps(f(x), exact(static_cast<double>(x)));
    if (error > largest) largest = error;
  }
  return largest;
}

}  // namespace

TEST_CASE("vecExp is within 2 ulp of libm over the whole range of float32") {
  CHECK(worst([](float x) { return vecExp(x); }, [](double x) { return std::exp(x); }) <= 2);
}
TEST_CASE("vecLog is within 2 ulp of libm over the whole range of float32") {
  CHECK(worst([](float x) { return vecLog(x); }, [](double x) { return std::log(x); }) <= 2);
}
TEST_CASE("vecErf and Gelu's share of the normal distribution are within 2e-7 of libm") {
  const auto furthest = [](const auto& f, const auto& exact) {
    double largest = 0;
    for (double x = -12; x <= 12; x += 1e-4) {
      const float at = static_cast<float>(x);
      largest = std::max(largest, std::abs(static_cast<double>(f(at)) - exact(static_cast<double>(at))));
    }
    return largest;
  };
  const auto normal = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  CHECK(furthest([](float x) { return vecErf(x); }, [](double x) { return std::erf(x); }) <= 2e-7);
  CHECK(furthest([](float x) { return vecNormal(x).below; }, normal) <= 2e-7);
  CHECK(furthest([](float x) { return vecNormal(x).density; },
                 [](double x) { return std::exp(-x * x / 2) / std::sqrt(2 * M_PI); }) <= 2e-7);
}
TEST_CASE("vecErf and vecGelu keep signs, infinities and NaN") {
  CHECK(vecErf(kInf) == 1.0f);
  CHECK(vecErf(-kInf) == -1.0f);
  CHECK(std::isnan(vecErf(kNan)));
  CHECK(vecGelu(kInf) == kInf);
  CHECK(vecGelu(-20.0f) == 0.0f);
  CHECK(std::isnan(vecGelu(kNan)));
  CHECK(vecGeluSlope(20.0f) == 1.0f);
}
TEST_CASE("vecTanh is within 3 ulp of libm over the whole range of float32") {
  CHECK(worst([](float x) { return vecTanh(x); }, [](double x) { return std::tanh(x); }) <= 3);
}
TEST_CASE("vecSigmoid is within 3 ulp of its definition over the whole range of float32") {
  CHECK(worst([](float x) { return vecSigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }) <= 3);
}
TEST_CASE("vecExpMinusOne is within 3 ulp of expm1 up to the polynomial's end and absolutely close beyond") {
  double near = 0, far = 0;
  for (float x = -0.34f; x <= 0.34f; x += 1.3e-6f)
    near = std::max(near, ulps(vecExpMinusOne(x), std::expm1(static_cast<double>(x))));
  for (float x = -20; x < 5; x += 1e-4f)
    far = std::max(far, std::abs(vecExpMinusOne(x) / std::expm1(static_cast<double>(x)) - 1));
  CHECK(near <= 3);
  CHECK(far <= 1e-6);
}

TEST_CASE("Vector functions treat NaN, infinities and signed zeros as C does") {
  CHECK(std::isnan(vecExp(kNan)));
  CHECK(std::isnan(vecLog(kNan)));
  CHECK(std::isnan(vecTanh(kNan)));
  CHECK(std::isnan(vecSigmoid(kNan)));
  CHECK(vecExp(kInf) == kInf);
  CHECK(vecExp(-kInf) == 0.0f);
  CHECK(vecLog(kInf) == kInf);
  CHECK(vecLog(0.0f) == -kInf);
  CHECK(vecLog(-0.0f) == -kInf);
  CHECK(std::isnan(vecLog(-1.0f)));
  CHECK(vecTanh(kInf) == 1.0f);
  CHECK(vecTanh(-kInf) == -1.0f);
  CHECK(std::signbit(vecTanh(-0.0f)));
  CHECK(vecSigmoid(kInf) == 1.0f);
  CHECK(vecSigmoid(-kInf) == 0.0f);
}
TEST_CASE("Vector functions are exact where the result is") {
  CHECK(vecExp(0.0f) == 1.0f);
  CHECK(vecExp(-0.0f) == 1.0f);
  CHECK(vecLog(1.0f) == 0.0f);
  CHECK(vecTanh(0.0f) == 0.0f);
  CHECK(vecSigmoid(0.0f) == 0.5f);
}
TEST_CASE("vecExp reaches the largest and the smallest float32") {
  CHECK(vecExp(88.7228f) > 3.4e38f);
  CHECK(vecExp(88.7228f) < kInf);
  CHECK(vecExp(88.7229f) == kInf);
  CHECK(vecExp(-103.2f) == std::numeric_limits<float>::denorm_min());
  CHECK(vecExp(-104.0f) == 0.0f);
}
