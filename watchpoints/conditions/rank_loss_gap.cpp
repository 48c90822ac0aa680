// One rank whose loss stays where it began while that of the others falls, or lies above theirs from the
// beginning to the end: they share their weights, so it is its data or its labels that are other ones. Where
// they do not, that is the cause, and rank_divergence names it.
#include <algorithm>
#include <cmath>
#include <map>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/outcome.h"

namespace msdbg::watch {
namespace {

using core::Rank;
using core::TensorId;

/// What the inputs of one rank are like, summed over iterations.
struct Spread {
  double mean = 0, std = 0, iterations = 0;
  void add(const core::TensorStatistics& values) { mean += values.mean, std += values.std, ++iterations; }
};

class RankLossGap : public Evaluator {
 public:
  explicit RankLossGap(const core::Graph& graph)
      : m_loss(followedTensor(graph, {})),
        m_classes(classesOfLoss(graph)),
        m_shared(selectTensors(graph, [&](const core::TensorInfo& info) {
          return info.isSource() && isReplicated(graph, info);
        })) {
    for (const core::TensorRole role : {core::TensorRole::kInput, core::TensorRole::kLabel})
      for (const core::TensorInfo& info : graph.tensors()) {
        if (info.role != role) continue;
        m_data = info.id;  // the label, where there is one
        if (isFloating(info.dtype)) m_inputs.push_back(info.id);
      }
  }

  void evaluate(EvaluationContext& context) override {
    if (!m_loss.valid() || !m_data.valid() || context.allRanks.size() < 2) return;
    if (context.ranks.size() != context.allRanks.size()) return;
    if (!m_begin.valid()) m_begin = context.iteration;
    m_parted = m_parted || std::ranges::any_of(m_shared, [&](TensorId id) { return differs(context, id); });
    if (m_parted) return;
    for (const Rank rank : context.ranks) {
      const StatisticsRow* row = context.rows.now(rank, m_loss);
      if (!row || row->values.nonFinite() > 0) continue;
      m_losses[rank].push_back({context.iteration, row->values.mean});
      ++context.evaluated;
      for (const TensorId input : m_inputs)
        if (const StatisticsRow* data = context.rows.now(rank, input); data && data->values.nonFinite() == 0)
          m_spreads[{input, rank}].add(data->values);
    }
  }

  void finish(EvaluationContext& context) override {
    if (m_parted) return;
    std::vector<Ends> ends;
    for (const auto& [rank, losses] : m_losses)
      if (losses.size() >= kLeast) ends.push_back(endsOf(rank, losses));
    if (ends.size() < 2 || ends.size() != m_losses.size()) return;
    std::ranges::sort(ends, {}, [](const Ends& e) { return e.last.mean; });
    const Ends &next = ends[ends.size() - 2], &worst = ends.back();
    if (next.last.mean <= 0 || next.last.mean > kLearnt * std::max(next.begin, next.first.mean)) return;
    const bool stays = staysBehind(worst, next);
    if (!stays && !isAlwaysAbove(ends)) return;
    Finding finding = findingAt(context, {m_begin, worst.rank, m_data}, precedence::kStructure);
    finding.actual = worst.last.mean;
    finding.preset = kFactor * next.last.mean;
    const std::string others =
        ends.size() == 2 ? "rank " + std::to_string(next.rank.value) : "the other ranks";
    finding.detail = "the loss of rank " + std::to_string(worst.rank.value) + " goes from " +
                     core::formatShort(worst.first.mean) + " to " + core::formatShort(worst.last.mean) +
                     ", that of " + others + " from " + core::formatShort(next.first.mean) + " to " +
                     (ends.size() == 2 ? "" : "at most ") + core::formatShort(next.last.mean) +
                     ": with the same weights its data or labels are other ones; ";
    if (std::string text = otherSpread(context.graph(), worst.rank, others, finding.tensor); !text.empty())
      finding.detail += text;
    else
      finding.detail +=
          "do its labels belong to its samples, are its classes numbered and its data "
          "preprocessed as elsewhere?";
    if (!stays && worst.last.mean < kHalf * worst.first.mean) finding.severity = Severity::kHint;
    context.findings.push_back(std::move(finding));
  }

 private:
  static constexpr std::size_t kLeast = 16;
  static constexpr double kFactor = 1.5;
  static constexpr double kNoise = 5;     // errors of the difference
  static constexpr double kLearnt = 0.7;  // of the loss at the beginning is left
  static constexpr double kStays = 0.85, kHalf = 0.5;
  static constexpr double kFitted = 0.02;  // of its beginning: what is left of a loss is as chance has it
  static constexpr double kApart = 0.25;   // of its distance to the next: how far the others may be apart

  struct Ends {
    Rank rank;
    LossWindow first, last;  // quarters
    double begin;            // mean of the first few
  };
  /// Whether two ranks hold different values of what is one for all of them.
  static bool differs(EvaluationContext& context, TensorId tensor) {
    std::optional<core::Hash128> first;
    for (const Rank rank : context.ranks) {
      const StatisticsRow* row = context.rows.now(rank, tensor);
      if (!row) continue;
      if (first && *first != row->values.hash) return true;
      first = row->values.hash;
    }
    return false;
  }

