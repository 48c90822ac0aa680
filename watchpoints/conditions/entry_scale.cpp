#include "watchpoints/conditions/entry_scale.h"

#include <algorithm>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/makers.h"

namespace msdbg::watch {
namespace {

using core::Node;
using core::Rank;
using core::TensorId;
using core::TensorRole;

constexpr double kOtherUse = 1e4, kOtherRank = 1e3;
constexpr int kIterations = 3;

double sizeOf(EvaluationContext& context, Rank rank, TensorId entry) {
  const StatisticsRow* row = context.rows.now(rank, entry);
  return row && row->values.nonFinite() == 0 ? row->values.meanAbs : 0;
}

}  // namespace

std::map<TensorId, std::vector<TensorId>> entriesByWeight(const core::Graph& graph) {
  std::map<TensorId, std::vector<TensorId>> all;
  const std::vector<bool> learnt = learntTensors(graph);
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward) continue;
    const auto isTrainedWeight = [&](TensorId input) {
      const core::TensorInfo& info = graph.tensor(input);
      return info.role == TensorRole::kParameter && info.trainable && info.shape.rank() > 1;
    };
    const auto weight = std::ranges::find_if(node.inputs, isTrainedWeight);
    if (weight == node.inputs.end()) continue;
    for (const TensorId input : node.inputs) {
      const core::TensorInfo& info = graph.tensor(input);
      const bool data =
          !learnt[input.index()] && info.role != TensorRole::kParameter && isFloating(info.dtype);
      if (!data) continue;
      std::vector<TensorId>& entries = all[*weight];
      if (std::ranges::find(entries, input) == entries.end()) entries.push_back(input);
    }
  }
  return all;
}

EntryScale::EntryScale(const core::Graph& graph) : m_entries(entriesByWeight(graph)) {}

void EntryScale::add(EvaluationContext& context) {
  for (const auto& [weight, entries] : m_entries) {
    for (const Rank rank : context.ranks) compareUses(context, rank, entries);
    if (context.ranks.size() > 1)
      for (const TensorId entry : entries) compareRanks(context, entry);
  }
}

void EntryScale::finish(EvaluationContext& context) {
  for (auto& [place, outlier] : m_outliers)
    if (outlier.iterations >= kIterations) context.findings.push_back(std::move(outlier.finding));
}

void EntryScale::compareUses(EvaluationContext& context, Rank rank, const std::vector<TensorId>& entries) {
  std::vector<std::pair<double, TensorId>> sizes;
  for (const TensorId entry : entries)
    if (const double size = sizeOf(context, rank, entry); size > 0) sizes.emplace_back(size, entry);
  if (sizes.size() < 2) return;
  const auto [least, most] = std::ranges::minmax_element(sizes);
  if (most->first <= kOtherUse * least->first) return;
  note(context, rank, most->second, most->first, least->first,
       "the same layer reads " + context.graph().tensor(least->second).fullName() +
           " in the same iteration, of another scale");
}

void EntryScale::compareRanks(EvaluationContext& context, TensorId entry) {
  std::vector<std::pair<double, Rank>> sizes;
  for (const Rank rank : context.ranks)
    if (const double size = sizeOf(context, rank, entry); size > 0) sizes.emplace_back(size, rank);
  std::ranges::sort(sizes);
  if (sizes.size() < 2 || sizes.back().first <= kOtherRank * sizes[sizes.size() - 2].first) return;
  note(context, sizes.back().second, entry, sizes.back().first, sizes[sizes.size() - 2].first,
       "rank " + std::to_string(sizes.back().second.value) + " reads data of another scale than " +
           (sizes.size() == 2 ? "rank " + std::to_string(sizes.front().second.value) : "the other ranks"));
}

void EntryScale::note(EvaluationContext& context, Rank rank, TensorId entry, double size, double other,
                      const std::string& than) {
  Outlier& outlier = m_outliers[{rank, entry}];
  if (outlier.iterations++ > 0) return;
  outlier.finding = findingAt(context, {context.iteration, rank, entry}, precedence::kStructure);
  outlier.finding.actual = size;
  outlier.finding.preset = other;
  outlier.finding.detail =
      than + ": mean|x| is " + core::formatShort(size) + " against " + core::formatShort(other);
}

}  // namespace msdbg::watch
