#include "core_engine/tensor/element_types.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "core_engine/tensor/dtype.h"
#include "core_engine/train/npy.h"
#include "tests/support/run_command.h"

using namespace msdbg;
using namespace msdbg::core;

namespace {

/// What IEEE 754 says of a pattern with so many bits of exponent and fraction.
double decoded(unsigned pattern, int exponentBits, int fractionBits) {
  const int largest = (1 << exponentBits) - 1, bias = largest / 2;
  const int exponent = static_cast<int>(pattern >> fractionBits) & largest;
  const auto fraction = static_cast<double>(pattern & ((1u << fractionBits) - 1));
  const double sign = pattern >> (exponentBits + fractionBits) & 1 ? -1 : 1;
  if (exponent == largest && fraction != 0) return std::numeric_limits<double>::quiet_NaN();
  if (exponent == largest) return sign * std::numeric_limits<double>::infinity();
  const double significand = std::ldexp(fraction, -fractionBits) + (exponent > 0 ? 1 : 0);
  return sign * std::ldexp(significand, std::max(exponent, 1) - bias);
}

bool sameNumber(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

/// Patterns whose numbers are not the formula's, or do not round to themselves.
template <SmallFloat T>
int wrongPatterns(int exponentBits, int fractionBits) {
  int wrong = 0;
  for (unsigned pattern = 0; pattern < 1u << (8 * sizeof(T)); ++pattern) {
    const T x{static_cast<decltype(T::bits)>(pattern)};
    const double number = toDouble(x);
    wrong += !sameNumber(number, decoded(pattern, exponentBits, fractionBits));
    wrong += !std::isnan(number) && roundTo<T>(number).bits != pattern;
    wrong += std::isnan(number) && !std::isnan(toDouble(roundTo<T>(number)));
  }
  return wrong;
}

const Arrays& reference() {
  static const Arrays arrays = readNpz(test::sourceDir() / "tests/data/dtypes/small_floats.npz").orThrow();
  return arrays;
}

const Tensor& array(const std::string& name) {
  return std::ranges::find(reference(), name, &std::pair<std::string, Tensor>::first)->second;
}

/// Which of NumPy's and ml_dtypes' roundings ours differ from.
template <SmallFloat T>
std::vector<double> wrongRoundings(const std::string& name) {
  const auto from = array(name + "_from").data<double>();
  const auto to = array(name + "_to").data<decltype(T::bits)>();
  std::vector<double> wrong;
  for (std::size_t i = 0; i < from.size(); ++i)
    if (roundTo<T>(from[i]).bits != to[i]) wrong.push_back(from[i]);
  return wrong;
}

/// Numbers of the 256 patterns against those of ml_dtypes, and that each rounds to itself.
template <SmallFloat T>
int wrongNumbers(const std::string& name) {
  const auto numbers = array(name).data<float>();
  int wrong = 0;
  for (std::size_t pattern = 0; pattern < 256; ++pattern) {
    const double number = toDouble(T{static_cast<std::uint8_t>(pattern)});
    wrong += !sameNumber(number, static_cast<double>(numbers[pattern]));
    wrong += !std::isnan(number) && roundTo<T>(number).bits != pattern;
  }
  return wrong;
}

}  // namespace

TEST_CASE(
    "All 65,536 patterns of float16 and of bfloat16 are the numbers that IEEE 754 says, and round to "
    "themselves") {
  CHECK(wrongPatterns<Float16>(5, 10) == 0);
  CHECK(wrongPatterns<BFloat16>(8, 7) == 0);
  CHECK(wrongPatterns<Float8E5M2>(5, 2) == 0);
}

TEMPLATE_TEST_CASE("Many small floats become float32 as each does, wherever the loop ends", "", Float16,
                   BFloat16, Float8E4M3FN, Float8E5M2FNUZ) {
  constexpr std::size_t kPatterns = std::size_t{1} << 8 * sizeof(TestType);
  std::vector<TestType> all(kPatterns);
  for (std::size_t i = 0; i < kPatterns; ++i) all[i].bits = static_cast<decltype(TestType::bits)>(i);
  for (const std::size_t first : {0, 1, 7, 37}) {  // rests of every length that a register leaves
    std::vector<float> floats(kPatterns - first);
    toFloats(all.data() + first, static_cast<std::int64_t>(floats.size()), floats.data());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < floats.size(); ++i) {
      const float alone = toFloat(all[first + i]);
      wrong += std::isnan(alone)
                   ? !std::isnan(floats[i])
                   : std::bit_cast<std::uint32_t>(alone) != std::bit_cast<std::uint32_t>(floats[i]);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("All patterns of the 8-bit floats are the numbers that ml_dtypes gives") {
  CHECK(wrongNumbers<Float8E4M3FN>("float8_e4m3fn") == 0);
  CHECK(wrongNumbers<Float8E4M3FNUZ>("float8_e4m3fnuz") == 0);
  CHECK(wrongNumbers<Float8E5M2>("float8_e5m2") == 0);
  CHECK(wrongNumbers<Float8E5M2FNUZ>("float8_e5m2fnuz") == 0);
}

TEST_CASE(
    "Numbers round as NumPy and ml_dtypes round them: to the nearest, ties to even, too large ones to Inf or "
    "NaN") {
  CHECK(wrongRoundings<Float16>("float16").empty());
  CHECK(wrongRoundings<BFloat16>("bfloat16").empty());
  CHECK(wrongRoundings<Float8E4M3FN>("float8_e4m3fn").empty());
  CHECK(wrongRoundings<Float8E4M3FNUZ>("float8_e4m3fnuz").empty());
  CHECK(wrongRoundings<Float8E5M2>("float8_e5m2").empty());
  CHECK(wrongRoundings<Float8E5M2FNUZ>("float8_e5m2fnuz").empty());
}

TEST_CASE("A double rounds to 16 bits once, not by way of float32") {
  // Just above the middle of 1 and its neighbour, by less than float32 can tell.
  CHECK(roundTo<Float16>(1 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40)).bits == 0x3c01);
  CHECK(roundTo<Float16>(1 + std::ldexp(1.0, -11)).bits == 0x3c00);
  CHECK(roundTo<BFloat16>(1 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40)).bits == 0x3f81);
  CHECK(roundTo<BFloat16>(-1 - std::ldexp(1.0, -8)).bits == 0xbf80);
  CHECK(roundTo<Float16>(1e-300).bits == 0);
  CHECK(roundTo<Float16>(-1e-300).bits == 0x8000);
  CHECK(roundTo<BFloat16>(1e300).bits == 0x7f80);
}

template <typename T>
std::size_t wrongInLoops(const std::vector<float>& numbers) {
  std::vector<T> all(numbers.size());
  roundAll(numbers.data(), static_cast<std::int64_t>(numbers.size()), all.data());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    wrong += all[i].bits != roundTo<T>(static_cast<double>(numbers[i])).bits;
  return wrong;
}

TEST_CASE("Many float32 become 16 bits as each does: every upper half, with lower ones around the middle") {
  std::vector<float> numbers;
  for (std::uint32_t upper = 0; upper < 1u << 16; ++upper)
    for (const std::uint32_t lower :
         {0x0000u, 0x0001u, 0x0fffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      numbers.push_back(std::bit_cast<float>(upper << 16 | lower));
  CHECK(wrongInLoops<BFloat16>(numbers) == 0);
  CHECK(wrongInLoops<Float16>(numbers) == 0);
}

TEST_CASE("The modulus of a complex number is NaN where a part is, else Inf where a part is") {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(),
                   kInf = std::numeric_limits<double>::infinity();
  CHECK(modulus({3, -4}) == 5);
  CHECK(modulus({1e300, 1e300}) == Approx(std::sqrt(2) * 1e300));
  CHECK(modulus({-kInf, 1}) == kInf);
  CHECK(std::isnan(modulus({kNaN, kInf})));
  CHECK(toDouble(Complex64{0, -2}) == 2);
}
