// What LayerNormalization, GroupNormalization and their gradients do with one row (or group) of elements.
// Pure functions, all sums in double.
#pragma once

#include <cmath>
#include <cstdint>

#include "core_engine/ops/op.h"

namespace msdbg::core {

struct RowMoments {
  double mean, inverse;  // 1 / sqrt(population variance + epsilon)
};

/// y = (x - mean) * inverse * scale(i) + shift(i) for each of `length` elements.
template <typename T, typename Scale, typename Shift>
RowMoments normalizeRow(const T* x, T* y, std::int64_t length, double epsilon, const Scale& scale,
                        const Shift& shift) {
  double mean = 0, variance = 0;
  for (std::int64_t i = 0; i < length; ++i) mean += x[i];
  mean /= static_cast<double>(length);
  for (std::int64_t i = 0; i < length; ++i) variance += (x[i] - mean) * (x[i] - mean);
  const double inverse = 1 / std::sqrt(variance / static_cast<double>(length) + epsilon);
  for (std::int64_t i = 0; i < length; ++i)
    y[i] = static_cast<T>((x[i] - mean) * inverse * scale(i) + shift(i));
  return {mean, inverse};
}

/// dY, X, scale, Mean and InvStdDev, as both gradients read them.
template <typename T>
struct NormalOperands {
  const T *dy, *x, *scale, *mean, *inverse;
  explicit NormalOperands(const KernelArgs& args)
      : dy(args.inputs[0]->data<T>().data()),
        x(args.inputs[1]->data<T>().data()),
        scale(args.inputs[2]->data<T>().data()),
        mean(args.inputs[3]->data<T>().data()),
        inverse(args.inputs[4]->data<T>().data()) {}
  double normal(std::int64_t at, std::int64_t row) const {
    return (static_cast<double>(x[at]) - mean[row]) * inverse[row];
  }
};

/// dx = inverse * (g - mean(g) - xhat * mean(g * xhat)) with g = scaled(i) = dY * scale and xhat = normal(i).
template <typename T, typename Scaled, typename Normal>
void normalizedRowGradient(T* dx, std::int64_t length, double inverse, const Scaled& scaled,
                           const Normal& normal) {
  double sum = 0, product = 0;
  for (std::int64_t i = 0; i < length; ++i) {
    sum += scaled(i);
    product += scaled(i) * normal(i);
  }
  const auto count = static_cast<double>(length);
  for (std::int64_t i = 0; i < length; ++i)
    dx[i] = static_cast<T>(inverse * (scaled(i) - (sum / count + normal(i) * (product / count))));
}

}  // namespace msdbg::core
