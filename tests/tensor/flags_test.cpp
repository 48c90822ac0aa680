// Flags against the statistics of the same values.
#include "core_engine/tensor/flags.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "tests/support/sampling.h"

using namespace msdbg::core;

namespace {

bool same(const TensorStatistics& flags, const TensorStatistics& all) {
  return std::tie(flags.count, flags.nan, flags.posInf, flags.negInf) ==
         std::tie(all.count, all.nan, all.posInf, all.negInf);
}

Tensor drawn(std::mt19937_64& random, std::int64_t count, DType dtype) {
  std::normal_distribution<double> normal(0, 3);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& v : values) v = normal(random);
  return Tensor::of<double>(Shape{count}, values).cast(dtype);
}

// Any bytes are a value of a floating dtype; those of NaN, Inf and the numbers next to them are rare.
void scatter(std::mt19937_64& random, Tensor& tensor) {
  const std::size_t size = dtypeSize(tensor.dtype());
  const auto count = static_cast<std::size_t>(tensor.elements());
  auto* bytes = static_cast<std::byte*>(tensor.raw());
  for (int i = 0; i < 3 && count > 0; ++i) {
    std::byte* element = bytes + random() % count * size;
    for (std::size_t b = 0; b < size; ++b)
      element[b] = random() % 3 == 0   ? std::byte{0x7f}
                   : random() % 3 == 0 ? std::byte{0xff}
                                       : std::byte{0x80};
  }
}

}  // namespace

TEST_CASE("Flags count what statistics count, of every dtype, size and number of threads") {
  std::mt19937_64 random(msdbg::test::drawnSeed("flags"));
  for (const DType dtype : kDTypes) {
    for (const std::int64_t count : {0, 1, 3, 17, 1000, 16'384, 16'385, 300'001}) {
      Tensor x = drawn(random, count, dtype);
      for (const bool scattered : {false, true}) {
        if (scattered && !mayBeNonFinite(dtype)) continue;
        if (scattered) scatter(random, x);
        CAPTURE(dtypeName(dtype), count, scattered);
        const TensorStatistics all = computeStatistics(x), flags = flagsOf(x, 2);
        CHECK(same(flags, all));
        CHECK(same(flagsFrom(all), all));
        CHECK(isFlags(flags));
        CHECK_FALSE(isFlags(all));
        CHECK((flags.zero == -1 && flags.negative == -1 && flags.positive == -1));
        CHECK((std::isnan(flags.min) && std::isnan(flags.mean) && std::isnan(flags.std)));
        CHECK(flags.hash == Hash128());
      }
    }
  }
}

TEST_CASE("Flags see NaN and Inf at every place, and no number next to them") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (std::int64_t place = 0; place < 70; ++place) {
    for (const float value : {kInf, -kInf, std::nanf(""), std::numeric_limits<float>::max(),
                              std::numeric_limits<float>::lowest()}) {
      for (const DType dtype : {DType::Float32, DType::Float64, DType::BFloat16}) {
        std::vector<double> values(70, 1.0);
        values[static_cast<std::size_t>(place)] = value;
        const Tensor x = Tensor::of<double>(Shape{70}, values).cast(dtype);
        CAPTURE(place, value, dtypeName(dtype));
        CHECK(flagsOf(x).nonFinite() == (std::isfinite(x.at(place)) ? 0 : 1));
      }
    }
  }
}
