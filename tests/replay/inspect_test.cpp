#include "replay/inspect.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>

using namespace msdbg;
using core::DType;
using core::Shape;
using core::Tensor;

namespace {

const core::CancelToken kNever;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <typename T>
Tensor tensorOf(std::vector<T> values) {
  return Tensor::of<T>(Shape{static_cast<std::int64_t>(values.size())}, values);
}

}  // namespace

TEST_CASE("findNonFinite counts all and lists the first ones") {
  const Tensor tensor = tensorOf<double>({1, kNan, -kInf, 0, kInf, kNan});
  const replay::NonFinite found = replay::findNonFinite(tensor, 3, kNever);
  CHECK(found.nan == 2);
  CHECK(found.posInf == 1);
  CHECK(found.negInf == 1);
  REQUIRE(found.first.size() == 3);
  CHECK(found.first[0].flatIndex == 1);
  CHECK(std::isnan(found.first[0].value));
  CHECK(found.first[1].value == -kInf);
  CHECK(found.first[2].flatIndex == 4);
  CHECK(replay::findNonFinite(tensorOf<std::int64_t>({1, 2}), 3, kNever).count() == 0);
}

TEST_CASE("histogramOf puts every finite value into one bin, the greatest into the last") {
  const Tensor tensor = tensorOf<float>(
      {0, 1, 2, 3, 4, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()});
  const replay::ValueRange range = replay::finiteRange(tensor, kNever);
  CHECK(range.low == 0);
  CHECK(range.high == 4);
  const replay::Histogram histogram = replay::histogramOf(tensor, range, 4, kNever);
  CHECK(histogram.bins == std::vector<std::int64_t>{1, 1, 1, 2});
  CHECK(histogram.zero == 1);
  CHECK(histogram.nan == 1);
  CHECK(histogram.posInf == 1);
}

TEST_CASE("histogramOf works for equal, huge and no finite values") {
  const Tensor equal = tensorOf<double>({7, 7, 7});
  CHECK(replay::histogramOf(equal, replay::finiteRange(equal, kNever), 4, kNever).bins[0] == 3);
  const double most = std::numeric_limits<double>::max();
  const Tensor huge = tensorOf<double>({-most, 0, most});
  CHECK(replay::histogramOf(huge, replay::finiteRange(huge, kNever), 2, kNever).bins ==
        std::vector<std::int64_t>{1, 2});
  const Tensor none = tensorOf<double>({kNan});
  CHECK(replay::finiteRange(none, kNever).empty());
  CHECK(replay::histogramOf(none, replay::finiteRange(none, kNever), 4, kNever).bins.empty());
}

TEST_CASE(
    "compareTensors takes equal NaN and infinities for equal and finds the greatest finite difference") {
  const Tensor a = tensorOf<double>({1, kNan, kInf, 5, kNan, 2});
  const Tensor b = tensorOf<double>({1, kNan, kInf, 2, 0, 6});
  const replay::Difference difference = replay::compareTensors(a, b, kNever);
  CHECK(difference.different == 3);
  CHECK(difference.first == 3);
  CHECK(difference.maxAbs == 4);
  CHECK(difference.maxAt == 5);
  CHECK(replay::compareTensors(a, a, kNever).different == 0);
  // Beyond what a double tells apart.
  const std::int64_t big = (std::int64_t{1} << 53) + 1;
  CHECK(replay::compareTensors(tensorOf<std::int64_t>({big}), tensorOf<std::int64_t>({big - 1}), kNever)
            .different == 1);
}

TEST_CASE("Elements are written short for people and so that they read back") {
  const Tensor tensor = tensorOf<float>({0.1F, 1.0F / 3, std::numeric_limits<float>::quiet_NaN()});
  CHECK(replay::elementText(tensor, 1) == "0.333333");
  CHECK(replay::exactElementText(tensor, 0) == "0.1");
  CHECK(std::strtof(replay::exactElementText(tensor, 1).c_str(), nullptr) == 1.0F / 3);
  CHECK(replay::elementText(tensor, 2) == "nan");
  const Tensor negative = tensorOf<float>({std::copysign(std::numeric_limits<float>::quiet_NaN(), -1.0F)});
  CHECK(replay::elementText(negative, 0) == "nan");
  CHECK(replay::exactElementText(negative, 0) == "nan");
  const std::int64_t big = (std::int64_t{1} << 53) + 1;
  CHECK(replay::exactElementText(tensorOf<std::int64_t>({big}), 0) == "9007199254740993");
}

TEST_CASE("indexText gives the place of an element") {
  CHECK(replay::indexText(Shape{2, 3, 4}, 23) == "1, 2, 3");
  CHECK(replay::indexText(Shape{}, 0).empty());
}
