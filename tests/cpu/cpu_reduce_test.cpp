#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/cpu/kernel_harness.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

using Ints = std::vector<std::int64_t>;
struct ReduceCase {
  Shape x;
  Ints axes;
};
const ReduceCase kCases[] = {
    {{1}, {}},
    {{17}, {0}},
    {{100003}, {}},
    {{5, 7}, {0}},
    {{5, 7}, {1}},
    {{5, 7}, {-1}},
    {{3, 4, 5}, {1}},
    {{3, 4, 5}, {0, 2}},
    {{3, 4, 5}, {0, 1, 2}},
    {{2, 3, 4, 5}, {0, 2, 3}},
    {{2, 3, 4, 5}, {1, 3}},
    {{64, 48, 4, 4}, {0, 2, 3}},
    {{64, 1024}, {0}},
    {{3, 20000}, {1}},
    {{1, 1, 1}, {1}},
    {{2, 3, 1, 300}, {0, 2}},
};

/// For each element of x, the result it belongs to.
Ints owners(const ReduceCase& c) {
  std::vector<bool> reduced(c.x.rank(), c.axes.empty());
  for (std::int64_t a : c.axes)
    reduced[static_cast<std::size_t>(a < 0 ? a + static_cast<std::int64_t>(c.x.rank()) : a)] = true;
  Ints owner(static_cast<std::size_t>(c.x.elements()));
  for (std::int64_t i = 0; i < c.x.elements(); ++i) {
    std::int64_t rest = i, index = 0, stride = 1;
    for (std::size_t d = c.x.rank(); d-- > 0; rest /= c.x[d]) {
      if (reduced[d]) continue;
      index += rest % c.x[d] * stride;
      stride *= c.x[d];
    }
    owner[static_cast<std::size_t>(i)] = index;
  }
  return owner;
}

std::vector<double> sums(const Tensor& x, const Ints& owner, std::int64_t results) {
  std::vector<double> sum(static_cast<std::size_t>(results), 0.0);
  for (std::size_t i = 0; i < owner.size(); ++i)
    sum[static_cast<std::size_t>(owner[i])] += x.at(static_cast<std::int64_t>(i));
  return sum;
}

Attributes attributesOf(const ReduceCase& c, bool keepdims = true) {
  Attributes a{{"keepdims", std::int64_t{keepdims}}};
  if (!c.axes.empty()) a["axes"] = c.axes;
  return a;
}

}  // namespace

TEST_CASE("ReduceSum and ReduceMean are the rounded double sums for any axes") {
  for (const ReduceCase& c : kCases) {
    CAPTURE(c.x.text(), c.axes);
    const Tensor x = numbers(c.x, 1);
    const Tensor sum = fast({"ReduceSum", {x}, attributesOf(c)}),
                 mean = fast({"ReduceMean", {x}, attributesOf(c, false)});
    const std::vector<double> expected = sums(x, owners(c), sum.elements());
    const double count = static_cast<double>(x.elements()) / static_cast<double>(sum.elements());
    for (std::int64_t i = 0; i < sum.elements(); ++i) {
      CHECK(ulps(static_cast<float>(sum.at(i)), expected[static_cast<std::size_t>(i)]) <= 0.51);
      CHECK(ulps(static_cast<float>(mean.at(i)), expected[static_cast<std::size_t>(i)] / count) <= 0.51);
    }
  }
}

TEST_CASE("A sum keeps what float32 accumulation would lose") {
  Tensor x(DType::Float32, {100001});
  for (float& v : x.data<float>()) v = 1.0f;
  x.data<float>()[0] = 1e8f;
  CHECK(fast({"ReduceSum", {x}}).at(0) == static_cast<double>(static_cast<float>(1e8 + 1e5)));
}

TEST_CASE("NaN and infinities reach the sums they belong to and no other") {
  Tensor x = numbers({4, 33}, 1);
  x.data<float>()[33 + 32] = std::numeric_limits<float>::quiet_NaN();
  x.data<float>()[66 + 5] = std::numeric_limits<float>::infinity();
  const Tensor rows = fast({"ReduceSum", {x}, {{"axes", Ints{1}}}}),
               columns = fast({"ReduceSum", {x}, {{"axes", Ints{0}}}});
  CHECK((std::isfinite(rows.at(0)) && std::isnan(rows.at(1)) && std::isinf(rows.at(2)) &&
         std::isfinite(rows.at(3))));
  for (std::int64_t j = 0; j < 33; ++j) CHECK(std::isfinite(columns.at(j)) == (j != 32 && j != 5));
}

TEST_CASE("The gradients of reductions repeat dY over the reduced axes") {
  for (const ReduceCase& c : kCases) {
    CAPTURE(c.x.text(), c.axes);
    const Tensor x = numbers(c.x, 1);
    const Ints owner = owners(c);
    const Tensor dy = numbers(fast({"ReduceSum", {x}, attributesOf(c)}).shape(), 2);
    const double count = static_cast<double>(x.elements()) / static_cast<double>(dy.elements());
    const auto of = [&](std::int64_t i) { return dy.at(owner[static_cast<std::size_t>(i)]); };
    CHECK(largestError(fast({"ReduceSumGrad", {dy, x}, attributesOf(c)}), of) == 0);
    CHECK(largestError(fast({"ReduceMeanGrad", {dy, x}, attributesOf(c)}), [&](std::int64_t i) {
            return static_cast<double>(static_cast<float>(of(i) / count));
          }) == 0);
  }
}
