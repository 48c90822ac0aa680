// Operators that compute each element from the elements at its place.
#include <cmath>

#include "core_engine/base/philox.h"
#include "core_engine/ops/dropout.h"
#include "replay/explain/rows_internal.h"

namespace msdbg::replay {
namespace {

/// As ops/extremes.h has it: the first that no other beats; a NaN beats every number.
template <typename Better>
RowResult extremeRow(const Asked& asked, const Better& better) {
  std::size_t best = 0;
  const auto value = [&](std::size_t i) { return asked.at(i, asked.broadcast(i)); };
  for (std::size_t i = 1; i < asked.inputs(); ++i)
    if (!std::isnan(value(best)) && (better(value(i), value(best)) || std::isnan(value(i)))) best = i;
  asked.add(1, {{best, asked.broadcast(best)}});
  for (std::size_t i = 0; i < asked.inputs(); ++i)
    if (i != best) asked.read(i, asked.broadcast(i));
  return Relation::kChoice;
}

}  // namespace

RowResult functionOfAll(const Asked& asked) {
  for (std::size_t i = 0; i < asked.inputs(); ++i) asked.read(i, asked.broadcast(i));
  return Relation::kFunction;
}

RowResult addRow(const Asked& asked) {
  asked.add(1, {{0, asked.broadcast(0)}});
  asked.add(1, {{1, asked.broadcast(1)}});
  return Relation::kSum;
}

RowResult subRow(const Asked& asked) {
  asked.add(1, {{0, asked.broadcast(0)}});
  asked.add(-1, {{1, asked.broadcast(1)}});
  return Relation::kSum;
}

RowResult mulRow(const Asked& asked) {
  asked.add(1, {{0, asked.broadcast(0)}, {1, asked.broadcast(1)}});
  return Relation::kSum;
}

RowResult negRow(const Asked& asked) {
  asked.add(-1, {{0, asked.element()}});
  return Relation::kSum;
}

RowResult maxRow(const Asked& asked) {
  return extremeRow(asked, [](double a, double b) { return a > b; });
}

RowResult minRow(const Asked& asked) {
  return extremeRow(asked, [](double a, double b) { return a < b; });
}

RowResult whereRow(const Asked& asked) {
  const std::size_t chosen = asked.at(0, asked.broadcast(0)) != 0 ? 1 : 2;
  asked.add(1, {{chosen, asked.broadcast(chosen)}});
  asked.read(0, asked.broadcast(0));
  return Relation::kChoice;
}

RowResult dropoutRow(const Asked& asked) {
  const double ratio = core::dropRatio(asked.attributes());
  const core::RandomStream random(asked.state().seed, asked.node().name, asked.state().iteration.value);
  const std::int64_t first = asked.state().rank.value * asked.shape().elements();
  const bool kept =
      !asked.state().training || random.uniform(static_cast<std::uint64_t>(first + asked.element())) >= ratio;
  if (asked.slot() == 1) {
    asked.add(kept ? 1 : 0, {});
    return Relation::kSum;
  }
  if (kept) asked.add(asked.state().training ? core::keptScale(ratio) : 1, {{0, asked.element()}});
  return Relation::kSum;
}

RowResult dropoutGradRow(const Asked& asked) {
  if (asked.at(1, asked.element()) != 0)
    asked.add(core::keptScale(core::dropRatio(asked.attributes())), {{0, asked.element()}});
  asked.read(1, asked.element());
  return Relation::kSum;
}

}  // namespace msdbg::replay
