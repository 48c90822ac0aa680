#include <algorithm>
#include <functional>
#include <map>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/change.h"
#include "watchpoints/conditions/guessing.h"
#include "watchpoints/conditions/outcome.h"
#include "watchpoints/conditions/rate_schedule.h"
#include "watchpoints/conditions/updates.h"

namespace msdbg::watch {
namespace {

class ChangeTooSmall : public Evaluator {
 public:
  ChangeTooSmall(const core::Graph& graph, const Parameters& parameters)
      : m_ratio(graph, parameters, false) {}
  void evaluate(EvaluationContext& context) override {
    m_ratio.evaluate(context, "abs_mean_update_ratio_lt");
  }

 private:
  UpdateRatio m_ratio;
};

/// Of the recommended set, one hint a run: no weight moved by as much as a millionth of itself in any step;
/// or the loss stands still, and all steps together moved no weight by more than a twentieth, or the rate was
/// as good as zero from early on. A single slow weight, or a slow start, is nothing.
class NothingMoves : public Evaluator {
 public:
  explicit NothingMoves(const core::Graph& graph)
      : m_walk(graph, weightUpdates(graph), true), m_outcome(graph), m_guessing(graph) {
    for (const ParameterUpdate& update : parameterUpdates(graph))
      m_updates.emplace(update.next, Update{update, isZeroInitialised(graph.tensor(update.parameter))});
  }

  void evaluate(EvaluationContext& context) override {
    m_outcome.add(context);
    m_guessing.add(context);
    std::optional<double> rate;
    bool moves = false;
    m_walk.forEach(context, [&](const Place& place, const StatisticsRow& row) {
      if (const auto now = rateAt(context, place); now && !rate) rate = now;
      const std::optional<core::ChangeStatistics> change = changeOf(context, place, row);
      if (!change) return;
      ++context.evaluated;
      moves = moves || change->meanAbsChange > 0;
      // What starts at zero is as large as its steps.
      if (change->meanAbsPrevious == 0 || m_updates.at(place.tensor).fromZero) return;
      const double ratio = change->meanAbsChange / change->meanAbsPrevious;
      m_moved[{place.rank, place.tensor}] += ratio;
      if (!m_first) {
        m_first = findingAt(context, place, precedence::kOther);
        m_first->writtenAt = rateLine(context.graph(), m_updates.at(place.tensor).update);
      }
      if (m_most && ratio <= m_most->actual) return;
      m_most = findingAt(context, place, precedence::kOther);
      m_most->actual = ratio;
      const auto at = rateAt(context, place);
      m_most->detail = "no weight moved by more than this in one step" +
                       (at ? "; the learning rate is " + core::formatShort(*at) : "");
    });
    if (rate) m_rateOf.push_back(*rate);
    ++m_iterations;
    m_updating += moves;
  }

  void finish(EvaluationContext& context) override {
    if (!m_most || m_iterations < 3 || m_most->actual == 0) return;
    if (m_most->actual < kLeast) {  // in every step, so that it begins with the first
      m_first->actual = m_most->actual;
      m_first->detail = m_most->detail;
      return add(context, *m_first, kLeast);
    }
    if (rateIsSpent(kNothing) && (!learnt() || isMuchLeft())) m_first->severity = Severity::kFault;
    if (rateIsSpent(learnt() ? kNothing : kSpent) || spentTooEarly()) return addSpent(context);
    if (risesToTheEnd()) return addRising(context);
    if (learnt()) return;
    double most = 0;
    for (const auto& [place, moved] : m_moved) most = std::max(most, moved);
    m_first->actual = most;
    if (most >= kInAll) return;
    m_first->detail =
        "all steps together moved no weight by more than " + core::formatShort(100 * most) + " %" +
        (m_rateOf.empty()
             ? ""
             : "; the learning rate is at most " + core::formatShort(std::ranges::max(m_rateOf)));
    tellOfRareUpdates(m_updating, m_iterations, *m_first);
    add(context, *m_first, kInAll);
  }

