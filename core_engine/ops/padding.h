// What Pad and PadGrad share: for each dimension of the padded tensor, where its elements come from. Pure
// functions.
#pragma once

#include "core_engine/ops/gradient.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {

/// source[d][i]: index along dimension d of the original tensor, -1 where the constant goes.
struct Padding {
  std::vector<Ints> source;
  Ints strides;  // of the original tensor
  Shape shape() const;
  /// Offset in the original tensor of element `flat` of the padded one; -1: the constant.
  std::int64_t origin(std::int64_t flat) const;
};

/// By attributes pads ([begin of each dimension, …, end of each dimension, …]; negative removes) and mode
/// (constant, reflect, edge, wrap).
Result<Padding> makePadding(std::string_view op, const Shape& original, const Attributes& attributes);
std::vector<AttributeDoc> paddingAttributes();

}  // namespace msdbg::core
