#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/cpu/kernel_harness.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

/// Element (i, j) of op(A) op(B), and the sum of magnitudes that bounds its rounding error.
double product(const Tensor& a, bool transA, const Tensor& b, bool transB, std::int64_t i, std::int64_t j) {
  const std::int64_t depth = a.shape()[transA ? 0 : 1];
  double sum = 0;
  for (std::int64_t k = 0; k < depth; ++k)
    sum += a.at(transA ? k * a.shape()[1] + i : i * depth + k) *
           b.at(transB ? j * depth + k : k * b.shape()[1] + j);
  return sum;
}

struct GemmSize {
  std::int64_t m, n, k;
};
const GemmSize kSizes[] = {{1, 1, 1}, {3, 5, 7}, {64, 10, 84}, {17, 33, 1}, {1, 100, 50}, {65, 129, 257}};

Shape stored(std::int64_t rows, std::int64_t columns, bool transposed) {
  return transposed ? Shape{columns, rows} : Shape{rows, columns};
}

}  // namespace

TEST_CASE("Gemm on oneDNN agrees with the definition for every transposition, with and without bias") {
  const bool transA = GENERATE(false, true), transB = GENERATE(false, true), withBias = GENERATE(false, true);
  for (const GemmSize& s : kSizes) {
    CAPTURE(s.m, s.n, s.k, transA, transB, withBias);
    const Tensor a = numbers(stored(s.m, s.k, transA), 1), b = numbers(stored(s.k, s.n, transB), 2),
                 c = numbers({s.n}, 3);
    OneNode node{"Gemm", {a, b}, {{"transA", std::int64_t{transA}}, {"transB", std::int64_t{transB}}}};
    if (withBias) node.inputs.push_back(c);
    const Ran ran = runFast(node);
    REQUIRE(ran.kernel == "dnnl:Gemm");
    CHECK(largestError(ran.outputs.at(0),
                       [&](std::int64_t i) {
                         return product(a, transA, b, transB, i / s.n, i % s.n) +
                                (withBias ? c.at(i % s.n) : 0.0);
                       }) <
          1e-6 + 1e-7 * static_cast<double>(
                            s.k));  // k roundings of sums that grow like sqrt(k): a walk of k steps
  }
}

TEST_CASE("Gemm applies alpha to the product and beta to C, whatever shape C broadcasts from") {
  const Shape shape = GENERATE(Shape{7}, Shape{1, 7}, Shape{5, 1}, Shape{5, 7}, Shape{1}, Shape{});
  const double alpha = GENERATE(1.0, -0.5), beta = GENERATE(1.0, 3.0);
  const Tensor a = numbers({5, 6}, 1), b = numbers({6, 7}, 2), c = numbers(shape, 3);
  const Tensor y = fast({"Gemm", {a, b, c}, {{"alpha", alpha}, {"beta", beta}}});
  const auto at = [&](std::int64_t i, std::int64_t j) {
    const Shape s = shape.rank() == 2 ? shape : shape.rank() == 1 ? Shape{1, shape[0]} : Shape{1, 1};
    return (s[0] == 1 ? 0 : i * s[1]) + (s[1] == 1 ? 0 : j);
  };
  CAPTURE(shape.text(), alpha, beta);
  CHECK(largestError(y, [&](std::int64_t i) {
          return alpha * product(a, false, b, false, i / 7, i % 7) + beta * c.at(at(i / 7, i % 7));
        }) < 1e-5);
}

TEST_CASE("A NaN in A makes its row of the product NaN and no other") {
  Tensor a = numbers({6, 20}, 1);
  a.data<float>()[3 * 20 + 19] = std::numeric_limits<float>::quiet_NaN();
  const Tensor y = fast({"Gemm", {a, numbers({20, 9}, 2)}});
  for (std::int64_t i = 0; i < y.elements(); ++i) CHECK(std::isnan(y.at(i)) == (i / 9 == 3));
}

TEST_CASE("MatMul multiplies batches and broadcasts them as numpy.matmul does") {
  struct Shapes {
    Shape a, b, y;
  };
  const Shapes s = GENERATE(Shapes{{4, 3}, {3, 5}, {4, 5}}, Shapes{{2, 4, 3}, {2, 3, 5}, {2, 4, 5}},
                            Shapes{{2, 1, 4, 3}, {6, 3, 5}, {2, 6, 4, 5}},
                            Shapes{{2, 3, 4, 6}, {6, 5}, {2, 3, 4, 5}}, Shapes{{6}, {6, 5}, {5}},
                            Shapes{{4, 6}, {6}, {4}}, Shapes{{6}, {6}, {}}, Shapes{{2, 4, 6}, {6}, {2, 4}});
  CAPTURE(s.a.text(), s.b.text());
  const Tensor a = numbers(s.a, 1), b = numbers(s.b, 2);
  const Ran ran = runFast({"MatMul", {a, b}});
  if (ran.kernel.empty()) {  // then the reference computes it
    WARN("declined: " << ran.declined);
    REQUIRE_FALSE(ran.declined.empty());
    return;
  }
  REQUIRE(ran.outputs.at(0).shape() == s.y);
  const std::int64_t k = s.a[s.a.rank() - 1], n = s.b.rank() == 1 ? 1 : s.b[s.b.rank() - 1];
  const std::int64_t m = s.a.rank() == 1 ? 1 : s.a[s.a.rank() - 2];
  const std::int64_t batchesA = s.a.elements() / (m * k), batchesB = s.b.elements() / (k * n);
  CHECK(largestError(ran.outputs[0], [&](std::int64_t at) {
          const std::int64_t batch = at / (m * n), i = at / n % m, j = at % n;
          const std::int64_t batchA = batchesA == 2 && batchesB == 6 ? batch / 6 : batchesA == 1 ? 0 : batch;
          const std::int64_t batchB = batchesB == 1 ? 0 : batch % batchesB;
          double sum = 0;
          for (std::int64_t d = 0; d < k; ++d)
            sum += a.at((batchA * m + i) * k + d) * b.at((batchB * k + d) * n + j);
          return sum;
        }) < 1e-5);
}
