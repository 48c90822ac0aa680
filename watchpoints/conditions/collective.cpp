#include "watchpoints/conditions/collective.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace msdbg::watch {

using core::Error;
using core::ErrorCode;
using core::Rank;
using core::Tensor;

bool isSum(const core::Node& collective) { return collective.opType == "Allreduce"; }

namespace {

struct Part {
  Rank rank;
  core::TensorId input, output;
};

/// Of each sender its only input; empty where one has none or several.
std::vector<Part> partsOf(const EvaluationContext& context, const Gathered& gathered) {
  std::vector<Part> parts;
  for (const auto& [rank, id] : gathered.meeting.senders) {
    const core::Node& node = context.graph().node(id);
    const std::span<const core::TensorId> inputs = context.inputs(rank, node);
    if (inputs.size() != 1) return {};
    parts.push_back({rank, inputs[0], node.outputs.empty() ? core::TensorId() : node.outputs[0]});
  }
  return parts;
}

core::Status add(Tensor& sum, const Tensor& part, const core::Node& node) {
  if (!core::isComputedFloating(part.dtype()))
    return Error(ErrorCode::kUnavailable,
                 node.name + ": msdbg does not add " + std::string(core::dtypeName(part.dtype())));
  if (!sum.valid()) {
    sum = part.clone();
    return core::Ok{};
  }
  if (part.dtype() != sum.dtype() || part.shape() != sum.shape())
    return Error(ErrorCode::kUnavailable, node.name + ": inputs of the ranks differ in shape");
  visitFloating(sum.dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::ranges::transform(sum.data<T>(), part.data<T>(), sum.data<T>().begin(), std::plus<T>());
  });
  return core::Ok{};
}

}  // namespace

core::Result<Tensor> recomputeCollective(EvaluationContext& context, const Gathered& gathered) {
  const core::Node& node = gathered.node;
  const bool received = togetherOf(node) == Together::kReceive;
  const std::vector<Part> parts = partsOf(context, gathered);
  if ((!isSum(node) && !received) || (parts.empty() && gathered.meeting.complete))
    return Error(ErrorCode::kUnavailable, node.name + ": " + node.opType + " is not a sum over ranks");
  if (!gathered.meeting.complete)
    return Error(ErrorCode::kUnavailable, node.name + ": not every rank is recorded");
  Tensor sum;
  for (const Part& part : parts) {
    MSDBG_ASSIGN(Tensor value, context.source.value(part.rank, context.iteration, part.input));
    if (received) return value;
    MSDBG_TRY(add(sum, value, node));
  }
  return sum;
}

namespace {

struct Row {
  Rank rank;
  core::TensorStatistics input, output;
};

/// The rows of all ranks of a sum; empty when one is missing.
std::vector<Row> rowsOf(EvaluationContext& context, const Gathered& gathered) {
  std::vector<Row> rows;
  if (!isSum(gathered.node) || !gathered.meeting.complete || gathered.node.outputs.size() != 1) return {};
  for (const Part& part : partsOf(context, gathered)) {
    Row row{part.rank, {}, {}};
    const StatisticsRow* input = context.rows.now(part.rank, part.input);
    if (!input) return {};
    row.input = input->values;
    const StatisticsRow* output = context.rows.now(part.rank, part.output);
    if (!output) return {};
    row.output = output->values;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

std::vector<Rank> ranksThatKeptTheirInput(EvaluationContext& context, const Gathered& gathered) {
  const std::vector<Row> rows = rowsOf(context, gathered);
  std::vector<Rank> kept;
  for (const Row& row : rows) {
    const bool othersAdd = std::ranges::any_of(rows, [&](const Row& other) {
      return other.rank != row.rank && other.input.zero < other.input.count;
    });
    if (othersAdd && row.input.hash == row.output.hash) kept.push_back(row.rank);
  }
  return kept;
}

std::optional<std::vector<Rank>> ranksOffTheMean(EvaluationContext& context, const Gathered& gathered) {
  const std::vector<Row> rows = rowsOf(context, gathered);
  double sum = 0, magnitude = 0;
  for (const Row& row : rows) {
    if (row.input.nonFinite() + row.output.nonFinite() > 0) return std::nullopt;
    sum += row.input.mean;
    magnitude += row.input.meanAbs;
  }
  if (rows.empty() || rows.front().input.count == 0) return std::nullopt;
  // Each addition is off by at most half a step of its result (2^-24 in float32); ten times that also covers
  // the means themselves.
  const double step = core::floatLimits(context.graph().tensor(gathered.node.outputs.front()).dtype).epsilon;
  const double tolerance = std::max(6e-7, 5 * step) * static_cast<double>(rows.size()) * magnitude + 1e-300;
  std::vector<Rank> off;
  for (const Row& row : rows)
    if (std::abs(row.output.mean - sum) > tolerance) off.push_back(row.rank);
  return off;
}

}  // namespace msdbg::watch
