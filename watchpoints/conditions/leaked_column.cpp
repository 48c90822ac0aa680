#include "watchpoints/conditions/leaked_column.h"

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

}  // namespace

LeakedColumn::LeakedColumn(const Graph& graph) {
  for (const TensorId target : targets(graph))
    for (const core::TensorInfo& info : graph.tensors()) {
      const bool several = isData(graph, info.id) && info.dtype == graph.tensor(target).dtype &&
                           info.shape.known() && info.shape.rank() > 1;
      if (several && info.shape[0] == graph.tensor(target).shape[0] && info.shape.elements() > info.shape[0])
        m_pairs.push_back({target, info.id, {}, 0});
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
    return pair.columns.empty();
  });
}

void LeakedColumn::compare(Pair& pair, const Tensor& target, const Tensor& input) {
  const std::int64_t samples = target.elements(), width = samples > 0 ? input.elements() / samples : 0;
  if (samples < kSamples || width < 2) return pair.columns.clear();
  if (pair.batches++ == 0) {
    pair.columns.resize(static_cast<std::size_t>(width));
    std::iota(pair.columns.begin(), pair.columns.end(), 0);
  }
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
    if (pair.batches == 0 || pair.columns.empty()) continue;
    const core::TensorInfo &input = context.graph().tensor(pair.input),
                           &target = context.graph().tensor(pair.target);
    Finding finding =
        findingAt(context, {m_begin, context.allRanks.front(), pair.target}, precedence::kStructure);
    finding.detail = target.name + " is number " + std::to_string(pair.columns.front()) + " of the " +
                     std::to_string(input.shape.elements() / input.shape[0]) + " of each sample of " +
                     input.name +
                     ", bit for bit in every batch that was looked at: the model reads the answer";
    finding.advice =
        "Take the answer out of what the model reads: the column, or the last step of the window.";
    context.findings.push_back(std::move(finding));
    return;
  }
}

}  // namespace msdbg::watch