 private:
  static constexpr double kLeast = 1e-6;  // of itself, in one step
  static constexpr double kInAll = 0.05;  // of itself, in all steps together
  static constexpr double kSpent = 1e-3;  // of the largest rate, from the middle of the run on
  static constexpr double kSmall = 0.02;  // the same, where the loss stands still since and much is left
  static constexpr double kMuch = 0.3, kLikeGuessing = 0.6;  // of the first loss, of what guessing costs
  static constexpr double kHalfWay = 0.6;                    // in the middle of a rise
  static constexpr double kNothing = 1e-6;  // the same, whatever the loss says: no schedule ends so early
  static constexpr std::size_t kEnoughLosses = 20;

  struct Update {
    ParameterUpdate update;
    bool fromZero = false;
  };

  bool rateIsSpent(double share) const {
    if (m_rateOf.empty()) return false;
    const std::size_t half = m_rateOf.size() / 2;
    const double later =
        *std::max_element(m_rateOf.begin() + static_cast<std::ptrdiff_t>(half), m_rateOf.end());
    return later < share * std::ranges::max(m_rateOf);
  }

  /// The mean of the last quarter of the losses; nullopt: it says nothing.
  std::optional<double> lastLoss() const {
    const std::span<const Outcome::Loss> losses = m_outcome.losses();
    if (losses.size() < kEnoughLosses || !m_outcome.finite() || losses.front().value <= 0)
      return std::nullopt;
    return windowOf(losses.last(losses.size() / 4)).mean;
  }

  /// Of the first loss, or of what guessing costs.
  bool isMuchLeft() const {
    const std::optional<double> last = lastLoss(), cost = m_guessing.cost();
    return last &&
           (*last >= kMuch * m_outcome.losses().front().value || (cost && *last >= kLikeGuessing * *cost));
  }

  /// The loss has stood still since, is far from nothing, and fell before where the rate was not gone for
  /// good.
  bool spentTooEarly() const {
    if (!rateIsSpent(kSmall) || !isMuchLeft()) return false;
    const std::span<const Outcome::Loss> losses = m_outcome.losses();
    const std::size_t half = losses.size() / 2;
    return !fallsClearly(losses.subspan(half), 2) &&
           (rateIsSpent(kSpent) || fallsClearly(losses.first(half), 2));
  }

  /// A warm-up that is longer than the run: the rate is largest at the end, by far. Iterations that one
  /// update takes together share a rate: it rises from one update to the next, at even steps.
  bool risesToTheEnd() const {
    constexpr std::size_t kLeastUpdates = 10;
    std::vector<double> updates;
    std::size_t longest = 0, since = 0;  // iterations of one rate
    for (std::size_t i = 0; i < m_rateOf.size(); ++i) {
      if (updates.empty() || m_rateOf[i] != updates.back()) updates.push_back(m_rateOf[i]), since = i;
      longest = std::max(longest, i + 1 - since);
    }
    return m_rateOf.size() >= kEnoughLosses && updates.size() >= kLeastUpdates &&
           longest * kLeastUpdates <= m_rateOf.size() && isMuchLeft() && std::ranges::is_sorted(updates) &&
           m_rateOf[m_rateOf.size() / 2] < kHalfWay * m_rateOf.back();
  }

  void addRising(EvaluationContext& context) {
    m_first->detail = "the learning rate still rises when the run ends, from " +
                      core::formatShort(m_rateOf.front()) + " to " + core::formatShort(m_rateOf.back()) +
                      ", and the loss is still " + core::formatShort(*lastLoss()) +
                      ": is the warm-up longer than the run?";
    m_first->advice =
        "Warm up for a few percent of the steps that there are: is the number of steps that the schedule "
        "was given that of the training?";
    addOfRate(context);
  }

