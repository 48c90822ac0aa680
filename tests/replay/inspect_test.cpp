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

namespace {

template <core::SmallFloat T>
int textsThatDoNotReadBack() {
  int wrong = 0;
  for (unsigned bits = 0; bits < 1u << (8 * sizeof(T)); ++bits) {
    const T value{static_cast<decltype(T::bits)>(bits)};
    const Tensor tensor = Tensor::scalar(value);
    const double number = core::toDouble(value);
    const std::string text = replay::exactElementText(tensor, 0);
    if (std::isnan(number))
      wrong += text != "nan";
    else
      wrong += core::roundTo<T>(std::strtod(text.c_str(), nullptr)).bits != bits;
  }
  return wrong;
}

}  // namespace

TEST_CASE("Every small float is written so shortly that it reads back in its own dtype") {
  CHECK(textsThatDoNotReadBack<core::Float16>() == 0);
  CHECK(textsThatDoNotReadBack<core::Float8E4M3FNUZ>() == 0);
  CHECK(textsThatDoNotReadBack<core::Float8E5M2>() == 0);
  const auto exact = [](double value, DType dtype) {
    return replay::exactElementText(Tensor::scalar(value).cast(dtype), 0);
  };
  CHECK(exact(0.1, DType::Float16) == "0.1");
  CHECK(exact(1.0 / 3, DType::Float16) == "0.3333");
  CHECK(exact(0.1, DType::BFloat16) == "0.1");
  CHECK(exact(1e30, DType::Float16) == "inf");
  CHECK(exact(448, DType::Float8E4M3FN) == "448");
  CHECK(exact(65504, DType::Float16) == "65504");
  CHECK(exact(-0.0, DType::BFloat16) == "-0");
  CHECK(replay::elementText(Tensor::scalar(0.1).cast(DType::Float16), 0) == "0.0999756");
}

TEST_CASE("Integers of any width and complex numbers are written exactly") {
  CHECK(replay::exactElementText(Tensor::scalar(UINT64_MAX), 0) == "18446744073709551615");
  CHECK(replay::elementText(Tensor::scalar(std::int8_t{-128}), 0) == "-128");
  CHECK(replay::elementText(Tensor::scalar(core::Complex64{1.5F, -2}), 0) == "1.5-2j");
  CHECK(replay::exactElementText(Tensor::scalar(core::Complex64{0.1F, 0}), 0) == "0.1+0j");
  CHECK(replay::exactElementText(Tensor::scalar(core::Complex128{kNan, -kInf}), 0) == "nan-infj");
  Tensor stored = Tensor::zeros(DType::Bool, Shape{1});
  stored.byteSpan()[0] = std::byte{2};
  CHECK(replay::elementText(stored, 0) == "true");
}

TEST_CASE("Tensors of every dtype are looked through and compared in it") {
  for (const DType dtype : core::kDTypes) {
    CAPTURE(core::dtypeName(dtype));
    const Tensor a = tensorOf<double>({0, 1, 1, 0}).cast(dtype),
                 b = tensorOf<double>({0, 1, 0, 0}).cast(dtype);
    const replay::Difference difference = replay::compareTensors(a, b, kNever);
    CHECK(difference.different == 1);
    CHECK(difference.first == 2);
    CHECK(difference.maxAbs == 1);
    CHECK(replay::compareTensors(a, a.cast(core::isComplex(dtype) ? dtype : DType::Float64), kNever)
              .different == 0);
    CHECK(replay::compareTensors(a.cast(DType::Complex64), b, kNever).maxAbs == 1);
    const replay::ValueRange range = replay::finiteRange(a, kNever);
    CHECK((range.low == 0 && range.high == 1));
    CHECK(replay::histogramOf(a, range, 2, kNever).bins == std::vector<std::int64_t>{2, 2});
    CHECK(replay::findNonFinite(a, 3, kNever).count() == 0);
  }
  const Tensor half = tensorOf<double>({1, kNan, -kInf, 1e9}).cast(DType::Float16);
  const replay::NonFinite found = replay::findNonFinite(half, 1, kNever);
  CHECK((found.nan == 1 && found.negInf == 1 && found.posInf == 1));
  CHECK(found.first.front().flatIndex == 1);
  CHECK(replay::compareTensors(half, half.clone(), kNever).different == 0);
  const Tensor z = tensorOf<core::Complex64>({{1, 0}, {0, 1}}),
               turned = tensorOf<core::Complex64>({{1, 0}, {0, -1}});
  CHECK(replay::compareTensors(z, turned, kNever).maxAbs == 2);
  CHECK(replay::findNonFinite(tensorOf<core::Complex128>({{0, kNan}}), 1, kNever).nan == 1);
}

TEST_CASE("indexText gives the place of an element") {
  CHECK(replay::indexText(Shape{2, 3, 4}, 23) == "1, 2, 3");
  CHECK(replay::indexText(Shape{}, 0).empty());
}
