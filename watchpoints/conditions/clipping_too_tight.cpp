// Gradients that are clipped by their norm to a small part of themselves in nearly every iteration: the steps
// of Sgd are that much smaller, and the clipping, not the rate, says how fast anything is learnt.
#include <algorithm>

#include "core_engine/base/text.h"
#include "core_engine/ops/op.h"
#include "watchpoints/conditions/outcome.h"
#include "watchpoints/conditions/updates.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

class ClippingTooTight : public Evaluator {
 public:
  explicit ClippingTooTight(const Graph& graph) : m_outcome(graph), m_updates(parameterUpdates(graph)) {
    // Adam divides by the size of its gradients: it takes the same steps.
    m_sgd = std::ranges::any_of(
        m_updates, [&](const ParameterUpdate& update) { return isSgd(graph.node(update.node)); });
    for (const core::TensorInfo& info : graph.tensors())
      if (m_sgd && info.name == "optimizer/clip_norm") findFactor(graph, info);
    if (!m_factor.valid()) findFactorOfTorch(graph);
  }

  void evaluate(EvaluationContext& context) override {
    m_outcome.add(context);
    countTooEarly(context);
    if (!m_factor.valid() || context.ranks.empty()) return;
    const StatisticsRow* row = context.rows.now(context.rankWith(m_factor), m_factor);
    if (!row || row->values.nonFinite() > 0) return;
    ++context.evaluated;
    ++m_iterations;
    countScaled(context, row->values.mean);
    if (row->values.mean >= parameterOr(context.parameters, "factor_lt", 0.01)) return;
    m_sum += row->values.mean;
    if (m_tight++ == 0)
      m_finding = findingAt(context, {context.iteration, context.rankWith(m_factor), m_factor},
                            precedence::kStructure);
  }

  void finish(EvaluationContext& context) override {
    constexpr std::int64_t kLeast = 10;
    if (m_early >= kLeastEarly && m_early == m_normed) return addTooEarly(context);
    const double nearlyAll = 0.9 * static_cast<double>(m_iterations);
    if (m_iterations < kLeast || static_cast<double>(m_tight) < nearlyAll) return;
    if (static_cast<double>(m_scaled) >= nearlyAll) return addScaled(context);
    if (!m_sgd) return;
    if (m_outcome.recoveredSince(m_finding.iteration)) return;
    m_finding.writtenAt = rateLine(context.graph(), m_updates.front());
    m_finding.parameter = "factor_lt";
    m_finding.preset = parameterOr(context.parameters, "factor_lt", 0.01);
    m_finding.actual = m_sum / static_cast<double>(m_tight);
    m_finding.detail = "clipping" + (m_norm > 0 ? " to a norm of " + core::formatShort(m_norm) : "") +
                       " leaves " + core::formatShort(m_finding.actual) + " of every gradient, in " +
                       std::to_string(m_tight) + " of " + std::to_string(m_iterations) +
                       " iterations: the steps are that much smaller than " +
                       "the learning rate says, and the loss hardly falls";
    context.findings.push_back(std::move(m_finding));
  }

 private:
  static constexpr std::int64_t kLeastEarly = 3;

  /// The norm that clip_grad_norm_ returned is 0, and the gradients that the step reads are not.
  void countTooEarly(EvaluationContext& context) {
    if (context.ranks.empty() || m_updates.empty()) return;
    const core::Rank rank = context.ranks.front();
    const std::optional<double> norm = context.rows.scalar(rank, "gradient_norm");
    if (!norm) return;
    ++m_normed;
    if (*norm != 0) return;
    for (const ParameterUpdate& update : m_updates) {
      const StatisticsRow* row = update.gradient.valid() ? context.rows.now(rank, update.gradient) : nullptr;
      if (!row || row->values.nonFinite() > 0 || row->values.l2 == 0) continue;
      if (m_early++ == 0)
        m_first = findingAt(context, {context.iteration, rank, update.gradient}, precedence::kStructure);
      return;
    }
  }

