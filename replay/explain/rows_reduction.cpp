// Reductions over some dimensions, and their gradients.
#include <cmath>

#include "core_engine/ops/axis_lines.h"
#include "core_engine/ops/reduction.h"
#include "replay/explain/rows_internal.h"

namespace msdbg::replay {

using core::ReductionPlan;
using core::Shape;

namespace {

core::Result<ReductionPlan> planOf(const Asked& asked, const Shape& full) {
  MSDBG_ASSIGN(const std::vector<bool> reduced,
               core::reducedAxes(asked.node().opType, asked.attributes(), full.rank()));
  return core::planReduction(full, reduced);
}

/// f(offset) of every element of a result, in row-major order.
template <typename F>
void forElements(const ReductionPlan& plan, std::int64_t result, const F& f) {
  const std::int64_t begin = plan.begin(result);
  for (const std::int64_t offset : plan.reducedOffsets)
    for (std::int64_t i = 0; i < plan.runLength; ++i) f(begin + offset + i * plan.runStride);
}

/// The result that an element of the full tensor goes into.
std::int64_t resultOf(const ReductionPlan& plan, std::int64_t element) {
  std::int64_t result = 0;
  for (std::size_t d = 0; d < plan.keptDims.size(); ++d)
    result = result * plan.keptDims[d] + element / plan.keptStrides[d] % plan.keptDims[d];
  return result;
}

RowResult sumRow(const Asked& asked, bool mean, bool square) {
  MSDBG_ASSIGN(const ReductionPlan plan, planOf(asked, asked.shapeOf(0)));
  const double coefficient = mean ? 1 / static_cast<double>(plan.reducedCount()) : 1;
  forElements(plan, asked.element(), [&](std::int64_t at) {
    if (square)
      asked.add(coefficient, {{0, at}, {0, at}});
    else
      asked.add(coefficient, {{0, at}});
  });
  return Relation::kSum;
}

template <typename Better>
RowResult extremeRow(const Asked& asked, const Better& better) {
  MSDBG_ASSIGN(const ReductionPlan plan, planOf(asked, asked.shapeOf(0)));
  std::int64_t best = -1;
  forElements(plan, asked.element(), [&](std::int64_t at) {
    const double x = asked.at(0, at);
    if (best < 0 || (!std::isnan(asked.at(0, best)) && (better(x, asked.at(0, best)) || std::isnan(x))))
      best = at;
  });
  if (best >= 0) asked.add(1, {{0, best}});
  forElements(plan, asked.element(), [&](std::int64_t at) {
    if (at != best) asked.read(0, at);
  });
  return Relation::kChoice;
}

RowResult spreadRow(const Asked& asked, bool mean) {
  MSDBG_ASSIGN(const ReductionPlan plan, planOf(asked, asked.shape()));
  const double coefficient = mean ? 1 / static_cast<double>(plan.reducedCount()) : 1;
  asked.add(coefficient, {{0, resultOf(plan, asked.element())}});
  return coefficient == 1 ? Relation::kCopy : Relation::kSum;
}

}  // namespace

RowResult reduceSumRow(const Asked& asked) { return sumRow(asked, false, false); }
RowResult reduceMeanRow(const Asked& asked) { return sumRow(asked, true, false); }
RowResult reduceSumSquareRow(const Asked& asked) { return sumRow(asked, false, true); }

RowResult reduceMaxRow(const Asked& asked) {
  return extremeRow(asked, [](double a, double b) { return a > b; });
}
RowResult reduceMinRow(const Asked& asked) {
  return extremeRow(asked, [](double a, double b) { return a < b; });
}

RowResult reduceSumGradRow(const Asked& asked) { return spreadRow(asked, false); }
RowResult reduceMeanGradRow(const Asked& asked) { return spreadRow(asked, true); }

/// dY at the first element that equals Y, or the first NaN.
RowResult reduceExtremeGradRow(const Asked& asked) {
  MSDBG_ASSIGN(const ReductionPlan plan, planOf(asked, asked.shapeOf(1)));
  const std::int64_t result = resultOf(plan, asked.element());
  const double y = asked.at(2, result);
  std::int64_t first = -1;
  forElements(plan, result, [&](std::int64_t at) {
    const double x = asked.at(1, at);
    if (first < 0 && (x == y || (std::isnan(x) && std::isnan(y)))) first = at;
  });
  if (first == asked.element()) asked.add(1, {{0, result}});
  asked.read(2, result);
  forElements(plan, result, [&](std::int64_t at) { asked.read(1, at); });
  return Relation::kChoice;
}

RowResult argMaxRow(const Asked& asked) {
  const Shape& x = asked.shapeOf(0);
  MSDBG_ASSIGN(const std::size_t axis,
               core::checkAxis("ArgMax", core::intAttribute(asked.attributes(), "axis", 0), x.rank()));
  const core::AxisLines lines = core::axisLines(x, axis);
  for (std::int64_t i = 0; i < lines.length; ++i)
    asked.read(0, lines.begin(asked.element()) + i * lines.inner);
  return Relation::kMany;
}

RowResult globalAveragePoolRow(const Asked& asked) {
  std::vector<bool> reduced(asked.shapeOf(0).rank(), true);
  reduced[0] = reduced[1] = false;
  const ReductionPlan plan = core::planReduction(asked.shapeOf(0), reduced);
  const double share = 1 / static_cast<double>(plan.reducedCount());
  forElements(plan, asked.element(), [&](std::int64_t at) { asked.add(share, {{0, at}}); });
  return Relation::kSum;
}

}  // namespace msdbg::replay
