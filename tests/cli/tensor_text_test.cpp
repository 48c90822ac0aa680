#include "app/cli/tensor_text.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "replay/slice.h"

namespace msdbg::test {

using core::Shape;
using core::Tensor;

namespace {

Tensor counting(Shape shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  std::iota(values.begin(), values.end(), 0.0f);
  return Tensor::of<float>(std::move(shape), values);
}

// What NumPy prints for numpy.arange(24).reshape(2, 3, 4)[slice].tolist().
std::string sliced(const std::string& slice) {
  const auto result = replay::sliceTensor(counting({2, 3, 4}), slice);
  return result.ok() ? app::tensorJson(*result).dump() : "error: " + result.error().message();
}

}  // namespace

TEST_CASE("Slices give what NumPy gives", "[cli]") {
  CHECK(sliced("1") == "[[12.0,13.0,14.0,15.0],[16.0,17.0,18.0,19.0],[20.0,21.0,22.0,23.0]]");
  CHECK(sliced("0,:,3:5") == "[[3.0],[7.0],[11.0]]");
  CHECK(sliced("-1,-1,-1") == "23.0");
  CHECK(sliced("...,0") == "[[0.0,4.0,8.0],[12.0,16.0,20.0]]");
  CHECK(sliced("0,...") == "[[0.0,1.0,2.0,3.0],[4.0,5.0,6.0,7.0],[8.0,9.0,10.0,11.0]]");
  CHECK(sliced("0,::2,1::2") == "[[1.0,3.0],[9.0,11.0]]");
  CHECK(sliced("0,0,-3:-1") == "[1.0,2.0]");
  CHECK(sliced("0,2:1") == "[]");
  CHECK(sliced("0 , 0 , :2") == "[0.0,1.0]");
}

TEST_CASE("A bad slice names the part and the dimension", "[cli]") {
  CHECK_THAT(sliced("2"), Catch::Contains("'2' for dimension 0") && Catch::Contains("2 elements"));
  CHECK_THAT(sliced("0,x"), Catch::Contains("'x' for dimension 1"));
  CHECK_THAT(sliced("0,0,0,0"), Catch::Contains("4 parts") && Catch::Contains("3 dimensions"));
  CHECK_THAT(sliced("::0"), Catch::Contains("step"));
  CHECK_THAT(sliced("1:2:3:4"), Catch::Contains("A:B"));
  CHECK_THAT(sliced(""), Catch::Contains("''"));
}

TEST_CASE("A small tensor is printed whole, aligned by column", "[cli]") {
  const std::vector<float> values = {1, -22.5, 0.001f, 4};
  CHECK(app::tensorText(Tensor::of<float>({2, 2}, values), 0) == "[[    1 -22.5]\n [0.001     4]]\n");
  CHECK(app::tensorText(Tensor::scalar(2.5f), 2) == "  2.5\n");
  CHECK(app::tensorText(counting({2, 1, 2}), 0) == "[[[0 1]]\n\n [[2 3]]]\n");
}

TEST_CASE("A large tensor is abbreviated to three at each end of a dimension", "[cli]") {
  CHECK(app::tensorText(counting({2000}), 0) == "[   0    1    2 ... 1997 1998 1999]\n");
  const std::string matrix = app::tensorText(counting({100, 100}), 0);
  CHECK(std::count(matrix.begin(), matrix.end(), '\n') == 7);
  CHECK_THAT(matrix, Catch::Contains("[   0    1    2 ...   97   98   99]"));
}

TEST_CASE("Numbers that JSON lacks are strings", "[cli]") {
  const std::vector<double> values = {NAN, INFINITY, -INFINITY, 0.1};
  CHECK(app::tensorJson(Tensor::of<double>({4}, values)).dump() == R"(["nan","inf","-inf",0.1])");
  const std::vector<std::int64_t> large = {INT64_MAX};
  CHECK(app::tensorJson(Tensor::of<std::int64_t>({1}, large)).dump() == "[9223372036854775807]");
}

TEST_CASE("Elements of every dtype are numbers in JSON, complex ones both parts", "[cli]") {
  const auto json = [](const Tensor& tensor) { return app::tensorJson(tensor).dump(); };
  CHECK(json(Tensor::scalar(UINT64_MAX)) == "18446744073709551615");
  CHECK(json(Tensor::scalar(std::int8_t{-3})) == "-3");
  CHECK(json(Tensor::scalar(std::uint8_t{200})) == "200");
  CHECK(json(Tensor::scalar(1.5).cast(core::DType::BFloat16)) == "1.5");
  CHECK(json(Tensor::scalar(1e9).cast(core::DType::Float16)) == "\"inf\"");
  CHECK(json(Tensor::scalar(core::Complex64{1, -INFINITY})) == R"({"real":1.0,"imag":"-inf"})");
  CHECK(json(Tensor::scalar(true)) == "true");
  const std::vector<core::Complex128> values = {{1.5, -2}, {0, 1}};
  CHECK(app::tensorText(Tensor::of<core::Complex128>({2}, values), 0) == "[1.5-2j   0+1j]\n");
}

}  // namespace msdbg::test
