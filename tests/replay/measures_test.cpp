// How far two tensors are apart: against closed forms and NumPy.
#include "replay/diff/measures.h"

#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "replay/npy.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace msdbg;
using core::DType;
using core::Tensor;
using replay::Measures;
using test::floats;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

Measures measure(const Tensor& a, const Tensor& b) { return replay::measureTensors(a, b, {}); }

std::string whereText(const Measures& m) { return replay::spreadText(m.where, m.different, m.elements); }

Tensor filled(core::Shape shape) {
  Tensor t = Tensor::zeros(DType::Float32, std::move(shape));
  return t;
}

/// Where rows from `row` and columns from `column` on differ.
Measures cornerOf(std::int64_t rows, std::int64_t columns, std::int64_t row, std::int64_t column,
                  std::int64_t every = 1) {
  const Tensor a = filled({rows, columns});
  Tensor b = a.clone();
  for (std::int64_t r = row; r < rows; ++r)
    for (std::int64_t c = column; c < columns; c += every)
      b.data<float>()[static_cast<std::size_t>(r * columns + c)] = 1;
  return measure(a, b);
}

}  // namespace

TEST_CASE("Equal tensors of any dtype are equal, with a cosine of one") {
  const double values[] = {0, 1, 1, 1};
  for (const DType dtype : core::kDTypes) {
    CAPTURE(core::dtypeName(dtype));
    const Tensor t = Tensor::of<double>({2, 2}, values).cast(dtype);
    const Measures m = measure(t, t.clone());
    CHECK(m.different == 0);
    CHECK(!m.first);
    CHECK(m.maxAbs == 0);
    CHECK(m.cosine == Approx(1));
    CHECK(m.relativeNorm == 0);
    CHECK((*m.ulps)[0] == 4);
    CHECK(m.magnitude == 1);
  }
}

TEST_CASE("An element that differs is found and measured in every dtype") {
  const double left[] = {0, 1, 1, 0}, right[] = {0, 1, 0, 0};
  for (const DType dtype : core::kDTypes) {
    CAPTURE(core::dtypeName(dtype));
    const Measures m =
        measure(Tensor::of<double>({2, 2}, left).cast(dtype), Tensor::of<double>({2, 2}, right).cast(dtype));
    CHECK(m.different == 1);
    CHECK(m.first == 2);
    CHECK(m.maxAbs == 1);
    CHECK(m.maxRel == 1);
    CHECK(m.cosine == Approx(1 / std::sqrt(2)));
    CHECK(m.relativeNorm == Approx(1 / std::sqrt(2)));
    CHECK(m.share() == 0.25);
  }
}

TEST_CASE("What the difference consists of is counted: NaN, infinities, signs, zeros") {
  const Measures m = measure(floats({8}, {kNan, 1, kInf, kInf, -2, 0.0F, kNan, 3}),
                             floats({8}, {1, kNan, 1, -kInf, 2, -0.0F, kNan, 3}));
  CHECK(m.different == 6);
  CHECK(m.nanOnlyA == 1);
  CHECK(m.nanOnlyB == 1);
  CHECK(m.infinite == 2);
  CHECK(m.otherSign == 1);
  CHECK(m.zeroSign == 1);
  CHECK(m.otherNonFinite());
  CHECK(m.maxAbs == 4);
  CHECK(m.maxAt == 4);
  CHECK(m.maxRel == 2);
}

TEST_CASE("0 and -0 differ in a bit and by nothing") {
  const Measures m = measure(floats({2}, {0.0F, 1}), floats({2}, {-0.0F, 1}));
  CHECK(m.different == 1);
  CHECK(m.maxAbs == 0);
  CHECK(m.zeroSign == 1);
  CHECK(m.maxUlp == 1);
}

TEST_CASE("Distances in ulp are counted by powers of two, subnormal numbers too") {
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  const float one = std::nextafter(1.0F, 2.0F);
  const Measures m = measure(floats({5}, {1, 1, kTiny, 0, 1}), floats({5}, {one, 1, 4 * kTiny, kTiny, 2}));
  CHECK((*m.ulps)[0] == 1);
  CHECK((*m.ulps)[1] == 2);   // next to 1; next to 0
  CHECK((*m.ulps)[2] == 1);   // three of the smallest
  CHECK((*m.ulps)[24] == 1);  // 2^23: from 1 to 2
  CHECK(m.maxUlp == 1U << 23);
  CHECK(replay::ulpText(m) == "1 ulp: 2, 2-3 ulp: 1, 8,388,608-16,777,215 ulp: 1");
}

TEST_CASE("Integers beyond 2^53 are exact, and the ends of a range are as far apart as they are") {
  const std::int64_t big = (std::int64_t{1} << 60) + 1;
  CHECK(measure(test::int64s({1}, {big}), test::int64s({1}, {big - 1})).maxAbs == 1);
  const Measures ends = measure(test::int64s({1}, {INT64_MIN}), test::int64s({1}, {INT64_MAX}));
  CHECK(ends.maxUlp == UINT64_MAX);
  CHECK((*ends.ulps)[64] == 1);
}

TEST_CASE("The largest doubles overflow nothing that is told") {
  const double largest = std::numeric_limits<double>::max();
  const double a[] = {largest, 1}, b[] = {-largest, 1};
  const Measures m = measure(Tensor::of<double>({2}, a), Tensor::of<double>({2}, b));
  CHECK(m.different == 1);
  CHECK(m.otherSign == 1);
  CHECK(std::isnan(m.cosine));
}

