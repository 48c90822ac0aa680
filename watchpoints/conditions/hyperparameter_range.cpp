// Settings that no training works with (after AUTOTRAINER and UMLAUT, which warn much earlier).
#include <algorithm>
#include <map>
#include <set>

#include "core_engine/base/text.h"
#include "core_engine/ops/op.h"
#include "watchpoints/conditions/layer_settings.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rate_schedule.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/conditions/updates.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

using core::floatAttribute;
using core::Node;

class HyperparameterRange : public Evaluator {
 public:
  explicit HyperparameterRange(const core::Graph& graph) : m_updates(parameterUpdates(graph)) {
    for (const ParameterUpdate& update : m_updates) {
      const Node& node = graph.node(update.node);  // those of other frameworks have other names
      if ((node.isOwn() || isOfTorch(node)) && floatAttribute(node.attributes, "weight_decay", 0) != 0)
        m_decaying.push_back(update);
    }
  }

  void evaluate(EvaluationContext& context) override {
    if (context.ranks.empty()) return;
    if (!m_asked) checkGraph(context);
    m_asked = true;
    ++context.evaluated;
    if (!m_decays) checkDecay(context);
    if (!m_climbs) checkSchedules(context);
  }

 private:
  void hit(EvaluationContext& context, const Node& node, std::string_view parameter, double preset,
           double actual, std::string detail) const {
    Finding finding = findingAtNode(context, node.id, std::move(detail));
    if (node.phase == core::Phase::kUpdate)
      finding.writtenAt =
          isOfTorch(node) ? m_updates.front().rate : rateLine(context.graph(), m_updates.front());
    finding.parameter = parameter;
    finding.preset = preset;
    finding.actual = actual;
    context.findings.push_back(std::move(finding));
  }

  void checkGraph(EvaluationContext& context) const {
    const double most = parameterOr(context.parameters, "dropout_max", 0.9);
    const double least = parameterOr(context.parameters, "clip_min", 1e-6);
    const core::Graph& graph = context.graph();
    for (LayerSetting& setting : oddLayerSettings(graph, most)) {
      hit(context, graph.node(setting.node), setting.parameter, setting.preset, setting.actual,
          std::move(setting.detail));
      if (setting.severity == Severity::kHint) context.findings.back().severity = Severity::kHint;
      context.findings.back().advice = std::move(setting.advice);
    }
    for (const Node& node : graph.nodes()) {
      const double bound = node.phase == core::Phase::kUpdate && node.opType == "Clip"
                               ? floatAttribute(node.attributes, "max", 1)
                               : 1;
      if (bound < least)
        return hit(context, node, "clip_min", least, bound, "gradients are clipped to next to nothing");
    }
    for (const core::TensorInfo& info : graph.tensors())
      if (info.name == "optimizer/clip_norm" && info.initializer.value < least &&
          !graph.consumers(info.id).empty())
        return hit(context, graph.node(graph.consumers(info.id).front()), "clip_min", least,
                   info.initializer.value, "the norm of all gradients is clipped to next to nothing");
    for (const ParameterUpdate& update : m_updates) {
      const Node& node = graph.node(update.node);
      const double momentum = isSgd(node) ? floatAttribute(node.attributes, "momentum", 0) : 0;
      const double limit = parameterOr(context.parameters, "momentum_max", 0.995);
      if (momentum >= limit)
        return hit(context, node, "momentum_max", limit, momentum,
                   "a momentum of " + core::formatShort(momentum) +
                       (momentum >= 1 ? " never forgets a step: steps only grow"
                                      : " adds up " + core::formatShort(1 / (1 - momentum)) +
                                            " steps: each weight swings far past where it should be"));
      if (isOfTorch(node) && isOfTorchItself(node) && node.attributes.contains("learning_rate"))
        return hit(
            context, node, "", 0, foreignAttribute(node, "learning_rate", 0.0),
            "its group has a \"learning_rate\", which no optimizer of torch reads: it steps with \"lr\", "
            "which stays as it is");
      if (!isAdam(node)) continue;
      const double beta1 = floatAttribute(node.attributes, "beta1", 0.9),
                   beta2 = floatAttribute(node.attributes, "beta2", 0.999);
      if (beta1 * beta1 > beta2 + kBetas)
        return hit(context, node, "", beta2, beta1,
                   "beta1 = " + core::formatShort(beta1) + " remembers longer than beta2 = " +
                       core::formatShort(beta2) + ": Adam diverges so; are they swapped (0.9 and 0.999)?");
    }
  }

  /// PyTorch's recorder gives its updates what the groups of the optimizer were set to, by torch's names.
  static bool isOfTorch(const Node& node) { return node.opType.starts_with("torch.optim."); }

