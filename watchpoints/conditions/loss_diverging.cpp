#include <algorithm>
#include <cmath>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/bootstrap.h"
#include "watchpoints/conditions/loss_parts.h"
#include "watchpoints/conditions/loss_sum.h"
#include "watchpoints/conditions/loss_terms.h"
#include "watchpoints/conditions/outcome.h"
#include "watchpoints/conditions/updates.h"

namespace msdbg::watch {
namespace {

/// The loss ends far above where it began, though finite. Named at the first update of the iteration after
/// which it left what it had been.
class LossDiverging : public Evaluator {
 public:
  LossDiverging(const core::Graph& graph, const Parameters& parameters)
      : m_outcome(graph, parameters), m_updates(parameterUpdates(graph)) {
    const bool chosen = textOf(parameters, "tensor").has_value();
    for (const core::TensorInfo& info : graph.tensors())
      if (chosen ? info.id == m_outcome.tensor() : info.role == core::TensorRole::kLoss)
        m_parts.emplace_back(info.id, LossTerms(graph, info.id));
  }

  void evaluate(EvaluationContext& context) override {
    m_outcome.add(context);
    for (Part& part : m_parts) part.add(context);
    ++context.evaluated;
    if (context.ranks.empty() || m_updates.empty()) return;
    const std::vector<Outcome::Loss>& losses = m_outcome.losses();
    if (losses.empty() || losses.back().iteration != context.iteration) return;
    const double now = losses.back().value;
    const bool away = m_before && now > 2 * m_least + 0.1 * std::abs(losses.front().value);
    if (away && !m_left) blameData(context, losses[losses.size() - 2].value);
    m_left = away;
    if (away) return;
    m_least = std::min(m_least, now);
    m_before = findingAt(
        context, {context.iteration, context.rankWith(m_updates.front().next), m_updates.front().next},
        precedence::kSymptom);
    m_before->detail = "the loss rises from " + core::formatShort(now) + " in this iteration";
    const std::optional<Rates> rates = ratesOf(context, m_before->rank, m_updates.front());
    m_before->writtenAt = rateLine(context.graph(), m_updates.front());
    if (rates) m_rate = "; the learning rate is " + core::formatShort(rates->most);
  }

  void finish(EvaluationContext& context) override {
    const std::vector<Outcome::Loss>& losses = m_outcome.losses();
    if (losses.size() < kLeast || !m_outcome.finite() || !m_before) return;
    const std::size_t some = std::max<std::size_t>(1, losses.size() / 10);
    const double first = mean(std::span(losses).first(some)), last = mean(std::span(losses).last(some));
    const double factor = parameterOr(context.parameters, "factor_gt", 2);
    if (!m_parts.empty() && isUnbounded(last)) return addUnbounded(context);
    const auto isPositive = [](const Outcome::Loss& loss) { return loss.value > 0; };
    if (!(last > factor * first) || !std::ranges::all_of(std::span(losses).first(some), isPositive)) return;
    m_before->parameter = "factor_gt";
    m_before->preset = factor;
    m_before->actual = last / first;
    m_before->detail += " to " + core::formatShort(last) + " at the end, from " + core::formatShort(first) +
                        " at the beginning" + m_rate;
    blameSum(sumOfLoss(context.graph()), *m_before);
    blameBootstrap(context.graph());
    if (last < kBack * peak(some) && last < kHarder * first)
      m_before->severity = Severity::kHint;  // harder data, by now half learnt
    context.findings.push_back(std::move(*m_before));
  }

 private:
  static constexpr std::size_t kLeast = 10;
  static constexpr double kBack = 0.5;     // of the highest it was
  static constexpr double kHarder = 100;   // times the first: no harder data make that
  static constexpr double kOutlier = 100;  // times what the data reached an iteration before

  /// One of the losses that backward() begins at: two in a GAN.
  struct Part {
    Part(core::TensorId loss, LossTerms of) : tensor(loss), terms(std::move(of)) {}
    core::TensorId tensor;
    LossTerms terms;
    std::optional<double> first;
    double last = 0;
    double change() const { return first ? last - *first : 0; }

    void add(EvaluationContext& context) {
      terms.add(context);
      const StatisticsRow* row = context.rows.now(context.rankWith(tensor), tensor);
      if (!row || row->values.nonFinite() > 0) return;
      last = row->values.mean;
      if (!first) first = last;
    }
  };

  /// The loss jumps in an iteration whose data do: they are the cause, not the update before.
  void blameData(EvaluationContext& context, double before) {
    for (const core::TensorInfo& info : context.graph().tensors()) {
      const bool data = info.role == core::TensorRole::kInput || info.role == core::TensorRole::kLabel;
      if (!data || !isFloating(info.dtype) || !context.beforeSelected) continue;
      for (const core::Rank rank : context.ranks) {
        const double now = reach(context.rows.now(rank, info.id)),
                     then = reach(context.rows.before(rank, info.id));
        if (then == 0 || now <= kOutlier * then) continue;
        m_before = findingAt(context, {context.iteration, rank, info.id}, precedence::kStructure);
        m_before->detail =
            "it reaches " + core::formatShort(now) + " in this iteration, " + core::formatShort(now / then) +
            " times what it did before: outliers, or missing values written as numbers; the loss "
            "rises from " +
            core::formatShort(before);
        m_before->advice =
            "Look at these data first: what is far from all others, and why? Then at the learning rate.";
        return m_rate.clear();
      }
    }
  }

