#include "watchpoints/conditions/collective.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace msdbg::watch {

using core::Error;
using core::ErrorCode;
using core::Rank;
using core::Tensor;

core::Result<Tensor> recomputeCollective(EvaluationContext& context, const core::Node& node) {
  Source& source = context.source;
  const std::vector<core::Rank> ranks = source.ranks();
  if (node.opType != "Allreduce" || node.inputs.size() != 1)
    return Error(ErrorCode::kUnavailable, node.name + ": " + node.opType + " is not a sum over ranks");
  if (static_cast<int>(ranks.size()) != source.rankCount())
    return Error(ErrorCode::kUnavailable, node.name + ": not every rank is recorded");
  Tensor sum;
  for (core::Rank rank : ranks) {
    MSDBG_ASSIGN(const Tensor part, source.value(rank, context.iteration, node.inputs.front()));
    if (!core::isComputedFloating(part.dtype()))
      return Error(ErrorCode::kUnavailable,
                   node.name + ": msdbg does not add " + std::string(core::dtypeName(part.dtype())));
    if (!sum.valid()) {
      sum = part.clone();
      continue;
    }
    if (part.dtype() != sum.dtype() || part.shape() != sum.shape())
      return Error(ErrorCode::kUnavailable, node.name + ": inputs of the ranks differ in shape");
    visitFloating(sum.dtype(), [&](auto zero) {
      using T = decltype(zero);
      std::ranges::transform(sum.data<T>(), part.data<T>(), sum.data<T>().begin(), std::plus<T>());
    });
  }
  if (!sum.valid()) return Error(ErrorCode::kUnavailable, node.name + ": no rank is recorded");
  return sum;
}

namespace {

struct Row {
  Rank rank;
  core::TensorStatistics input, output;
};

/// The rows of all ranks; empty when one is missing.
std::vector<Row> rowsOf(EvaluationContext& context, const core::Node& node) {
  std::vector<Row> rows;
  if (node.inputs.size() != 1 || node.outputs.size() != 1) return {};
  for (Rank rank : context.source.ranks()) {
    Row row{rank, {}, {}};
    const StatisticsRow* input = context.rows.now(rank, node.inputs.front());
    if (!input) return {};
    row.input = input->values;
    const StatisticsRow* output = context.rows.now(rank, node.outputs.front());
    if (!output) return {};
    row.output = output->values;
    rows.push_back(row);
  }
  return static_cast<int>(rows.size()) == context.source.rankCount() ? rows : std::vector<Row>{};
}

}  // namespace

std::vector<Rank> ranksThatKeptTheirInput(EvaluationContext& context, const core::Node& node) {
  const std::vector<Row> rows = rowsOf(context, node);
  std::vector<Rank> kept;
  for (const Row& row : rows) {
    const bool othersAdd = std::ranges::any_of(rows, [&](const Row& other) {
      return other.rank != row.rank && other.input.zero < other.input.count;
    });
    if (othersAdd && row.input.hash == row.output.hash) kept.push_back(row.rank);
  }
  return kept;
}

std::optional<std::vector<Rank>> ranksOffTheMean(EvaluationContext& context, const core::Node& node) {
  const std::vector<Row> rows = rowsOf(context, node);
  double sum = 0, magnitude = 0;
  for (const Row& row : rows) {
    if (row.input.nonFinite() + row.output.nonFinite() > 0) return std::nullopt;
    sum += row.input.mean;
    magnitude += row.input.meanAbs;
  }
  if (rows.empty() || rows.front().input.count == 0) return std::nullopt;
  // Each addition is off by at most half a step of its result (2^-24 in float32); ten times that also covers
  // the means themselves.
  const double step = core::floatLimits(context.graph().tensor(node.outputs.front()).dtype).epsilon;
  const double tolerance = std::max(6e-7, 5 * step) * static_cast<double>(rows.size()) * magnitude + 1e-300;
  std::vector<Rank> off;
  for (const Row& row : rows)
    if (std::abs(row.output.mean - sum) > tolerance) off.push_back(row.rank);
  return off;
}

}  // namespace msdbg::watch
