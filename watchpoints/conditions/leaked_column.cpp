#include "watchpoints/conditions/leaked_column.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "watchpoints/conditions/makers.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::Tensor;
using core::TensorId;

namespace {

constexpr int kBatches = 3;
constexpr std::int64_t kSamples = 8;  // fewer are equal by chance

/// What the batch brings as the right answer of a difference: one number a sample.
std::vector<TensorId> targets(const Graph& graph) {
  const std::vector<bool> learnt = learntTensors(graph);
  std::vector<TensorId> all;
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward || node.opType != "Sub") continue;
    for (const std::size_t i : {0, 1}) {
      const TensorId brought = originOf(graph, node.inputs[i]);
      const core::TensorInfo& info = graph.tensor(brought);
      if (learnt[node.inputs[1 - i].index()] && isData(graph, brought) && isFloating(info.dtype) &&
          info.shape.known() && info.shape.rank() > 0 && info.shape.elements() == info.shape[0])
        all.push_back(brought);
    }
  }
  return all;
}

/// Of as many as the target has, `stride` apart, from `first` on: by least squares.
std::pair<double, double> lineOf(const Tensor& target, const Tensor& input, std::int64_t first,
                                 std::int64_t stride) {
  const std::int64_t n = target.elements();
  double meanX = 0, meanY = 0, xx = 0, xy = 0;
  for (std::int64_t i = 0; i < n; ++i) meanX += target.at(i), meanY += input.at(i * stride + first);
  meanX /= static_cast<double>(n), meanY /= static_cast<double>(n);
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = target.at(i) - meanX;
    xx += x * x, xy += x * (input.at(i * stride + first) - meanY);
  }
  const double slope = xx > 0 ? xy / xx : 0;
  return {slope, meanY - slope * meanX};
}

/// But for what rounding makes of it.
bool isLine(const Tensor& target, const Tensor& input, std::int64_t first, std::int64_t stride, double slope,
            double begin) {
  constexpr double kOfSpread = 1e-5;
  const double epsilon = core::floatLimits(input.dtype()).epsilon;
  double low = INFINITY, high = -INFINITY, farthest = 0;
  for (std::int64_t i = 0; i < target.elements(); ++i) {
    const double y = input.at(i * stride + first);
    low = std::min(low, y), high = std::max(high, y);
    farthest = std::max(farthest, std::abs(y - (slope * target.at(i) + begin)));
  }
  return slope != 0 && high > low &&
         farthest <= kOfSpread * (high - low) + 4 * epsilon * std::max(std::abs(low), std::abs(high));
}

}  // namespace

LeakedColumn::LeakedColumn(const Graph& graph) {
  for (const TensorId target : targets(graph))
    for (const core::TensorInfo& info : graph.tensors()) {
      const bool several = isData(graph, info.id) && info.dtype == graph.tensor(target).dtype &&
                           info.shape.known() && info.shape.rank() > 1;
      if (several && info.shape[0] == graph.tensor(target).shape[0] && info.shape.elements() > info.shape[0])
        m_pairs.push_back({.target = target, .input = info.id});
    }
}

void LeakedColumn::add(EvaluationContext& context) {
  if (m_pairs.empty() || context.ranks.empty()) return;
  if (!m_begin.valid()) m_begin = context.iteration;
  std::erase_if(m_pairs, [&](Pair& pair) {
    const core::Rank rank = context.rankWith(pair.target);
    if (pair.batches == kBatches) return false;
    const core::Result<Tensor> target = context.source.value(rank, context.iteration, pair.target);
    if (!target.ok()) return false;
    const core::Result<Tensor> input = context.source.value(rank, context.iteration, pair.input);
    if (!input.ok()) return false;
    ++context.evaluated;
    compare(pair, *target, *input);
    return pair.columns.empty() && pair.lines.empty();
  });
}

void LeakedColumn::compare(Pair& pair, const Tensor& target, const Tensor& input) {
  const std::int64_t samples = target.elements(), width = samples > 0 ? input.elements() / samples : 0;
  if (samples < kSamples || width < 2) return pair.columns.clear(), pair.lines.clear();
  if (pair.batches++ == 0) {
    pair.columns.resize(static_cast<std::size_t>(width));
    std::iota(pair.columns.begin(), pair.columns.end(), 0);
    for (std::int64_t column = 0; column < width; ++column) {
      const auto [slope, begin] = lineOf(target, input, column, width);
      pair.lines.push_back({column, slope, begin});
    }
  }
  std::erase_if(pair.lines, [&](const Line& line) {
    return line.column >= width || !isLine(target, input, line.column, width, line.slope, line.begin);
  });
  bool varied = false;
  for (std::int64_t i = 0; i < samples; ++i) {
    varied = varied || target.at(i) != target.at(0);
    std::erase_if(pair.columns, [&](std::int64_t column) {
      return column >= width || input.at(i * width + column) != target.at(i);
    });
  }
  if (!varied) pair.columns.clear();
}

void LeakedColumn::finish(EvaluationContext& context) const {
  for (const Pair& pair : m_pairs) {
    if (pair.batches == 0) continue;
    const core::Shape& shape = context.graph().tensor(pair.input).shape;
    const std::int64_t width = shape.elements() / shape[0];
    if (!pair.columns.empty()) return tell(context, pair, pair.columns.front(), true);
    // Of what lies on a line as a whole, a ramp, every column is one.
    if (!pair.lines.empty() && 2 * std::ssize(pair.lines) <= width && pair.batches == kBatches)
      return tell(context, pair, pair.lines.front().column, false);
  }
}

void LeakedColumn::tell(EvaluationContext& context, const Pair& pair, std::int64_t column, bool equal) const {
  const core::TensorInfo &input = context.graph().tensor(pair.input),
                         &target = context.graph().tensor(pair.target);
  Finding finding =
      findingAt(context, {m_begin, context.allRanks.front(), pair.target}, precedence::kStructure);
  const std::string number = "number " + std::to_string(column) + " of the " +
                             std::to_string(input.shape.elements() / input.shape[0]) + " of each sample of " +
                             input.name;
  finding.detail =
      equal ? target.name + " is " + number +
                  ", bit for bit in every batch that was looked at: the model reads the answer"
            : number + " is " + target.name +
                  ", scaled and shifted, in every batch that was looked at: does the model read the "
                  "answer?";
  if (!equal) finding.severity = Severity::kHint;
  finding.advice = "Take the answer out of what the model reads: the column, or the last step of the window.";
  context.findings.push_back(std::move(finding));
}

}  // namespace msdbg::watch