  static double reach(const StatisticsRow* row) {
    return row ? std::max(std::abs(row->values.min), std::abs(row->values.max)) : 0;
  }

  /// What is learnt from its own estimates grows with them, whatever the rate.
  void blameBootstrap(const core::Graph& graph) {
    const std::optional<Bootstrap> bootstrap = bootstrappedTarget(graph);
    if (!bootstrap || m_before->precedence == precedence::kStructure) return;
    m_before->detail += "; its target, " + graph.tensor(bootstrap->target).fullName() +
                        ", is made of what a network gives for what comes next, and grows with it" +
                        (bootstrap->masked ? ""
                                           : ": nothing that the program gave, as 1 - done, ends it where an "
                                             "episode ends");
    m_before->writtenAt = bootstrap->target;
    m_before->advice =
        "Look at the target before the learning rate: is what comes after the end of an episode left out "
        "(* (1 - done)), is the discount below 1, is the network that gives it a copy that is renewed "
        "seldom?";
  }

  /// The largest mean of so many losses in a row.
  double peak(std::size_t some) const {
    const std::span<const Outcome::Loss> losses = m_outcome.losses();
    double most = 0;
    for (std::size_t i = 0; i + some <= losses.size(); i += some)
      most = std::max(most, mean(losses.subspan(i, some)));
    return most;
  }

  /// Errors end at zero, likelihoods fall ever slower; what falls for ever is neither, or has the wrong sign.
  bool isUnbounded(double last) const {
    constexpr double kFar = 100, kSome = 3;  // times its size at the beginning
    const double size = std::max(std::abs(m_outcome.losses().front().value), 1.0);
    return last < 0 && (-last > kFar * size || (-last > kSome * size && fallsFaster()));
  }

  /// The second half of the run falls by more than the first, which has what is learnt at once.
  bool fallsFaster() const {
    constexpr double kFaster = 1.5;
    const std::vector<Outcome::Loss>& losses = m_outcome.losses();
    const double begin = losses.front().value, middle = losses[losses.size() / 2].value,
                 end = losses.back().value;
    return middle - end > kFaster * (begin - middle);
  }

  void addUnbounded(EvaluationContext& context) const {
    const double first = m_outcome.losses().front().value, last = m_outcome.losses().back().value;
    const core::Graph& graph = context.graph();
    const auto part = std::ranges::min_element(m_parts, {}, &Part::change);
    const LossTerms::Blame blame = part->terms.falling(graph);
    Finding finding = findingAt(context, {m_outcome.losses().front().iteration, m_before->rank, blame.sum},
                                precedence::kSymptom);
    finding.node = graph.tensor(blame.sum).producer;
    finding.actual = last;
    finding.preset = first;
    finding.detail = "the loss falls below zero without bound, from " + core::formatShort(first) + " to " +
                     core::formatShort(last);
    if (blame.term.valid())
      finding.detail += ", most of it by " + graph.tensor(blame.term).fullName() + " in this sum";
    finding.detail += ": a sign is wrong, or nothing holds it";
    finding.advice = "Look at the sign of each term of the loss, and at what keeps it from falling for ever.";
    if (const std::optional<NeverBelowZero> never = neverBelowZero(graph, blame.sum)) {
      finding.detail += "; and " + never->why;
      finding.advice = never->advice;
    }
    context.findings.push_back(std::move(finding));
  }

  static double mean(std::span<const Outcome::Loss> losses) {
    double sum = 0;
    for (const Outcome::Loss& loss : losses) sum += loss.value;
    return sum / static_cast<double>(losses.size());
  }

  Outcome m_outcome;
  std::vector<ParameterUpdate> m_updates;
  std::vector<Part> m_parts;
  double m_least = INFINITY;
  bool m_left = false;              // the loss is twice its least, and has been since
  std::optional<Finding> m_before;  // the first update of the last iteration before that
  std::string m_rate;
};

}  // namespace

ConditionDef lossDivergingCondition() {
  ConditionDef def;
  def.id = "loss_diverging";
  def.title = "Loss diverges";
  def.doc =
      "The mean of the last tenth of the losses is above factor_gt times that of the first tenth (ten losses "
      "at least, all of them finite and positive at first), named at the first update after the least loss; "
      "or the loss falls below zero without bound: to a hundred times its size at the beginning, or to three "
      "times and ever faster, named at the sum whose term falls most. Where data jump in the same iteration, "
      "they are named. A hint where the loss has fallen to "
      "half of the highest it was by then.";
  def.advice =
      "Look at the learning rate first: divide it by ten; then at momentum, clipping and the targets' scale.";
  def.target = Target::kLoss;
  def.needsAllRanks =
      true;  // of the mean over ranks: a rank with a cause of its own at this place comes first
  def.parameters = {
      {"factor_gt", ParameterType::kPos, 2.0, "hit if the loss ends above so many times its beginning"},
      followedParameter()};
  def.make = [](const core::Graph& graph, const Parameters& parameters, bool) -> std::unique_ptr<Evaluator> {
    return std::make_unique<LossDiverging>(graph, parameters);
  };
  def.notOnline = [](const Parameters&, bool) -> std::string { return "the end of the run decides it"; };
  return def;
}

}  // namespace msdbg::watch
