// The bodies of the tile kernels, compiled in this file for each instruction set alone, must give the same
// bits: the library's clones are made of the same bodies by the same compiler options.
#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <string>

#include "core_engine/cpu/norm_bodies.h"
#include "core_engine/cpu/tile_bodies.h"
#include "tests/cpu/kernel_harness.h"

using namespace msdbg::core;
using namespace msdbg::core::cpu;

namespace {

constexpr std::int64_t kCount = 10007;  // no multiple of a vector: vector loops and their scalar ends meet
using Floats = std::vector<float>;

/// Everything that the bodies compute from two inputs, one after another.
struct Results {
  Floats values;
  std::vector<double> sums;
  std::vector<std::int32_t> indices;
};

struct Inputs {
  Floats a, b, positive;
};

template <typename Op>
MSDBG_INLINE void keepMap(const Floats& x, Results& r) {
  Floats y(x.size());
  mapBody<Op>(x.data(), y.data(), kCount);
  r.values.insert(r.values.end(), y.begin(), y.end());
}
template <typename Op>
MSDBG_INLINE void keepCombined(const Inputs& in, std::int64_t strideA, std::int64_t strideB, Results& r) {
  Floats y(in.a.size());
  combineBody<Op>(in.a.data(), strideA, in.b.data(), strideB, y.data(), kCount);
  r.values.insert(r.values.end(), y.begin(), y.end());
}
template <typename Op>
MSDBG_INLINE void keepCombinations(const Inputs& in, Results& r) {
  keepCombined<Op>(in, 1, 1, r);
  keepCombined<Op>(in, 0, 1, r);
  keepCombined<Op>(in, 1, 0, r);
}

MSDBG_INLINE void elementWise(const Inputs& in, Results& r) {
  keepMap<ReluOf>(in.a, r);
  keepMap<SigmoidOf>(in.a, r);
  keepMap<TanhOf>(in.a, r);
  keepMap<ExpOf>(in.a, r);
  keepMap<LogOf>(in.positive, r);
  keepMap<ErfOf>(in.a, r);
  keepMap<SqrtOf>(in.positive, r);
  keepMap<GeluOf>(in.a, r);
  keepCombinations<GeluGradOf>(in, r);
  keepCombinations<AddOf>(in, r);
  keepCombinations<SubOf>(in, r);
  keepCombinations<MulOf>(in, r);
  keepCombinations<DivOf>(in, r);
  keepCombinations<ReluGradOf>(in, r);
  keepCombinations<SigmoidGradOf>(in, r);
  keepCombinations<TanhGradOf>(in, r);
}

MSDBG_INLINE void sumsAndLines(const Inputs& in, Results& r) {
  Floats y(in.a.size());
  std::vector<double> columns(in.a.size(), 0.5);
  r.sums = {sumBody(in.a.data(), kCount), dotBody(in.a.data(), in.b.data(), kCount), sumBody(in.a.data(), 5)};
  addRowBody(in.a.data(), columns.data(), kCount);
  r.sums.insert(r.sums.end(), columns.begin(), columns.end());
  r.values.push_back(largestBody(in.a.data(), kCount));
  shiftedExpBody(in.a.data(), 3.0f, y.data(), kCount);
  divideBody(y.data(), 7.0f, kCount);
  r.values.insert(r.values.end(), y.begin(), y.end());
  scaledExpBody(in.a.data(), 0.3f, y.data(), kCount);
  r.values.insert(r.values.end(), y.begin(), y.end());
  shiftTwiceBody(in.a.data(), 3.0f, 0.1f, y.data(), kCount);
  r.values.insert(r.values.end(), y.begin(), y.end());
  softmaxGradBody(in.a.data(), in.b.data(), 0.7f, y.data(), kCount);
  r.values.insert(r.values.end(), y.begin(), y.end());
  logSoftmaxGradBody(in.a.data(), in.b.data(), 0.7f, y.data(), kCount);
  r.values.insert(r.values.end(), y.begin(), y.end());
}

MSDBG_INLINE void updatesAndPools(const Inputs& in, Results& r) {
  const SgdSettings settings{0.01, 0.9, 1e-4};
  Floats next(in.a.size()), state(in.a.size()), best(in.a.begin(), in.a.begin() + kCount / 2);
  std::vector<std::int32_t> index(best.size(), -1);
  sgdBody(settings, in.a.data(), in.b.data(), next.data(), kCount);
  r.values.insert(r.values.end(), next.begin(), next.end());
  sgdMomentumBody(settings, in.a.data(), in.b.data(), in.positive.data(), next.data(), state.data(), kCount);
  r.values.insert(r.values.end(), next.begin(), next.end());
  r.values.insert(r.values.end(), state.begin(), state.end());
  poolRowBody<2>(in.b.data(), 7, 2, best.data(), index.data(), kCount / 2);
  poolRowBody<1>(in.b.data(), 9, 1, best.data(), index.data(), kCount / 2);
  r.values.insert(r.values.end(), best.begin(), best.end());
  r.indices = index;
}

MSDBG_INLINE void normalisations(const Inputs& in, Results& r) {
  Floats y(in.a.size()), next(in.a.size()), mean(in.a.size()), square(in.a.size());
  std::vector<double> products(in.a.size(), 0.25), sums(in.a.size(), 0.5);
  const auto keep = [&r](const Floats& values) {
    r.values.insert(r.values.end(), values.begin(), values.end());
  };
  // Of ordinary numbers alone: in a sum over NaNs and infinities the instruction decides which NaN stays.
  r.sums.push_back(squaresBody(in.b.data(), 0.3, kCount));
  r.sums.push_back(centredDotBody(in.b.data(), in.b.data() + 1, 0.3, kCount - 1));
  normalBody(in.a.data(), {0.3f, 1.7f, -2.0f}, y.data(), kCount);
  keep(y);
  normalRowBody(in.a.data(), 0.3f, 1.7f, in.b.data(), in.positive.data(), y.data(), kCount);
  keep(y);
  normalGradBody(in.a.data(), in.b.data(), {1.7f, 0.3f, 0.2f, 0.1f}, y.data(), kCount);
  keep(y);
  addNormalRowBody(in.a.data(), in.b.data(), 0.3, 1.7, products.data(), sums.data(), kCount);
  r.sums.insert(r.sums.end(), products.begin(), products.end());
  r.sums.insert(r.sums.end(), sums.begin(), sums.end());
  const AdamStep step{0.9, 0.999, 1e-8, 0.01, 0.995, 1e-3, 0.4};
  adamBody(step, in.a.data(), in.b.data(), in.b.data(), in.positive.data(), next.data(), mean.data(),
           square.data(), kCount);
  keep(next);
  keep(mean);
  keep(square);
}

MSDBG_INLINE Results everything(const Inputs& in) {
  Results r;
  elementWise(in, r);
  sumsAndLines(in, r);
  updatesAndPools(in, r);
  normalisations(in, r);
  return r;
}

Results plain(const Inputs& in) { return everything(in); }
#if defined(__x86_64__)
__attribute__((target("avx2"))) Results avx2(const Inputs& in) { return everything(in); }
__attribute__((target("avx2,fma"))) Results avx2WithFma(const Inputs& in) { return everything(in); }
__attribute__((target("arch=x86-64-v4"))) Results avx512(const Inputs& in) { return everything(in); }
#endif

/// Ordinary numbers, and with `special` NaN, infinities, signed zeros, extremes and denormals among them.
Inputs makeInputs(bool special) {
  const Tensor a = msdbg::test::numbers({kCount}, 1, 90), b = msdbg::test::numbers({kCount}, 2, 3);
  Inputs in{
      {a.data<float>().begin(), a.data<float>().end()}, {b.data<float>().begin(), b.data<float>().end()}, {}};
  using Limits = std::numeric_limits<float>;
  const float odd[] = {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(),  0.0f,    -0.0f,
                       Limits::max(),       -Limits::max(),     Limits::denorm_min(), -1e-40f, Limits::min()};
  if (special)
    for (std::size_t i = 0; i < in.a.size(); i += 13) in.a[i] = odd[i / 13 % std::size(odd)];
  in.positive = in.a;
  for (float& x : in.positive) x = x < 0 ? -x : x;
  return in;
}

template <typename T>
std::size_t differences(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return a.size() + b.size();
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += std::memcmp(&a[i], &b[i], sizeof(T)) != 0;
  return count;
}

void requireSameBits(const Results& expected, const Results& actual) {
  CHECK(differences(expected.values, actual.values) == 0);
  CHECK(differences(expected.sums, actual.sums) == 0);
  CHECK(differences(expected.indices, actual.indices) == 0);
}

}  // namespace

TEST_CASE("Tile kernels give the same bits on every instruction set") {
#if defined(__x86_64__)
  const bool special = GENERATE(false, true);
  const Inputs in = makeInputs(special);
  const Results expected = plain(in);
  REQUIRE(expected.values.size() > 25 * static_cast<std::size_t>(kCount));
  if (__builtin_cpu_supports("avx2")) requireSameBits(expected, avx2(in));
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    requireSameBits(expected, avx2WithFma(in));
  if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq"))
    requireSameBits(expected, avx512(in));
#else
  WARN("only one instruction set on this machine: nothing to compare");
#endif
}