  static Ends endsOf(Rank rank, std::span<const Outcome::Loss> losses) {
    const std::size_t quarter = losses.size() / 4;
    const std::size_t few = std::max<std::size_t>(2, losses.size() / 32);
    return {rank, windowOf(losses.first(quarter)), windowOf(losses.last(quarter)),
            windowOf(losses.first(few)).mean};
  }

  bool staysBehind(const Ends& worst, const Ends& next) const {
    const double gap = worst.last.mean - next.last.mean;
    if (gap < kNoise * std::hypot(worst.last.error, next.last.error)) return false;
    const double guessing = m_classes > 1 ? std::log(static_cast<double>(m_classes)) : INFINITY;
    return worst.last.mean >= kFactor * next.last.mean &&
           worst.last.mean >= kStays * std::min(worst.first.mean, guessing);
  }

  /// Learns, but lies above every other rank in both halves of the run; the others agree among themselves.
  bool isAlwaysAbove(std::span<const Ends> ends) const {
    const Ends& worst = ends.back();
    const std::vector<Outcome::Loss>& mine = m_losses.at(worst.rank);
    if (worst.last.mean < kFitted * worst.first.mean) return false;
    for (const Ends& other : ends.first(ends.size() - 1)) {
      const std::vector<Outcome::Loss>& its = m_losses.at(other.rank);
      if (its.size() != mine.size()) return false;
      std::vector<Outcome::Loss> above;
      double sum = 0;
      for (std::size_t i = 0; i < mine.size(); ++i) {
        above.push_back({mine[i].iteration, mine[i].value - its[i].value});
        if (i >= mine.size() / 2) sum += its[i].value;
      }
      const std::size_t half = mine.size() / 2;
      const LossWindow early = windowOf(std::span(above).first(half)),
                       late = windowOf(std::span(above).subspan(half));
      const double level = sum / static_cast<double>(mine.size() - half);
      const bool lasting = early.mean > kInEach * early.error && late.mean > kInEach * late.error &&
                           early.mean / early.error + late.mean / late.error > kInBoth;
      if (!lasting || late.mean < (kFactor - 1) * level) return false;
      if (other.last.mean - ends.front().last.mean > kApart * (worst.last.mean - other.last.mean))
        return false;
    }
    return true;
  }
  static constexpr double kInEach = 2, kInBoth = 5;  // errors: in each half, and the sum of the two

  /// In words, where an input of the rank is spread otherwise than that of the others; sets where.
  std::string otherSpread(const core::Graph& graph, Rank rank, const std::string& others,
                          TensorId& where) const {
    constexpr double kShift = 0.5, kStretch = 1.5;  // deviations of the others; times theirs
    for (const TensorId input : m_inputs) {
      Spread mine, rest;
      for (const auto& [place, spread] : m_spreads) {
        if (place.first != input) continue;
        Spread& sum = place.second == rank ? mine : rest;
        sum.mean += spread.mean, sum.std += spread.std, sum.iterations += spread.iterations;
      }
      if (mine.iterations == 0 || rest.iterations == 0) continue;
      const double mean = mine.mean / mine.iterations, std = mine.std / mine.iterations;
      const double itsMean = rest.mean / rest.iterations, itsStd = rest.std / rest.iterations;
      const bool shifted = std::abs(mean - itsMean) > kShift * itsStd;
      if (!shifted && std < kStretch * itsStd && std * kStretch > itsStd) continue;
      where = input;
      return "its " + graph.tensor(input).name + " has the mean " + core::formatShort(mean) +
             " and the deviation " + core::formatShort(std) + ", that of " + others + " " +
             core::formatShort(itsMean) + " and " + core::formatShort(itsStd) +
             ": is it normalised and preprocessed alike?";
    }
    return {};
  }

  TensorId m_loss, m_data;
  std::vector<TensorId> m_inputs;  // of floating-point numbers
  std::int64_t m_classes;          // of a loss that is a cross-entropy
  std::vector<TensorId> m_shared;  // weights, states and rates: equal on all ranks
  bool m_parted = false;           // they were not
  core::Iteration m_begin;
  std::map<Rank, std::vector<Outcome::Loss>> m_losses;
  std::map<std::pair<TensorId, Rank>, Spread> m_spreads;
};

}  // namespace

ConditionDef rankLossGapCondition() {
  ConditionDef def;
  def.id = "rank_loss_gap";
  def.title = "One rank learns less than the others";
  def.doc =
      "The loss of one rank ends (mean of the last quarter) above 0.85 of its beginning, or of what guessing "
      "costs, and above 1.5 times that of any other rank, while every other one ends below 0.7 of its "
      "beginning (the first quarter, or the first few); or it lies above each of them in both halves of the "
      "run, by a half in the second, and they "
      "agree (a hint where it falls to a half all the same); 16 recorded losses at least. Silent where "
      "weights or learning "
      "rates differ between ranks.";
  def.advice =
      "Compare what the loader gives that rank: an offset of its own, a shuffle of one file only, another "
      "class list, another normalisation.";
  def.target = Target::kLoss;
  def.needsAllRanks = true;
  def.rowsOnly = true;
  def.make = [](const core::Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return std::make_unique<RankLossGap>(graph);
  };
  def.notOnline = [](const Parameters&, bool) -> std::string { return "the end of the run decides it"; };
  return def;
}

}  // namespace msdbg::watch
