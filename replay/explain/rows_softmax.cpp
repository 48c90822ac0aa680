// Softmax and what belongs to it: functions of a line of elements along an axis.
#include <cmath>

#include "core_engine/ops/axis_lines.h"
#include "replay/explain/rows_internal.h"

namespace msdbg::replay {

using core::AxisLines;

namespace {

/// The line of an element: element i lies at begin + i * step.
struct Line {
  std::int64_t begin, step, length;
  std::int64_t at(std::int64_t i) const { return begin + i * step; }
};

Line lineOf(const AxisLines& lines, std::int64_t element) {
  return {element / (lines.length * lines.inner) * lines.length * lines.inner + element % lines.inner,
          lines.inner, lines.length};
}

Line lineOf(const Asked& asked) {
  const core::Shape& shape = asked.shape();
  const std::int64_t axis = core::intAttribute(asked.attributes(), "axis", -1);
  return lineOf(core::axisLines(shape, core::checkAxis("", axis, shape.rank()).value()), asked.element());
}

RowResult wholeLine(const Asked& asked, const Line& line) {
  asked.read(0, asked.element());
  for (std::int64_t i = 0; i < line.length; ++i)
    if (line.at(i) != asked.element()) asked.read(0, line.at(i));
  return Relation::kMany;
}

/// log(sum(exp(x))) of a row of logits, and which of them says most about its loss: the first that is not
/// finite, else the largest, else (where that is the label's own) the label's.
struct RowOfLogits {
  double logSum = 0;
  std::int64_t telling = 0;
};
RowOfLogits readRow(const Asked& asked, const Line& line, std::int64_t label) {
  double largest = -INFINITY, sum = 0;
  std::int64_t wrong = -1, best = 0;
  for (std::int64_t i = 0; i < line.length; ++i) {
    const double x = asked.at(0, line.at(i));
    if (wrong < 0 && !std::isfinite(x)) wrong = i;
    if (x > largest) largest = x, best = i;
  }
  for (std::int64_t i = 0; i < line.length; ++i) sum += std::exp(asked.at(0, line.at(i)) - largest);
  for (std::int64_t i = 0; i < line.length; ++i)
    if (i != (wrong >= 0 ? wrong : best)) asked.read(0, line.at(i));
  asked.read(0, line.at(label));
  return {largest + std::log(sum), wrong >= 0 ? wrong : best};
}

core::Result<std::int64_t> labelOf(const Asked& asked, std::int64_t row, std::int64_t classes) {
  const double label = asked.at(1, row);
  if (label >= 0 && label < static_cast<double>(classes)) return static_cast<std::int64_t>(label);
  return core::Error(core::ErrorCode::kUnavailable, "a label is no class");
}

}  // namespace

RowResult softmaxRow(const Asked& asked) { return wholeLine(asked, lineOf(asked)); }

RowResult softmaxGradRow(const Asked& asked) {
  const Line line = lineOf(asked);
  const std::int64_t own = asked.element();
  asked.add(1, {{0, own}, {1, own}});
  for (std::int64_t i = 0; i < line.length; ++i) asked.add(-1, {{0, line.at(i)}, {1, line.at(i)}, {1, own}});
  return Relation::kSum;
}

RowResult logSoftmaxGradRow(const Asked& asked) {
  const Line line = lineOf(asked);
  const double share = std::exp(asked.at(1, asked.element()));
  asked.add(1, {{0, asked.element()}});
  for (std::int64_t i = 0; i < line.length; ++i) asked.add(-share, {{0, line.at(i)}});
  asked.read(1, asked.element());
  return Relation::kSum;
}

RowResult crossEntropyRow(const Asked& asked) {
  const AxisLines rows = core::axisLines(asked.shapeOf(0), 1);
  if (asked.slot() == 1) return wholeLine(asked, lineOf(rows, asked.element()));
  for (std::int64_t row = 0; row < rows.lines(); ++row) {
    const Line line{rows.begin(row), rows.inner, rows.length};
    MSDBG_ASSIGN(const std::int64_t label, labelOf(asked, row, rows.length));
    const RowOfLogits r = readRow(asked, line, label);
    const double loss = (r.logSum - asked.at(0, line.at(label))) / static_cast<double>(rows.lines());
    asked.addValue(loss, {0, line.at(r.telling)});
    asked.read(1, row);
  }
  return Relation::kSum;
}

RowResult crossEntropyGradRow(const Asked& asked) {
  const AxisLines rows = core::axisLines(asked.shapeOf(0), 1);
  const std::int64_t inner = asked.element() % rows.inner, at = asked.element() / rows.inner % rows.length,
                     row = asked.element() / (rows.length * rows.inner) * rows.inner + inner;
  MSDBG_ASSIGN(const std::int64_t label, labelOf(asked, row, rows.length));
  const double slope = std::exp(asked.at(0, asked.element())) - (at == label ? 1 : 0);
  asked.read(0, asked.element());
  asked.read(1, row);
  asked.add(slope / static_cast<double>(rows.lines()), {{2, 0}});
  return Relation::kSum;
}

}  // namespace msdbg::replay
