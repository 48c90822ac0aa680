#include "watchpoints/conditions/rescaled.h"

#include <cmath>

#include "core_engine/base/text.h"

namespace msdbg::watch {
namespace {

constexpr double kOther = 1.5;       // times, up or down: another level
constexpr double kSameFactor = 1.3;  // two changes by so nearly the same factor are one and the same
constexpr double kSameLength = 1.5;  // two levels that last so nearly as long are an epoch each
constexpr int kLeast = 3;            // iterations of a level, and levels
constexpr std::size_t kMost = 64;    // levels: more are no levels

bool entersForward(const core::Graph& graph, const core::TensorInfo& info) {
  const bool data = info.role == core::TensorRole::kInput || info.role == core::TensorRole::kLabel ||
                    info.role == core::TensorRole::kConstant;
  return data && info.isSource() && isFloating(info.dtype) && info.shape.rank() > 1 &&
         std::ranges::any_of(graph.consumers(info.id), [&](core::NodeId user) {
           return graph.node(user).phase == core::Phase::kForward;
         });
}

double factorOf(double a, double b) { return a > b ? a / b : b / a; }

}  // namespace

RescaledData::RescaledData(const core::Graph& graph)
    : m_tensors(
          selectTensors(graph, [&](const core::TensorInfo& info) { return entersForward(graph, info); })) {}

void RescaledData::add(EvaluationContext& context) {
  for (const core::Rank rank : context.ranks)
    for (const core::TensorId tensor : m_tensors) {
      const StatisticsRow* row = context.rows.now(rank, tensor);
      if (!row || row->values.nonFinite() > 0 || row->values.meanAbs <= 0) continue;
      Levels& levels = m_levels[{rank, tensor}];
      if (levels.empty() || factorOf(row->values.meanAbs, levels.back().size) > kOther) {
        if (levels.size() < kMost) levels.push_back({context.iteration, row->values.meanAbs, 0});
      }
      ++levels.back().iterations;
    }
}

void RescaledData::finish(EvaluationContext& context, const Outcome& outcome) const {
  for (const auto& [place, levels] : m_levels) {
    if (levels.size() < kLeast || levels.size() >= kMost) continue;
    const bool all = std::ranges::all_of(levels, [](const Level& l) { return l.iterations >= kLeast; });
    // The first change may also move what does not lie around 0.
    const double factor = levels[2].size / levels[1].size;
    bool same = all;
    for (std::size_t i = 2; i < levels.size(); ++i)
      same = same && factorOf(levels[i].size / levels[i - 1].size, factor) < kSameFactor;
    // All but the last, which the end of the run cuts short, are an epoch. What an agent sees changes too.
    for (std::size_t i = 1; same && i + 1 < levels.size(); ++i)
      same = factorOf(levels[i].iterations, levels[0].iterations) < kSameLength;
    const core::Iteration changed = levels[1].begin;
    if (!same || (outcome.finite() && outcome.recoveredSince(changed))) continue;
    Finding finding = findingAt(context, {changed, place.first, place.second}, precedence::kStructure);
    finding.actual = levels.back().size;
    finding.detail =
        "the data change their scale again and again: mean|x| is " + core::formatShort(levels[0].size);
    for (std::size_t i = 1; i < std::min<std::size_t>(levels.size(), 4); ++i)
      finding.detail += ", " + core::formatShort(levels[i].size) + " from iteration " +
                        std::to_string(levels[i].begin.value) + " on";
    finding.detail += ": what normalises them writes into the data set, which the next epoch reads";
    finding.advice =
        "Look for x -= …, x /= …, sub_() and the like on what is a part of the data set: x = (x - mean) / "
        "std makes a new tensor.";
    context.findings.push_back(std::move(finding));
    return;  // one says it
  }
}

}  // namespace msdbg::watch
