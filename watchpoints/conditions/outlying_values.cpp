#include "watchpoints/conditions/outlying_values.h"

#include <cmath>
#include <tuple>

#include "core_engine/base/text.h"

namespace msdbg::watch {
namespace {

constexpr double kTimes = 1000;
constexpr std::int64_t kLeastIterations = 10;
constexpr std::int64_t kLeastElements = 16;  // fewer are scales and losses, which vary more

bool isForward(const core::Graph& graph, const core::TensorInfo& info) {
  if (!isFloating(info.dtype)) return false;
  if (info.isSource()) return info.role == core::TensorRole::kInput;
  return graph.node(info.producer).phase == core::Phase::kForward;
}

}  // namespace

OutlyingValues::OutlyingValues(const core::Graph& graph)
    : m_tensors(selectTensors(graph, [&](const core::TensorInfo& info) { return isForward(graph, info); })) {}

void OutlyingValues::add(EvaluationContext& context) {
  if (context.rows.none()) return;
  for (const core::Rank rank : context.ranks) {
    std::vector<Seen>& all = m_seen[rank];
    all.resize(m_tensors.size());
    for (std::size_t i = 0; i < m_tensors.size(); ++i) {
      const StatisticsRow* row = context.rows.now(rank, m_tensors[i]);
      if (!row || row->values.count < kLeastElements || row->values.nonFinite() > 0) continue;
      const double size = row->values.l2 / std::sqrt(static_cast<double>(row->values.count));
      Seen& seen = all[i];
      const bool isFirst = seen.count++ == 0;
      if (size > seen.largest) {
        seen.second = seen.largest;
        seen.largest = size;
        seen.iteration = isFirst ? core::Iteration() : context.iteration;
      } else if (size > seen.second) {
        seen.second = size;
      }
    }
  }
}

bool OutlyingValues::isOutlying(const Seen& seen) {
  return seen.count >= kLeastIterations && seen.iteration.valid() && seen.second > 0 &&
         seen.largest >= kTimes * seen.second;
}

std::optional<Finding> OutlyingValues::first(EvaluationContext& context) const {
  const core::Graph& graph = context.graph();
  std::optional<std::tuple<core::Iteration, std::int64_t, core::Rank, std::size_t>> least;
  for (const auto& [rank, all] : m_seen)
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!isOutlying(all[i])) continue;
      const core::TensorInfo& info = graph.tensor(m_tensors[i]);
      const std::tuple place(all[i].iteration, info.isSource() ? -1 : info.producer.value, rank, i);
      if (!least || place < *least) least = place;
    }
  if (!least) return std::nullopt;
  const auto& [iteration, order, rank, i] = *least;
  const Seen& seen = m_seen.at(rank)[i];
  Finding finding = findingAt(context, {iteration, rank, m_tensors[i]}, precedence::kSymptom);
  finding.detail = "its root mean square is " + core::formatShort(seen.largest) +
                   " in this iteration, and at most " + core::formatShort(seen.second) + " in the " +
                   std::to_string(seen.count - 1) + " others";
  finding.actual = seen.largest;
  finding.preset = kTimes * seen.second;
  return finding;
}

}  // namespace msdbg::watch