  /// Not a class of the program, which may read what it likes.
  static bool isOfTorchItself(const Node& node) {
    static constexpr auto kNames = std::to_array<std::string_view>(
        {"torch.optim.SGD", "torch.optim.Adam", "torch.optim.AdamW", "torch.optim.RMSprop",
         "torch.optim.Adagrad", "torch.optim.NAdam", "torch.optim.RAdam", "torch.optim.Adamax"});
    return isOneOf(&node, kNames);
  }

  /// A hint, since it may be meant; one, since the groups of an optimizer follow one schedule.
  void checkSchedules(EvaluationContext& context) {
    std::set<core::TensorId> seen;  // many parameters have one rate
    for (const ParameterUpdate& update : m_updates) {
      if (!update.rate.valid() || !seen.insert(update.rate).second) continue;
      const StatisticsRow* row = context.rows.now(context.rankWith(update.next), update.rate);
      RateSchedule& schedule = m_schedules[update.rate];
      if (!row || !schedule.climbsAgain(row->values.max)) continue;
      m_climbs = true;
      Finding finding = findingAtNode(context, update.node, schedule.sentence());
      const core::TensorId line = scheduleLine(context.graph(), update.rate);
      finding.writtenAt = line.valid() ? line : update.rate;
      finding.severity = Severity::kHint;
      finding.advice =
          "Count the calls of scheduler.step() for each optimizer.step(): one for each micro-batch is too "
          "many where T_max counts updates; or make T_max as long as the training.";
      return context.findings.push_back(std::move(finding));
    }
  }

  /// What one step takes away of a weight: rate * decay, or decay itself where Adam makes a gradient of it.
  static double decayOf(const Node& node, double rate) {
    const double decay = floatAttribute(node.attributes, "weight_decay", 0);
    const bool decoupled = core::intAttribute(node.attributes, "decoupled", 0) != 0 ||
                           node.opType == "torch.optim.AdamW" ||
                           node.attributes.contains("decoupled_weight_decay");
    const bool normalised = isAdam(node) && !decoupled;
    return normalised ? decay / 5 : rate * decay;
  }

  void checkDecay(EvaluationContext& context) {
    const double most = parameterOr(context.parameters, "decay_max", 0.01);
    for (const ParameterUpdate& update : m_decaying) {
      const std::optional<Rates> rates = ratesOf(context, context.rankWith(update.next), update);
      const Node& node = context.graph().node(update.node);
      if (!rates) continue;
      const double share = decayOf(node, rates->least);
      const bool usual = floatAttribute(node.attributes, "weight_decay", 0) <= kUsualDecay;
      if (share <= most || (usual && isOfTorch(node))) continue;  // then it is the rate that is too large
      m_decays = true;
      return hit(context, node, "decay_max", most, share,
                 "weight decay of " + core::formatShort(floatAttribute(node.attributes, "weight_decay", 0)) +
                     " at a learning rate of " + core::formatShort(rates->least) +
                     " outweighs the gradient: weights shrink to nothing");
    }
  }

  static constexpr double kUsualDecay = 0.1;
  static constexpr double kBetas = 0.02;  // beyond beta1^2 < beta2, which its convergence needs

  std::vector<ParameterUpdate> m_updates, m_decaying;
  std::map<core::TensorId, RateSchedule> m_schedules;  // by rate
  bool m_asked = false, m_decays = false, m_climbs = false;
};

}  // namespace

ConditionDef hyperparameterRangeCondition() {
  ConditionDef def;
  def.id = "hyperparameter_range";
  def.title = "Hyperparameter out of range";
  def.doc =
      "A momentum of momentum_max or more; a step of weight decay (rate * decay) above decay_max; a Dropout "
      "above dropout_max; an Adam whose beta1^2 is above beta2; gradients clipped to less than clip_min; a "
      "group of an optimizer of torch with a rate of another name than lr. As "
      "hints: a learning rate that falls to nothing and climbs again as it fell; a normalisation with an "
      "epsilon of 0.1 or more, or with a momentum (PyTorch's) of 0.9 or more. Far outside of what anybody "
      "trains with (AUTOTRAINER warns earlier).";
  def.advice =
      "Look at what the optimizer and the layer were given: often a factor of ten, or two numbers swapped.";
  def.parameters = {{"momentum_max", ParameterType::kPos, 0.995, "hit if the momentum is this or more"},
                    {"decay_max", ParameterType::kPos, 0.01, "hit if rate * decay is above"},
                    {"dropout_max", ParameterType::kAbs, 0.9, "hit if a Dropout's ratio is above"},
                    {"clip_min", ParameterType::kAbs, 1e-6, "hit if gradients are clipped to less"}};
  def.make = [](const core::Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return std::make_unique<HyperparameterRange>(graph);
  };
  return def;
}

}  // namespace msdbg::watch
