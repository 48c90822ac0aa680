// A weight that its optimizer updates and that something else changes between two steps, once in the run: a
// copy, a reset, a bit that fell. What a program does in every iteration (clipping of weights) is its way to
// train, and what changes most weights at once loads or swaps them.
#include <algorithm>
#include <cmath>
#include <map>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/copied_average.h"
#include "watchpoints/conditions/outcome.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/conditions/updates.h"
#include "watchpoints/conditions/weights_return.h"

namespace msdbg::watch {
namespace {

using core::Rank;
using core::TensorId;
using core::TensorStatistics;

/// Of the change, measured on the root mean square before: no more than the moments show.
double leastChange(const TensorStatistics& before, const TensorStatistics& after) {
  const double size = std::hypot(before.mean, before.std);
  return std::max(std::abs(after.mean - before.mean), std::abs(after.std - before.std)) /
         std::max(size, 1e-30);
}

class WeightOverwritten : public Evaluator {
 public:
  explicit WeightOverwritten(const core::Graph& graph)
      : m_outcome(graph), m_averages(graph), m_returns(graph) {
    for (const ParameterUpdate& update : parameterUpdates(graph)) {
      const bool isStep = graph.node(update.node).phase == core::Phase::kUpdate;
      // An optimizer may go on from what another operator made of the weight.
      m_made.push_back({rootOf(graph, update.parameter), update.next, isStep});
    }
    std::ranges::stable_sort(m_made, {}, &Made::weight);
  }

  void evaluate(EvaluationContext& context) override {
    m_outcome.add(context);
    m_averages.evaluate(context);
    m_returns.evaluate(context);
    m_weights = 0;
    for (auto begin = m_made.begin(); begin != m_made.end();) {
      const auto end =
          std::find_if(begin, m_made.end(), [&](const Made& made) { return made.weight != begin->weight; });
      if (std::any_of(begin, end, [](const Made& made) { return made.isStep; })) {
        ++m_weights;
        for (const Rank rank : context.ranks) lookAt(context, rank, std::span(begin, end));
      }
      begin = end;
    }
    m_iterations += context.ranks.empty() ? 0 : 1;
  }

  void finish(EvaluationContext& context) override {
    if (auto average = m_averages.finding(context)) context.findings.push_back(std::move(*average));
    if (auto returns = m_returns.finding(context)) context.findings.push_back(std::move(*returns));
    if (m_iterations < kLeastIterations || m_weights < kLeastWeights) return;
    std::map<core::Iteration, std::size_t> together;
    for (const auto& [weight, changes] : m_changed)
      if (changes.first) ++together[changes.first->iteration];
    std::optional<Finding> most;
    for (auto& [weight, changes] : m_changed) {
      if (!changes.first || changes.often) continue;
      if (2 * together[changes.first->iteration] <= m_weights)
        context.findings.push_back(std::move(*changes.first));
      else if (!most && losesBy(changes.first->iteration))
        most = std::move(*changes.first);
    }
    if (!most) return;
    most->detail += "; so are " + std::to_string(together[most->iteration] - 1) + " more of " +
                    std::to_string(m_weights) + " weights, and the loss is higher since";
    context.findings.push_back(std::move(*most));
  }

 private:
  /// A state that is loaded on purpose is a better one, or one to go on from; averages that were swapped in
  /// and stayed cost what was learnt since.
  bool losesBy(core::Iteration iteration) const {
    constexpr std::ptrdiff_t kFew = 5;
    constexpr double kClearly = 0.2;
    const std::vector<Outcome::Loss>& losses = m_outcome.losses();
    const auto at = std::ranges::lower_bound(losses, iteration, {}, &Outcome::Loss::iteration);
    if (!m_outcome.finite() || at - losses.begin() < kFew || losses.end() - at < kFew) return false;
    const double before = windowOf(std::span(at - kFew, at)).mean,
                 after = windowOf(std::span(at, at + kFew)).mean;
    return after - before > kClearly * std::abs(before);
  }

  static constexpr std::int64_t kLeastIterations = 10, kBegin = 3;
  static constexpr std::size_t kLeastWeights = 3;
  static constexpr double kLeast = 0.05;

