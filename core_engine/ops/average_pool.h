// What AveragePool and AveragePoolGrad share. Pure functions.
#pragma once

#include "core_engine/ops/pool.h"

namespace msdbg::core {

inline std::int64_t elementsOf(const Span1d& s) {
  return s.first >= s.last ? 0 : (s.last - s.first - 1) / s.step + 1;
}

/// What the sum of one window is divided by: its elements, with count_include_pad those in the padding too
/// (but never what ceil_mode lets a window reach beyond it).
inline double windowCount(const Window& w, std::int64_t at, const Span1d& rows, const Span1d& columns,
                          bool includePad) {
  if (!includePad) return static_cast<double>(elementsOf(rows) * elementsOf(columns));
  const std::int64_t top = at / w.outW * w.strideH - w.padTop, left = at % w.outW * w.strideW - w.padLeft;
  const Span1d allRows{top, std::min(top + w.extentH(), w.inH + w.padBottom), w.dilationH};
  const Span1d allColumns{left, std::min(left + w.extentW(), w.inW + w.padRight), w.dilationW};
  return static_cast<double>(elementsOf(allRows) * elementsOf(allColumns));
}

inline bool includesPad(const Attributes& attributes) {
  return intAttribute(attributes, "count_include_pad", 0) != 0;
}

inline std::vector<AttributeDoc> averagePoolAttributes() {
  std::vector<AttributeDoc> attributes = poolAttributes();
  attributes.push_back({"count_include_pad", "int", "0", "1: padding counts as zeros"});
  return attributes;
}

}  // namespace msdbg::core
