#include "core_engine/ops/gemm_reference.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core_engine/base/simd.h"

namespace msdbg::core {
namespace {

// The micro kernel's tile: 48 sums that fit the registers of AVX2 (12 of 16). A block of A (192 KiB) and a
// panel of B (16 KiB) stay in the second and first level caches.
constexpr std::int64_t kRows = 6, kColumns = 8;
constexpr std::int64_t kBlockM = 96, kBlockN = 256, kBlockK = 256;
static_assert(kBlockM % kRows == 0 && kBlockN % kColumns == 0);

MSDBG_SIMD_CLONES
void multiplyTile(std::int64_t k, const double* a, const double* b, double* tile) {
  std::array<std::array<double, kColumns>, kRows> sum;
  for (int i = 0; i < kRows; ++i) std::copy_n(tile + i * kColumns, kColumns, sum[i].data());
  for (std::int64_t p = 0; p < k; ++p, a += kRows, b += kColumns) {
#pragma GCC unroll 6
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
      for (int j = 0; j < kColumns; ++j) sum[i][j] += a[i] * b[j];
    }
  }
  for (int i = 0; i < kRows; ++i) std::copy_n(sum[i].data(), kColumns, tile + i * kColumns);
}

struct Block {
  std::int64_t row, rows, column, columns;
};

/// Copies `lanes` wide panels of a (lane, k) view into [panel][k][lane], as double, short panels padded with
/// zeros.
template <typename T>
void pack(MatrixView<T> source, std::int64_t lanes, std::int64_t count, std::int64_t k, double* out) {
  for (std::int64_t first = 0; first < count; first += lanes, out += lanes * k) {
    const std::int64_t here = std::min(lanes, count - first);
    if (here < lanes) std::fill_n(out, lanes * k, 0.0);
    const T* from = source.data + first * source.rowStride;
    if (source.rowStride == 1) {
      for (std::int64_t p = 0; p < k; ++p)
        for (std::int64_t i = 0; i < here; ++i) out[p * lanes + i] = from[p * source.columnStride + i];
    } else {
      for (std::int64_t i = 0; i < here; ++i)
        for (std::int64_t p = 0; p < k; ++p)
          out[p * lanes + i] = from[i * source.rowStride + p * source.columnStride];
    }
  }
}

void multiplyBlock(const Block& block, std::int64_t k, const double* a, const double* b, double* c,
                   std::int64_t ldc) {
  alignas(64) double tile[kRows * kColumns];
  for (std::int64_t j = 0; j < block.columns; j += kColumns) {
    const std::int64_t columns = std::min(kColumns, block.columns - j);
    for (std::int64_t i = 0; i < block.rows; i += kRows) {
      const std::int64_t rows = std::min(kRows, block.rows - i);
      double* corner = c + (block.row + i) * ldc + block.column + j;
      std::fill_n(tile, kRows * kColumns, 0.0);
      for (std::int64_t r = 0; r < rows; ++r) std::copy_n(corner + r * ldc, columns, tile + r * kColumns);
      multiplyTile(k, a + i * k, b + j * k, tile);
      for (std::int64_t r = 0; r < rows; ++r) std::copy_n(tile + r * kColumns, columns, corner + r * ldc);
    }
  }
}

template <typename T>
MatrixView<T> shifted(MatrixView<T> view, std::int64_t row, std::int64_t column) {
  return {view.data + row * view.rowStride + column * view.columnStride, view.rowStride, view.columnStride};
}

}  // namespace

template <typename T>
void gemmAccumulate(std::int64_t m, std::int64_t n, std::int64_t k, MatrixView<T> a, MatrixView<T> b,
                    double* c, std::int64_t ldc, int threads) {
  const std::int64_t blocksN = (n + kBlockN - 1) / kBlockN, blocks = (m + kBlockM - 1) / kBlockM * blocksN;
#pragma omp parallel num_threads(threads) if (threads > 1 && blocks > 1)
  {
    std::vector<double> packedA(kBlockM * kBlockK), packedB(kBlockN * kBlockK);
#pragma omp for schedule(dynamic)
    for (std::int64_t at = 0; at < blocks; ++at) {
      const std::int64_t row = at / blocksN * kBlockM, column = at % blocksN * kBlockN;
      const Block block{row, std::min(kBlockM, m - row), column, std::min(kBlockN, n - column)};
      for (std::int64_t p = 0; p < k; p += kBlockK) {
        const std::int64_t depth = std::min(kBlockK, k - p);
        pack(shifted(a, row, p), kRows, block.rows, depth, packedA.data());
        pack(shifted(b, p, column).transposed(), kColumns, block.columns, depth, packedB.data());
        multiplyBlock(block, depth, packedA.data(), packedB.data(), c, ldc);
      }
    }
  }
}

template void gemmAccumulate(std::int64_t, std::int64_t, std::int64_t, MatrixView<float>, MatrixView<float>,
                             double*, std::int64_t, int);
template void gemmAccumulate(std::int64_t, std::int64_t, std::int64_t, MatrixView<double>, MatrixView<double>,
                             double*, std::int64_t, int);

}  // namespace msdbg::core