  /// What an optimizer's step makes of a weight, or another operator.
  struct Made {
    TensorId weight, next;
    bool isStep;
  };
  struct Changes {
    std::optional<Finding> first;
    core::Iteration ran;  // a write, whether it changed anything or not
    bool often = false;
  };

  void lookAt(EvaluationContext& context, Rank rank, std::span<const Made> all) {
    const TensorId weight = all.front().weight;
    const StatisticsRow* now = context.rows.now(rank, weight);
    if (!now) return;
    const StatisticsRow* updated = nullptr;
    bool same = false;
    for (const Made& made : all) {
      const StatisticsRow* row =
          made.isStep ? context.rows.before(rank, made.next) : context.rows.now(rank, made.next);
      if (!row) continue;
      if (made.isStep) {
        same = same || row->values.hash == now->values.hash;
        updated = row;
        continue;
      }
      Changes& changes = m_changed[weight];
      changes.often = changes.often || (changes.ran.valid() && changes.ran != context.iteration);
      changes.ran = context.iteration;
      changed(context, {context.iteration, rank, made.next}, changes, now->values, row->values);
    }
    if (updated && !same)
      changed(context, {context.iteration, rank, weight}, m_changed[weight], updated->values, now->values);
  }

  void changed(EvaluationContext& context, const Place& place, Changes& weight,
               const TensorStatistics& before, const TensorStatistics& after) const {
    ++context.evaluated;
    if (before.nonFinite() + after.nonFinite() > 0 || before.hash == after.hash) return;
    if (weight.first && weight.first->iteration != place.iteration) weight.often = true;
    if (weight.first || weight.often) return;
    const double change = leastChange(before, after);
    if (change < kLeast || m_iterations < kBegin) {
      weight.often = true;  // what shaves off a little, or cuts to size what was drawn, does it often, unseen
      return;
    }
    Finding finding = findingAt(context, place, precedence::kOther);
    const core::TensorInfo& info = context.graph().tensor(place.tensor);
    finding.detail =
        (info.isSource()
             ? "something else than its optimizer changes it between the steps of iterations " +
                   std::to_string(place.iteration.value - 1) + " and " + std::to_string(place.iteration.value)
             : "it changes " + context.graph().tensor(info.updateOf).name +
                   " outside of the optimizer's steps") +
        ", only this once: mean|x| " + core::formatShort(before.meanAbs) + " becomes " +
        core::formatShort(after.meanAbs);
    finding.actual = change;
    finding.preset = kLeast;
    weight.first = std::move(finding);
  }

  Outcome m_outcome;
  CopiedAverages m_averages;
  WeightsReturn m_returns;
  std::vector<Made> m_made;  // by weight
  std::map<TensorId, Changes> m_changed;
  std::size_t m_weights = 0;
  std::int64_t m_iterations = 0;
};

}  // namespace

ConditionDef weightOverwrittenCondition() {
  ConditionDef def;
  def.id = "weight_overwritten";
  def.title = "Weight changed outside of its optimizer";
  def.doc =
      "A weight that is updated in every iteration is another one when the next iteration begins than its "
      "update made, "
      "or an operator that is no optimizer writes to it: in one iteration of ten or more, by 5 % of its root "
      "mean "
      "square or more, and to no more than half of the weights, or the loss is higher by a fifth since; or a "
      "running average of a weight is copied into it, not in every iteration that goes on with the average, "
      "and the optimizer steps from there; or all weights are again what training began with, three times "
      "and "
      "more.";
  def.advice =
      "Look at what writes to it between two steps: a reset, a copy, a loaded state, another thread, broken "
      "memory.";
  def.severity = Severity::kHint;
  def.target = Target::kWeight;
  def.needsPrevious = true;
  def.make = [](const core::Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return std::make_unique<WeightOverwritten>(graph);
  };
  def.notOnline = [](const Parameters&, bool) -> std::string {
    return "whether it happens once the end of the run tells";
  };
  return def;
}

}  // namespace msdbg::watch
