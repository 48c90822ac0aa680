// What Slice and SliceGrad share: NumPy's x[start:end:step] along some axes, as a grid of places. Pure
// functions.
#pragma once

#include "core_engine/ops/infer.h"
#include "core_engine/ops/strided_copy.h"

namespace msdbg::core {

struct Slicing {
  Shape shape;       // of the slice
  StridedGrid grid;  // of its elements in the whole
};

/// By attributes starts, ends, axes, steps (ONNX Slice-13: negative counts from the end, what lies outside is
/// cut off).
Result<Slicing> makeSlicing(std::string_view op, const Shape& whole, const Attributes& attributes);
std::vector<AttributeDoc> slicingAttributes();

}  // namespace msdbg::core
