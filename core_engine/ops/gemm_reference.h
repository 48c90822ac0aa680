// The matrix product behind the reference kernels of Conv, Gemm and MatMul. It accumulates in double for
// float32 and float64 alike, each element strictly in the order k = 0, 1, 2, … with separate multiply and
// add. The result therefore depends on nothing but the operands: not on threads, blocking or instruction set.
#pragma once

#include <cstdint>

namespace msdbg::core {

/// Element (i, j) is data[i * rowStride + j * columnStride]; swap the strides to transpose. Not owned.
template <typename T>
struct MatrixView {
  const T* data;
  std::int64_t rowStride, columnStride;
  MatrixView transposed() const { return {data, columnStride, rowStride}; }
};

/// c[i * ldc + j] += a(i, 0) b(0, j) + a(i, 1) b(1, j) + …, continuing the sum that c holds. a is m x k, b is
/// k x n. For float and double operands.
template <typename T>
void gemmAccumulate(std::int64_t m, std::int64_t n, std::int64_t k, MatrixView<T> a, MatrixView<T> b,
                    double* c, std::int64_t ldc, int threads);

}  // namespace msdbg::core
