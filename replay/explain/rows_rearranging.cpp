// Operators whose elements are those of their inputs, at other places, and the gradients of these.
#include <algorithm>

#include "core_engine/ops/axis_lines.h"
#include "core_engine/ops/indices.h"
#include "core_engine/ops/padding.h"
#include "core_engine/ops/slicing.h"
#include "replay/explain/rows_internal.h"

namespace msdbg::replay {

using core::AxisLines;
using core::Ints;
using core::Shape;
using core::stridedOffset;

namespace {

RowResult copyOf(const Asked& asked, std::size_t input, std::int64_t element) {
  asked.add(1, {{input, element}});
  return Relation::kCopy;
}

RowResult constantOf(const Asked& asked, double value) {
  asked.add(value, {});
  return Relation::kCopy;
}

std::size_t axisOf(const Asked& asked, std::int64_t fallback, std::size_t rank) {
  return core::checkAxis("", core::intAttribute(asked.attributes(), "axis", fallback), rank).value();
}

/// Where the element is along the axis, and where that is in a part that begins at `offset`.
struct AlongAxis {
  AxisLines lines;
  std::int64_t outer, at, inner;
  AlongAxis(const Shape& shape, std::size_t axis, std::int64_t element)
      : lines(core::axisLines(shape, axis)),
        outer(element / (lines.length * lines.inner)),
        at(element / lines.inner % lines.length),
        inner(element % lines.inner) {}
  std::int64_t in(std::int64_t length, std::int64_t place) const {
    return (outer * length + place) * lines.inner + inner;
  }
};

}  // namespace

RowResult sameElement(const Asked& asked) { return copyOf(asked, 0, asked.element()); }

RowResult transposeRow(const Asked& asked) {
  const std::size_t rank = asked.shape().rank();
  const Ints perm = core::intsAttribute(asked.attributes(), "perm", {}), own = asked.shapeOf(0).strides();
  Ints strides(rank);
  for (std::size_t d = 0; d < rank; ++d)
    strides[d] = own[perm.empty() ? rank - 1 - d : static_cast<std::size_t>(perm[d])];
  return copyOf(asked, 0, stridedOffset(asked.element(), asked.shape().dims(), strides));
}

RowResult expandRow(const Asked& asked) { return copyOf(asked, 0, asked.broadcast(0)); }

RowResult sliceRow(const Asked& asked) {
  MSDBG_ASSIGN(const core::Slicing s, core::makeSlicing("Slice", asked.shapeOf(0), asked.attributes()));
  return copyOf(asked, 0, s.grid.first + stridedOffset(asked.element(), s.shape.dims(), s.grid.strides));
}

RowResult sliceGradRow(const Asked& asked) {
  MSDBG_ASSIGN(const core::Slicing s, core::makeSlicing("SliceGrad", asked.shape(), asked.attributes()));
  for (std::int64_t i = 0; i < s.shape.elements(); ++i)
    if (s.grid.first + stridedOffset(i, s.shape.dims(), s.grid.strides) == asked.element())
      return copyOf(asked, 0, i);
  return constantOf(asked, 0);
}

RowResult concatRow(const Asked& asked) {
  const std::size_t axis = axisOf(asked, 0, asked.shape().rank());
  const AlongAxis place(asked.shape(), axis, asked.element());
  std::int64_t at = place.at;
  for (std::size_t i = 0; i < asked.inputs(); ++i) {
    const std::int64_t length = asked.shapeOf(i)[axis];
    if (at < length) return copyOf(asked, i, place.in(length, at));
    at -= length;
  }
  return core::Error(core::ErrorCode::kUnsupported, "Concat: the inputs do not make up the output");
}

RowResult splitRow(const Asked& asked) {
  const std::size_t axis = axisOf(asked, 0, asked.shape().rank());
  const AlongAxis place(asked.shape(), axis, asked.element());
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < asked.slot(); ++i) offset += asked.shapeOfOutput(i)[axis];
  return copyOf(asked, 0, place.in(asked.shapeOf(0)[axis], offset + place.at));
}

RowResult gatherRow(const Asked& asked) {
  const Shape& data = asked.shapeOf(0);
  const std::size_t axis = axisOf(asked, 0, data.rank());
  const AxisLines lines = core::axisLines(data, axis);
  const std::int64_t picks = asked.shapeOf(1).elements();
  const std::int64_t slice = asked.element() / lines.inner, pick = slice % picks;
  auto index = static_cast<std::int64_t>(asked.at(1, pick));
  if (index < 0) index += lines.length;
  if (index < 0 || index >= lines.length)
    return core::Error(core::ErrorCode::kUnavailable, "an index is outside the axis");
  asked.read(1, pick);
  asked.add(1, {{0, (slice / picks * lines.length + index) * lines.inner + asked.element() % lines.inner}});
  return Relation::kChoice;
}

RowResult gatherGradRow(const Asked& asked) {
  const std::size_t axis = axisOf(asked, 0, asked.shape().rank());
  const AlongAxis place(asked.shape(), axis, asked.element());
  MSDBG_ASSIGN(const Ints indices, core::readIndices(asked.node(), asked.input(1), place.lines.length));
  const auto picks = static_cast<std::int64_t>(indices.size());
  for (std::int64_t i = 0; i < picks; ++i) {
    asked.read(1, i);
    if (indices[static_cast<std::size_t>(i)] == place.at) asked.add(1, {{0, place.in(picks, i)}});
  }
  return Relation::kSum;
}

RowResult padRow(const Asked& asked) {
  MSDBG_ASSIGN(const core::Padding padding, core::makePadding("Pad", asked.shapeOf(0), asked.attributes()));
  const std::int64_t from = padding.origin(asked.element());
  return from >= 0 ? copyOf(asked, 0, from)
                   : constantOf(asked, core::floatAttribute(asked.attributes(), "value", 0));
}

RowResult padGradRow(const Asked& asked) {
  MSDBG_ASSIGN(const core::Padding padding, core::makePadding("PadGrad", asked.shape(), asked.attributes()));
  for (std::int64_t i = 0; i < asked.shapeOf(0).elements(); ++i)
    if (padding.origin(i) == asked.element()) asked.add(1, {{0, i}});
  return Relation::kSum;
}

RowResult triluRow(const Asked& asked) {
  const std::size_t rank = asked.shape().rank();
  const std::int64_t rows = asked.shape()[rank - 2], columns = asked.shape()[rank - 1];
  const bool upper = core::intAttribute(asked.attributes(), "upper", 1) != 0;
  const std::int64_t k =
      std::clamp<std::int64_t>(core::intAttribute(asked.attributes(), "k", 0), -rows - 1, columns + 1);
  const std::int64_t diagonal = asked.element() / columns % rows + k, column = asked.element() % columns;
  const bool kept = upper ? column >= diagonal : column <= diagonal;
  return kept ? copyOf(asked, 0, asked.element()) : constantOf(asked, 0);
}

RowResult oneHotRow(const Asked& asked) {
  const AlongAxis place(asked.shape(), axisOf(asked, -1, asked.shape().rank()), asked.element());
  asked.read(0, place.outer * place.lines.inner + place.inner);
  return Relation::kFunction;
}

RowResult rangeRow(const Asked& asked) {
  asked.read(1, 0);
  asked.add(1, {{0, 0}});
  asked.add(static_cast<double>(asked.element()), {{2, 0}});
  return Relation::kSum;
}

}  // namespace msdbg::replay
