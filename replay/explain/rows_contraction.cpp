// Matrix products, convolutions and the gradients of convolutions: sums of products of two elements.
#include <algorithm>

#include "core_engine/ops/broadcast.h"
#include "core_engine/ops/window.h"
#include "replay/explain/rows_internal.h"

namespace msdbg::replay {

using Ints = std::vector<std::int64_t>;
using core::Shape;
using core::Window;

namespace {

/// A matrix of `columns` columns as it is stored; transposed: stored [columns, rows].
struct Matrix {
  std::int64_t rows, columns;
  bool transposed;
  std::int64_t at(std::int64_t row, std::int64_t column) const {
    return transposed ? column * rows + row : row * columns + column;
  }
};
Matrix matrixOf(const Shape& shape, bool transposed) {
  return transposed ? Matrix{shape[1], shape[0], true} : Matrix{shape[0], shape[1], false};
}

/// The last two dimensions; a vector becomes a row or a column.
Shape asMatrices(const Shape& shape, bool row) {
  if (shape.rank() > 1) return shape;
  return row ? Shape{1, shape[0]} : Shape{shape[0], 1};
}
Shape leading(const Shape& shape) { return Shape(Ints(shape.dims().begin(), shape.dims().end() - 2)); }

/// X [N, C, H, W], W [M, C / groups, kernel], Y [N, M, outH, outW].
struct Convolution {
  Window w;
  std::int64_t images, channels, filters, groups;
  std::int64_t groupChannels() const { return channels / groups; }
  std::int64_t groupFilters() const { return filters / groups; }
  std::int64_t x(std::int64_t n, std::int64_t c, std::int64_t row, std::int64_t column) const {
    return ((n * channels + c) * w.inH + row) * w.inW + column;
  }
  std::int64_t y(std::int64_t n, std::int64_t m, std::int64_t row, std::int64_t column) const {
    return ((n * filters + m) * w.outH + row) * w.outW + column;
  }
  std::int64_t weight(std::int64_t m, std::int64_t c, std::int64_t row, std::int64_t column) const {
    return ((m * groupChannels() + c) * w.kernelH + row) * w.kernelW + column;
  }
  std::int64_t row(std::int64_t outRow, std::int64_t kernelRow) const {
    return outRow * w.strideH - w.padTop + kernelRow * w.dilationH;
  }
  std::int64_t column(std::int64_t outColumn, std::int64_t kernelColumn) const {
    return outColumn * w.strideW - w.padLeft + kernelColumn * w.dilationW;
  }
  /// Else it is padding: kernels may multiply by its zeros, so that a NaN spreads through them.
  bool inside(std::int64_t inRow, std::int64_t inColumn) const {
    return inRow >= 0 && inRow < w.inH && inColumn >= 0 && inColumn < w.inW;
  }
};

core::Result<Convolution> convolution(const Asked& asked, const Shape& x, const Shape& weight) {
  MSDBG_ASSIGN(const Window w,
               core::makeWindow(asked.node().opType, asked.attributes(), x[2], x[3], weight[2], weight[3]));
  return Convolution{w, x[0], x[1], weight[0], core::intAttribute(asked.attributes(), "group", 1)};
}

/// Element `flat` of a tensor of four dimensions.
std::array<std::int64_t, 4> placeIn(const Shape& shape, std::int64_t flat) {
  std::array<std::int64_t, 4> place{};
  for (std::size_t d = 4; d-- > 0; flat /= shape[d]) place[d] = flat % shape[d];
  return place;
}

/// The output row (or column) whose window has this input row at this place of the kernel; -1: none.
std::int64_t outputAt(std::int64_t shifted, std::int64_t stride, std::int64_t size) {
  return shifted < 0 || shifted % stride != 0 || shifted / stride >= size ? -1 : shifted / stride;
}

}  // namespace

RowResult gemmRow(const Asked& asked) {
  const auto flag = [&](const char* name) { return core::intAttribute(asked.attributes(), name, 0) != 0; };
  const Matrix a = matrixOf(asked.shapeOf(0), flag("transA")), b = matrixOf(asked.shapeOf(1), flag("transB"));
  const double alpha = core::floatAttribute(asked.attributes(), "alpha", 1);
  const std::int64_t row = asked.element() / asked.shape()[1], column = asked.element() % asked.shape()[1];
  for (std::int64_t k = 0; k < a.columns; ++k) asked.add(alpha, {{0, a.at(row, k)}, {1, b.at(k, column)}});
  if (asked.inputs() > 2)
    asked.add(core::floatAttribute(asked.attributes(), "beta", 1), {{2, asked.broadcast(2)}});
  return Relation::kSum;
}

RowResult matMulRow(const Asked& asked) {
  const Shape a = asMatrices(asked.shapeOf(0), true), b = asMatrices(asked.shapeOf(1), false);
  const std::int64_t m = a[a.rank() - 2], k = a[a.rank() - 1], n = b[b.rank() - 1];
  const auto batches = core::broadcastShape(leading(a), leading(b));
  if (!batches) return core::Error(core::ErrorCode::kUnsupported, "MatMul: the batches do not broadcast");
  const std::int64_t batch = asked.element() / (m * n), row = asked.element() / n % m,
                     column = asked.element() % n;
  const auto matrix = [&](const Shape& shape) {
    const Shape own = leading(shape);
    return core::stridedOffset(batch, batches->dims(), core::broadcastStrides(own, *batches));
  };
  const std::int64_t left = (matrix(a) * m + row) * k, right = matrix(b) * k * n + column;
  for (std::int64_t i = 0; i < k; ++i) asked.add(1, {{0, left + i}, {1, right + i * n}});
  return Relation::kSum;
}

RowResult convRow(const Asked& asked) {
  MSDBG_ASSIGN(const Convolution c, convolution(asked, asked.shapeOf(0), asked.shapeOf(1)));
  const auto [n, m, outRow, outColumn] = placeIn(asked.shape(), asked.element());
  const std::int64_t first = m / c.groupFilters() * c.groupChannels();
  for (std::int64_t channel = 0; channel < c.groupChannels(); ++channel)
    for (std::int64_t i = 0; i < c.w.kernelH; ++i)
      for (std::int64_t j = 0; j < c.w.kernelW; ++j) {
        const std::int64_t row = c.row(outRow, i), column = c.column(outColumn, j),
                           weight = c.weight(m, channel, i, j);
        if (c.inside(row, column))
          asked.add(1, {{0, c.x(n, first + channel, row, column)}, {1, weight}});
        else
          asked.read(1, weight);  // times 0
      }
  if (asked.inputs() > 2) asked.add(1, {{2, m}});
  return Relation::kSum;
}

RowResult convGradInputRow(const Asked& asked) {
  MSDBG_ASSIGN(const Convolution c, convolution(asked, asked.shape(), asked.shapeOf(1)));
  const auto [n, channel, row, column] = placeIn(asked.shape(), asked.element());
  const std::int64_t group = channel / c.groupChannels(), first = group * c.groupFilters();
  for (std::int64_t m = first; m < first + c.groupFilters(); ++m)
    for (std::int64_t i = 0; i < c.w.kernelH; ++i)
      for (std::int64_t j = 0; j < c.w.kernelW; ++j) {
        const std::int64_t outRow = outputAt(row - c.row(0, i), c.w.strideH, c.w.outH),
                           outColumn = outputAt(column - c.column(0, j), c.w.strideW, c.w.outW);
        if (outRow < 0 || outColumn < 0) continue;
        asked.add(1,
                  {{0, c.y(n, m, outRow, outColumn)}, {1, c.weight(m, channel % c.groupChannels(), i, j)}});
      }
  return Relation::kSum;
}

RowResult convGradWeightRow(const Asked& asked) {
  MSDBG_ASSIGN(const Convolution c, convolution(asked, asked.shapeOf(1), asked.shape()));
  const auto [m, channel, i, j] = placeIn(asked.shape(), asked.element());
  const std::int64_t from = m / c.groupFilters() * c.groupChannels() + channel;
  for (std::int64_t n = 0; n < c.images; ++n)
    for (std::int64_t outRow = 0; outRow < c.w.outH; ++outRow)
      for (std::int64_t outColumn = 0; outColumn < c.w.outW; ++outColumn) {
        const std::int64_t row = c.row(outRow, i), column = c.column(outColumn, j),
                           y = c.y(n, m, outRow, outColumn);
        if (c.inside(row, column))
          asked.add(1, {{0, y}, {1, c.x(n, from, row, column)}});
        else
          asked.read(0, y);  // times 0
      }
  return Relation::kSum;
}

}  // namespace msdbg::replay