TEST_CASE("Two dtypes are compared by value, and in ulp of the smaller one") {
  const Tensor a = floats({3}, {1, 2, 1.0F + 1e-6F});
  const Measures half = measure(a, a.cast(DType::Float16));
  CHECK(half.different == 1);
  CHECK((*half.ulps)[0] == 3);  // what was lost is less than a float16 can say
  CHECK(!measure(a.cast(DType::BFloat16), a.cast(DType::Float16)).ulps);
  CHECK(measure(a.cast(DType::Float64), a).different == 0);
}

TEST_CASE("Tensors without elements, and scalars, can be compared") {
  CHECK(measure(Tensor::zeros(DType::Float32, {0, 3}), Tensor::zeros(DType::Float32, {0, 3})).different == 0);
  const Measures m = measure(Tensor::scalar(1.0F), Tensor::scalar(2.0F));
  CHECK(m.different == 1);
  CHECK(whereText(m) == "everywhere");
}

TEST_CASE("Where the differences lie is said as kernels are written: tails, rows, lanes") {
  CHECK(whereText(cornerOf(131, 8, 128, 0)) ==
        "only in the last 3 of dimension 0 (131, behind its last whole block of 64)");
  CHECK(whereText(cornerOf(8, 100, 0, 96)) ==
        "only in the last 4 of dimension 1 (100, behind its last whole block of 32)");
  CHECK(whereText(cornerOf(10, 64, 0, 3, 16)) == "only at every 16. 3-51 of dimension 1 (64)");
  CHECK(whereText(cornerOf(10, 10, 9, 0)) == "only at 9 of dimension 0 (10, the last)");
  CHECK(whereText(cornerOf(10, 10, 9, 9)) == "at one place");
  CHECK(whereText(cornerOf(4, 4, 0, 0)) == "everywhere");
  Tensor b = filled({2, 2});
  b.data<float>()[0] = b.data<float>()[3] = 1;
  CHECK(whereText(measure(filled({2, 2}), b)) == "scattered");
}

TEST_CASE("Measures over many blocks are those that NumPy gives") {
  if (test::runCommand({"/usr/bin/python3", "-c", "import numpy"}).exitStatus != 0) {
    WARN("skipped: python3-numpy is not installed");
    return;
  }
  const test::TempDir folder;
  constexpr std::int64_t kRows = 301, kColumns = 257;
  for (const DType dtype : {DType::Float32, DType::Float64, DType::Float16, DType::Int32}) {
    CAPTURE(core::dtypeName(dtype));
    Tensor a = Tensor::zeros(DType::Float64, {kRows, kColumns});
    Tensor b = a.clone();
    for (std::int64_t i = 0; i < a.elements(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const auto x = static_cast<double>(i);
      a.data<double>()[at] = 1000 * std::sin(0.37 * x);
      b.data<double>()[at] = a.data<double>()[at] + (i % 3 == 0 ? 2 * std::cos(1.7 * x) : 0);
    }
    a = a.cast(dtype), b = b.cast(dtype);
    REQUIRE(replay::writeNpy(folder / "a.npy", a).ok());
    REQUIRE(replay::writeNpy(folder / "b.npy", b).ok());
    const test::RunResult result = test::runCommand({"/usr/bin/python3", "-c", R"(
import sys, json, numpy as np
a, b = (np.load(f).ravel() for f in sys.argv[1:])
x, y = a.astype('f8'), b.astype('f8')
d = np.abs(x - y)
larger = np.maximum(np.maximum(abs(x), abs(y)), 1e-300)
if a.dtype.kind == 'f':
    bits = {2: np.int16, 4: np.int32, 8: np.int64}[a.dtype.itemsize]
    def place(v):
        i = v.view(bits).astype(object)
        return np.array([k if k >= 0 else -(k & (2 ** (8 * v.dtype.itemsize - 1) - 1)) - 1 for k in i])
    ulp = int(max(abs(place(a) - place(b))))
else:
    ulp = int(d.max())
print(json.dumps([int((a != b).sum()), d.max(), int(d.argmax()), (d / larger).max(), d.mean(),
                  float(x @ y / np.linalg.norm(x) / np.linalg.norm(y)),
                  float(np.linalg.norm(x - y) / np.linalg.norm(x)), ulp]))
)",
                                                     folder / "a.npy", folder / "b.npy"});
    CAPTURE(result.err);
    const auto expected = nlohmann::json::parse(result.out);
    const Measures m = measure(a, b);
    CHECK(m.different == expected[0].get<std::int64_t>());
    CHECK(m.maxAbs == expected[1].get<double>());
    CHECK(m.maxAt == expected[2].get<std::int64_t>());
    CHECK(m.maxRel == expected[3].get<double>());
    CHECK(m.meanAbs == Approx(expected[4].get<double>()).epsilon(1e-12));
    CHECK(m.cosine == Approx(expected[5].get<double>()).epsilon(1e-12));
    CHECK(m.relativeNorm == Approx(expected[6].get<double>()).epsilon(1e-12));
    CHECK(m.maxUlp == expected[7].get<std::uint64_t>());
  }
}