  void addSpent(EvaluationContext& context) {
    const double largest = std::ranges::max(m_rateOf), middle = m_rateOf[m_rateOf.size() / 2];
    m_first->detail = "the learning rate falls from " + core::formatShort(largest) + " to " +
                      core::formatShort(middle) + " in the first half of the run: nothing moves any more";
    m_first->advice =
        "Let the schedule fall over the whole training: is the number of steps that it was given too "
        "small, or is it called more often than it was made for, each step in place of each epoch?";
    addOfRate(context);
  }

  /// At the line of the scheduler's step(), where that is recorded.
  void addOfRate(EvaluationContext& context) {
    for (const ParameterUpdate& update : parameterUpdates(context.graph()))
      if (const core::TensorId line = scheduleLine(context.graph(), update.rate);
          update.next == m_first->tensor && line.valid())
        m_first->writtenAt = line;
    context.findings.push_back(*std::move(m_first));
  }

  static void add(EvaluationContext& context, Finding& finding, double preset) {
    finding.parameter = "abs_mean_update_ratio_lt";
    finding.preset = preset;
    context.findings.push_back(std::move(finding));
  }

  /// Whether it moved what it had to; a short run says nothing.
  bool learnt() const {
    const std::vector<Outcome::Loss>& losses = m_outcome.losses();
    return losses.size() < kEnoughLosses || !m_outcome.finite() ||
           m_outcome.recoveredSince(losses.front().iteration);
  }

  std::optional<double> rateAt(EvaluationContext& context, const Place& place) const {
    const std::optional<Rates> rates = ratesOf(context, place.rank, m_updates.at(place.tensor).update);
    return rates ? std::optional(rates->most) : std::nullopt;
  }

  RowWalk m_walk;
  Outcome m_outcome;
  Guessing m_guessing;
  std::map<core::TensorId, Update> m_updates;  // by the next value
  std::optional<Finding> m_first, m_most;      // the first update of all; the largest ratio of the run
  std::map<std::pair<core::Rank, core::TensorId>, double> m_moved;  // sum of ratios: a bound of the whole way
  std::vector<double> m_rateOf;                                     // of each iteration
  int m_iterations = 0, m_updating = 0;                             // of these, in which something moved
};

std::unique_ptr<Evaluator> make(const core::Graph& graph, const Parameters& parameters, bool recommended) {
  if (recommended) return std::make_unique<NothingMoves>(graph);
  return std::make_unique<ChangeTooSmall>(graph, parameters);
}

}  // namespace

ConditionDef weightChangeTooSmallCondition() {
  ConditionDef def;
  def.id = "weight_change_too_small";
  def.title = "Weight change too small";
  def.doc =
      "mean|x-p| / (mean|p| + epsilon) is below a threshold, p being the value that the update read "
      "(MindInsight). Recommended, as one hint a run: no weight ever moved by a millionth of itself; or the "
      "loss did not fall by 30 % and all steps together moved no weight by 5 %, or the learning rate was "
      "below a thousandth of its largest by the middle of the run; or three tenths of the loss, or six "
      "tenths of what guessing costs, are left, and the rate rises to the very end, or is below a fiftieth "
      "by the middle and the "
      "loss has stood still since. A fault where the rate is below a millionth from the middle on and the "
      "loss "
      "did not fall by 30 %, or as much of it is left.";
  def.advice =
      "Look at the learning rate (too small, or decayed to nothing) and at the gradient that the update "
      "read.";
  def.severity = Severity::kHint;
  def.target = Target::kWeight;
  def.parameters = {{"abs_mean_update_ratio_lt", ParameterType::kAbs, 1e-4, "hit if the ratio is below"},
                    {"epsilon", ParameterType::kAbs, 1e-9, "added to the denominator"},
                    tensorsParameter()};
  def.needsPrevious = true;
  def.make = make;
  return def;
}

}  // namespace msdbg::watch
