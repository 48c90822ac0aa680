#include "core_engine/cuda/check.h"

namespace msdbg::core::device::check {
namespace {

// Float32 sums are some 1e-6 off; TF32 would be 1e-4.
constexpr double kTolerance = 1e-5;

std::string textOf(const ProductShape& s) {
  const auto stride = [](std::int64_t value) {
    return value == 0 ? std::string("one") : std::to_string(value);
  };
  return "product " + std::to_string(s.m) + " x " + std::to_string(s.n) + " x " + std::to_string(s.k) +
         (s.transposeA ? " a^T" : "") + (s.transposeB ? " b^T" : "") + (s.bias ? " + bias" : "") +
         (s.scale != 1 ? " * " + std::to_string(s.scale) : "") +
         (s.batch > 1
              ? " (" + std::to_string(s.batch) + ", a " + stride(s.strideA) + ", b " + stride(s.strideB) + ")"
              : "");
}

std::vector<double> expectedOf(const ProductShape& s, const std::vector<Floats>& in) {
  std::vector<double> y(static_cast<std::size_t>(s.batch * s.m * s.n));
  const auto at = [](const Floats& values, std::int64_t place) {
    return static_cast<double>(values[static_cast<std::size_t>(place)]);
  };
  for (std::int64_t e = 0; e < s.batch * s.m * s.n; ++e) {
    const std::int64_t b = e / (s.m * s.n), i = e / s.n % s.m, j = e % s.n;
    double sum = 0;
    for (std::int64_t p = 0; p < s.k; ++p)
      sum += at(in[0], b * s.strideA + (s.transposeA ? p * s.m + i : i * s.k + p)) *
             at(in[1], b * s.strideB + (s.transposeB ? j * s.k + p : p * s.n + j));
    y[static_cast<std::size_t>(e)] = static_cast<double>(s.scale) * sum + (s.bias ? at(in[2], j) : 0);
  }
  return y;
}

void checkProduct(Device& device, Report& report, const ProductShape& s) {
  std::string why;
  const auto operation = device.product(s, why);
  if (!operation) return report.line(false, textOf(s), why);
  std::vector<Floats> inputs{someFloats((s.batch - 1) * s.strideA + s.m * s.k, 1),
                             someFloats((s.batch - 1) * s.strideB + s.k * s.n, 2)};
  if (s.bias) inputs.push_back(someFloats(s.n, 3));
  checkOperation(device, report, textOf(s), *operation, inputs, expectedOf(s, inputs), kTolerance);
}

}  // namespace

void checkProducts(Device& device, Report& report) {
  constexpr std::int64_t sizes[][3] = {{1, 1, 1},       {3, 5, 7},      {1, 1000, 64},
                                       {128, 10, 784},  {64, 1, 300},   {33, 129, 257},
                                       {256, 256, 256}, {512, 384, 64}, {10, 784, 4096}};
  for (const auto& [m, n, k] : sizes)
    for (int variant = 0; variant < 8; ++variant) {
      ProductShape s{.m = m, .n = n, .k = k};
      s.transposeA = variant & 1;
      s.transposeB = variant & 2;
      s.bias = variant & 4;
      checkProduct(device, report, s);
    }
  checkProduct(device, report, {.m = 40, .n = 30, .k = 20, .scale = 0.125F});
  checkProduct(device, report, {.m = 40, .n = 30, .k = 20, .bias = true, .scale = -3});
  // attention: batches of heads
  checkProduct(device, report,
               {.m = 64,
                .n = 64,
                .k = 32,
                .batch = 12,
                .strideA = 2048,
                .strideB = 2048,
                .transposeB = true,
                .scale = 0.17F});
  checkProduct(device, report, {.m = 64, .n = 32, .k = 64, .batch = 12, .strideA = 4096, .strideB = 2048});
  // one matrix for all, odd strides, and more matrices than a grid has rows
  checkProduct(device, report, {.m = 7, .n = 9, .k = 5, .batch = 4, .strideA = 35, .bias = true});
  checkProduct(device, report, {.m = 7, .n = 9, .k = 5, .batch = 4, .strideB = 45, .transposeA = true});
  checkProduct(device, report, {.m = 2, .n = 3, .k = 4, .batch = 70000, .strideA = 8, .strideB = 12});

  std::string why;
  const bool declined = !device.product({.m = 4, .n = 4, .k = 0}, why);
  report.line(declined && !why.empty(), "an empty product is declined", why);
}

}  // namespace msdbg::core::device::check
