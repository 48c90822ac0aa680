// One rank whose loss stays where it began while that of the others falls: they share their weights, so it is
// its data or its labels that are other ones.
#include <algorithm>
#include <cmath>
#include <map>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/outcome.h"

namespace msdbg::watch {
namespace {

using core::Rank;
using core::TensorId;

class RankLossGap : public Evaluator {
 public:
  explicit RankLossGap(const core::Graph& graph)
      : m_loss(followedTensor(graph, {})), m_classes(classesOfLoss(graph)) {
    for (const core::TensorRole role : {core::TensorRole::kInput, core::TensorRole::kLabel})
      for (const core::TensorInfo& info : graph.tensors())
        if (info.role == role) m_data = info.id;  // the label, where there is one
  }

  void evaluate(EvaluationContext& context) override {
    if (!m_loss.valid() || !m_data.valid() || context.allRanks.size() < 2) return;
    if (context.ranks.size() != context.allRanks.size()) return;
    if (!m_begin.valid()) m_begin = context.iteration;
    for (const Rank rank : context.ranks) {
      const StatisticsRow* row = context.rows.now(rank, m_loss);
      if (!row || row->values.nonFinite() > 0) continue;
      m_losses[rank].push_back({context.iteration, row->values.mean});
      ++context.evaluated;
    }
  }

  void finish(EvaluationContext& context) override {
    std::vector<Ends> ends;
    for (const auto& [rank, losses] : m_losses)
      if (losses.size() >= kLeast) ends.push_back(endsOf(rank, losses));
    if (ends.size() < 2 || ends.size() != m_losses.size()) return;
    std::ranges::sort(ends, {}, [](const Ends& e) { return e.last.mean; });
    const Ends &next = ends[ends.size() - 2], &worst = ends.back();
    const double gap = worst.last.mean - next.last.mean;
    if (next.last.mean <= 0 || gap < kNoise * std::hypot(worst.last.error, next.last.error)) return;
    if (worst.last.mean < kFactor * next.last.mean || next.last.mean > kLearnt * next.first.mean) return;
    const double guessing = m_classes > 1 ? std::log(static_cast<double>(m_classes)) : INFINITY;
    if (worst.last.mean < kStays * std::min(worst.first.mean, guessing)) return;
    const bool two = ends.size() == 2;
    Finding finding = findingAt(context, {m_begin, worst.rank, m_data}, precedence::kStructure);
    finding.actual = worst.last.mean;
    finding.preset = kFactor * next.last.mean;
    finding.detail =
        "the loss of rank " + std::to_string(worst.rank.value) + " goes from " +
        core::formatShort(worst.first.mean) + " to " + core::formatShort(worst.last.mean) + ", that of " +
        (two ? "rank " + std::to_string(next.rank.value) : "the other ranks") + " from " +
        core::formatShort(next.first.mean) + " to " + (two ? "" : "at most ") +
        core::formatShort(next.last.mean) +
        ": with the same weights its data or labels are other ones; do its labels belong to its samples?";
    context.findings.push_back(std::move(finding));
  }

 private:
  static constexpr std::size_t kLeast = 16;
  static constexpr double kFactor = 1.5;
  static constexpr double kNoise = 5;     // errors of the difference
  static constexpr double kLearnt = 0.7;  // of the loss at the beginning is left
  static constexpr double kStays = 0.85;

  struct Ends {
    Rank rank;
    LossWindow first, last;  // quarters
  };
  static Ends endsOf(Rank rank, std::span<const Outcome::Loss> losses) {
    const std::size_t quarter = losses.size() / 4;
    return {rank, windowOf(losses.first(quarter)), windowOf(losses.last(quarter))};
  }

  TensorId m_loss, m_data;
  std::int64_t m_classes;  // of a loss that is a cross-entropy
  core::Iteration m_begin;
  std::map<Rank, std::vector<Outcome::Loss>> m_losses;
};

}  // namespace

ConditionDef rankLossGapCondition() {
  ConditionDef def;
  def.id = "rank_loss_gap";
  def.title = "One rank does not learn";
  def.doc =
      "The loss of one rank ends (mean of the last quarter) above 0.85 of its beginning, or of what guessing "
      "costs, and "
      "above 1.5 times that of any other rank, while every other one ends below 0.7 of its beginning; 16 "
      "recorded "
      "losses at least.";
  def.advice =
      "Compare what the loader gives that rank: an offset of its own, a shuffle of one file only, another "
      "class list.";
  def.target = Target::kLoss;
  def.needsAllRanks = true;
  def.make = [](const core::Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return std::make_unique<RankLossGap>(graph);
  };
  def.notOnline = [](const Parameters&, bool) -> std::string { return "the end of the run decides it"; };
  return def;
}

}  // namespace msdbg::watch
