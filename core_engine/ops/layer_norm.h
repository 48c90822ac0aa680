// What LayerNormalization and its gradient share: X as rows that are normalised each by itself. Pure
// functions.
#pragma once

#include "core_engine/ops/gradient.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {

/// Dimensions before `axis` count rows, those from it on make up a row of `length` elements.
struct NormalRows {
  std::int64_t rows = 1, length = 1;
  Shape row, mean;  // shapes of one row, and of one number for each
};

inline Result<NormalRows> normalRows(std::string_view op, const Shape& x, const Attributes& attributes) {
  MSDBG_ASSIGN(const std::size_t axis, checkAxis(op, intAttribute(attributes, "axis", -1), x.rank()));
  NormalRows r;
  Ints row, mean;
  for (std::size_t d = 0; d < x.rank(); ++d) {
    (d < axis ? r.rows : r.length) *= x[d];
    mean.push_back(d < axis ? x[d] : 1);
    if (d >= axis) row.push_back(x[d]);
  }
  r.row = Shape(std::move(row));
  r.mean = Shape(std::move(mean));
  return r;
}

}  // namespace msdbg::core
