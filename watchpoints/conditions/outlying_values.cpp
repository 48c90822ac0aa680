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
    : m_tensors(selectTensors(graph, [&](const core::TensorInfo& info) { return isForward(graph, info); })),
      m_seen(m_tensors.size()) {}

std::optional<std::pair<float, core::Rank>> OutlyingValues::sizeOf(EvaluationContext& context,
                                                                   core::TensorId tensor) const {
  std::optional<std::pair<float, core::Rank>> largest;
  for (const core::Rank rank : context.ranks) {
    const StatisticsRow* row = context.rows.now(rank, tensor);
    if (!row || row->values.count < kLeastElements || row->values.nonFinite() > 0) continue;
    const auto size = static_cast<float>(row->values.l2 / std::sqrt(static_cast<double>(row->values.count)));
    if (!largest || size > largest->first) largest = {size, rank};
  }
  return largest;
}

void OutlyingValues::add(EvaluationContext& context) {
  if (context.rows.none()) return;
  const auto number = static_cast<std::int32_t>(m_iterations.size());
  m_iterations.push_back(context.iteration);
  for (std::size_t i = 0; i < m_tensors.size(); ++i) {
    const auto size = sizeOf(context, m_tensors[i]);
    if (!size) continue;
    Seen& seen = m_seen[i];
    const bool isFirst = seen.count++ == 0;
    if (size->first > seen.largest) {
      seen.second = seen.largest;
      seen.largest = size->first;
      seen.rank = static_cast<std::int32_t>(size->second.value);
      seen.at = isFirst ? kFirst : number;
    } else if (size->first > seen.second) {
      seen.second = size->first;
    }
  }
}

bool OutlyingValues::isOutlying(const Seen& seen) {
  return seen.count >= kLeastIterations && seen.at != kFirst && seen.second > 0 &&
         static_cast<double>(seen.largest) >= kTimes * static_cast<double>(seen.second);
}

std::optional<Finding> OutlyingValues::first(EvaluationContext& context) const {
  const core::Graph& graph = context.graph();
  std::optional<std::tuple<core::Iteration, std::int64_t, std::size_t>> least;
  for (std::size_t i = 0; i < m_seen.size(); ++i) {
    if (!isOutlying(m_seen[i])) continue;
    const core::TensorInfo& info = graph.tensor(m_tensors[i]);
    const std::tuple place(m_iterations[static_cast<std::size_t>(m_seen[i].at)],
                           info.isSource() ? -1 : info.producer.value, i);
    if (!least || place < *least) least = place;
  }
  if (!least) return std::nullopt;
  const auto& [iteration, order, i] = *least;
  const Seen& seen = m_seen[i];
  Finding finding =
      findingAt(context, {iteration, core::Rank(seen.rank), m_tensors[i]}, precedence::kSymptom);
  finding.detail = "its root mean square is " + core::formatShort(seen.largest) +
                   " in this iteration, and at most " + core::formatShort(seen.second) + " in the " +
                   std::to_string(seen.count - 1) + " others";
  finding.actual = seen.largest;
  finding.preset = kTimes * seen.second;
  return finding;
}

}  // namespace msdbg::watch
