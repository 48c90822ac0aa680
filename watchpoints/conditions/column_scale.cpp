#include "watchpoints/conditions/column_scale.h"

#include <algorithm>
#include <cmath>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/makers.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::TensorId;

namespace {

constexpr int kBatches = 3;
constexpr std::size_t kFewest = 3, kMost = 4096;  // columns: of two nobody says which is the usual one
constexpr std::int64_t kSamples = 8;
constexpr double kApart = 100, kLarge = 20;  // times the median; what no weights are made for

bool isMultiplied(const Graph& graph, TensorId input) {
  return std::ranges::any_of(graph.consumers(input), [&](core::NodeId user) {
    const Node& node = graph.node(user);
    return node.phase == core::Phase::kForward && (node.opType == "Gemm" || node.opType == "MatMul") &&
           node.inputs[0] == input;
  });
}

}  // namespace

ColumnScale::ColumnScale(const Graph& graph) {
  for (const core::TensorInfo& info : graph.tensors()) {
    if (!isData(graph, info.id) || !isFloating(info.dtype) || !info.shape.known() || info.shape.rank() != 2)
      continue;
    const auto columns = static_cast<std::size_t>(info.shape[1]);
    if (columns >= kFewest && columns <= kMost && isMultiplied(graph, info.id))
      m_tables.push_back({.input = info.id, .squares = std::vector<double>(columns)});
  }
}

void ColumnScale::add(EvaluationContext& context) {
  if (context.ranks.empty()) return;
  if (!m_begin.valid()) m_begin = context.iteration;
  for (Table& table : m_tables) {
    if (table.batches == kBatches) continue;
    const core::Result<core::Tensor> value =
        context.source.value(context.rankWith(table.input), context.iteration, table.input);
    if (!value.ok()) continue;
    ++context.evaluated;
    ++table.batches;
    add(table, *value);
  }
}

void ColumnScale::add(Table& table, const core::Tensor& value) {
  const auto columns = static_cast<std::int64_t>(table.squares.size());
  const std::int64_t samples = value.elements() / columns;
  for (std::int64_t i = 0; i < samples * columns; ++i)
    table.squares[static_cast<std::size_t>(i % columns)] += value.at(i) * value.at(i);
  table.samples += samples;
}

void ColumnScale::finish(EvaluationContext& context) const {
  for (const Table& table : m_tables) {
    if (table.samples < kSamples) continue;
    std::vector<double> sizes;
    for (const double square : table.squares)
      sizes.push_back(std::sqrt(square / static_cast<double>(table.samples)));
    std::vector<double> sorted = sizes;
    std::ranges::sort(sorted);
    const double median = sorted[sorted.size() / 2];
    const auto most = std::ranges::max_element(sizes);
    if (!std::isfinite(*most) || *most < kLarge || *most < kApart * median || median == 0) continue;
    Finding finding =
        findingAt(context, {m_begin, context.allRanks.front(), table.input}, precedence::kStructure);
    finding.severity = Severity::kHint;
    finding.actual = *most;
    finding.detail = "column " + std::to_string(most - sizes.begin()) + " of " +
                     std::to_string(sizes.size()) + " (counted from 0) is of another scale: its root mean " +
                     "square is " + core::formatShort(*most) + ", that of the columns in the middle " +
                     core::formatShort(median) + "; the first layer sees little else";
    finding.advice =
        "Scale every column: take its mean away and divide by its deviation. Look at where the loop over the "
        "columns ends.";
    context.findings.push_back(std::move(finding));
  }
}

}  // namespace msdbg::watch