  void addTooEarly(EvaluationContext& context) {
    m_first.detail = "the norm that clip_grad_norm_() computes is 0 in all " + std::to_string(m_early) +
                     " recorded iterations that have one, and the step reads gradients that are not: it is "
                     "called where there are no gradients yet, and clips nothing";
    m_first.advice = "Call clip_grad_norm_() between backward() and step().";
    context.findings.push_back(std::move(m_first));
  }

  /// What is left of gradients is 1 / norm; of those that a GradScaler made larger the scale is in it, too.
  void countScaled(EvaluationContext& context, double factor) {
    constexpr double kLeastScale = 256,
                     kUsual = 50;  // norms of gradients mostly lie between 1 / kUsual and kUsual
    const std::optional<double> scale = context.rows.scalar(context.rankWith(m_factor), "loss_scale");
    if (context.graph().findTensor("gradients_finite")) return;  // the engine's own clips what it unscaled
    if (!scale || *scale < kLeastScale || factor * *scale > kUsual || factor * *scale < 1 / kUsual) return;
    ++m_scaled;
    m_scale = *scale;
  }

  void addScaled(EvaluationContext& context) {
    m_finding.actual = m_sum / static_cast<double>(m_tight);
    m_finding.detail =
        "the norm that gradients are clipped by is that of the scaled loss: a GradScaler has "
        "multiplied it by " +
        core::formatShort(m_scale) + ", so that clipping leaves " + core::formatShort(m_finding.actual) +
        " of every gradient, and the gradients of all steps have the same norm";
    m_finding.advice = "Call scaler.unscale_(optimizer) between backward() and clip_grad_norm_().";
    context.findings.push_back(std::move(m_finding));
  }

  /// min(1, clip_norm / (norm + epsilon))
  void findFactor(const Graph& graph, const core::TensorInfo& norm) {
    m_norm = norm.initializer.value;
    for (const core::NodeId ratio : graph.consumers(norm.id))
      for (const core::NodeId least : graph.consumers(graph.node(ratio).outputs.front()))
        if (graph.node(least).opType == "Min") m_factor = graph.node(least).outputs.front();
  }

  /// clip_grad_norm_: clamp(max_norm * reciprocal(norm + 1e-6), max=1), between backward and the step.
  void findFactorOfTorch(const Graph& graph) {
    for (const Node& node : graph.nodes()) {
      if (node.phase != core::Phase::kUpdate || node.opType != "Clip" || node.isOwn()) continue;
      const core::TensorInfo& info = graph.tensor(node.outputs.front());
      const bool one = info.shape.known() && info.shape.elements() == 1;
      if (one && core::floatAttribute(node.attributes, "max", 0) == 1) m_factor = info.id;
    }
  }

  Outcome m_outcome;
  std::vector<ParameterUpdate> m_updates;
  TensorId m_factor;
  double m_norm = 0, m_sum = 0;
  std::int64_t m_iterations = 0, m_tight = 0, m_scaled = 0;
  double m_scale = 0;
  bool m_sgd = false;
  Finding m_finding;                       // of the first tight one
  std::int64_t m_normed = 0, m_early = 0;  // iterations whose norm is known, and is that of no gradients
  Finding m_first;                         // of these
};

}  // namespace

ConditionDef clippingTooTightCondition() {
  ConditionDef def;
  def.id = "clipping_too_tight";
  def.title = "Gradients clipped to next to nothing";
  def.doc =
      "Clipping by norm multiplies the gradients by less than factor_lt in 90 % of the iterations (10 at "
      "least), the "
      "optimizer is Sgd, and the loss does not fall by 30 %. Of any optimizer, where a GradScaler is at work "
      "and "
      "what is left is 1 / (its scale times a usual norm): it was not undone before; or the norm that "
      "clip_grad_norm_() computes is 0 in three iterations or more and always, and gradients are not.";
  def.advice =
      "Clip at the norm that gradients usually have (1 to 5 are common), not at their size or the rate's.";
  def.target = Target::kGradient;
  def.parameters = {
      {"factor_lt", ParameterType::kPos, 0.01, "hit if less than this is left of the gradients"}};
  def.make = [](const Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return std::make_unique<ClippingTooTight>(graph);
  };
  def.notOnline = [](const Parameters&, bool) -> std::string { return "the end of the run decides it"; };
  return def;
}

}  // namespace msdbg::watch
