#include "watchpoints/conditions/faint_input.h"

#include <algorithm>
#include <cmath>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/makers.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::TensorId;

FaintInput::FaintInput(const Graph& graph) {
  static constexpr auto kLayers = std::to_array<std::string_view>({"Gemm", "MatMul", "Conv"});
  const std::vector<bool> learnt = learntTensors(graph);
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward || !isOneOf(&node, kLayers)) continue;
    if (learnt[node.inputs[0].index()] || !learnt[node.inputs[1].index()]) continue;
    const TensorId given = originOf(graph, node.inputs[0]);
    if (isFloating(graph.tensor(given).dtype) &&
        std::ranges::none_of(m_read, [&](const Read& read) { return read.tensor == given; }))
      m_read.push_back({given});
  }
}

void FaintInput::add(EvaluationContext& context) {
  if (!m_begin.valid()) m_begin = context.iteration;
  for (const core::Rank rank : context.ranks)
    for (Read& read : m_read)
      if (const StatisticsRow* row = context.rows.now(rank, read.tensor)) {
        ++context.evaluated;
        const bool finite = row->values.nonFinite() == 0;
        read.reach = std::max(
            {read.reach, std::abs(row->values.min), std::abs(row->values.max), finite ? 0.0 : INFINITY});
        read.least = std::min(read.least, row->values.min);
        read.most = std::max(read.most, row->values.max);
      }
}

/// Fractions that were normalised as bytes are: around -1, all of them. A constant is one on purpose.
void FaintInput::addAlike(EvaluationContext& context, const Outcome& outcome, const Read& read) const {
  constexpr double kAlike = 0.02;  // of their size
  const double range = read.most - read.least;
  if (range <= 0 || range >= kAlike * read.reach) return;
  Finding finding =
      findingAt(context, {m_begin, context.allRanks.front(), read.tensor}, precedence::kStructure);
  finding.actual = range;
  finding.preset = kAlike * read.reach;
  finding.detail = "all of its numbers lie between " + core::formatShort(read.least) + " and " +
                   core::formatShort(read.most) +
                   " in the whole run, and the first layer reads it: next to nothing tells one sample from "
                   "another; was it normalised for data of another range, as bytes where it has fractions?";
  finding.advice =
      "Take the mean away and divide by the deviation of what arrives here, not of what was in the "
      "files.";
  finding.excused = outcome.finite() && outcome.recoveredSince(m_begin);
  context.findings.push_back(std::move(finding));
}

void FaintInput::finish(EvaluationContext& context, const Outcome& outcome) const {
  constexpr double kFaint = 0.01;
  for (const Read& read : m_read) {
    if (std::isfinite(read.reach)) addAlike(context, outcome, read);
    if (read.reach == 0 || read.reach >= kFaint) continue;
    Finding finding =
        findingAt(context, {m_begin, context.allRanks.front(), read.tensor}, precedence::kStructure);
    finding.actual = read.reach;
    finding.preset = kFaint;
    finding.detail = "no number of it is above " + core::formatShort(read.reach) +
                     " in the whole run, and the first layer reads it: far too small for weights as they are "
                     "initialised; was it scaled twice?";
    finding.excused = outcome.finite() && outcome.recoveredSince(m_begin);
    context.findings.push_back(std::move(finding));
  }
}

}  // namespace msdbg::watch
