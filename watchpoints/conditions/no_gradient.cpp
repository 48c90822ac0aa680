// Parameters that are meant to train and do not: no gradient reaches them, or no optimizer has them. The
// graph knows it.
#include <algorithm>
#include <map>

#include "core_engine/ops/cut_off.h"
#include "watchpoints/conditions/copied_out.h"
#include "watchpoints/conditions/left_out.h"
#include "watchpoints/conditions/made_anew.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/sampled.h"
#include "watchpoints/conditions/severed_gradient.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

void addLeftOut(EvaluationContext& context, const LeftOut& left) {
  Finding finding = findingAtNode(context, left.reader, left.sentence);
  finding.writtenAt = left.optimizer;
  finding.advice =
      "Give the optimizer all that is to be trained (model.parameters(), which has no layers of a plain list "
      "or dict: nn.ModuleList), or freeze the rest on purpose: requires_grad_(False).";
  if (!left.mistake) finding.severity = Severity::kHint;
  context.findings.push_back(std::move(finding));
}

/// Of programs whose optimizers were seen to step: what their rates say, which are read before anything else.
core::TensorId rateOfSteps(const core::Graph& graph) {
  for (const core::TensorInfo& info : graph.tensors())
    if (info.role == core::TensorRole::kHyperparameter && info.isSource() &&
        info.name.starts_with("optimizer"))
      return info.id;
  return {};
}

constexpr const char* kStayInGraph =
    "Go on with the tensor itself: no .item(), .tolist(), .numpy() or torch.tensor() between the parameters "
    "and the loss.";

/// Where values came back into the graph: the line that made the new tensor, else the first that reads it.
void addCopiedOut(EvaluationContext& context, const CopiedOut& copy, const std::string& begin) {
  const core::Graph& graph = context.graph();
  Finding finding =
      findingAtNode(context, graph.consumers(copy.source).front(), begin + ": " + copy.sentence);
  if (!graph.tensor(copy.source).frames.empty()) finding.writtenAt = copy.source;
  finding.advice = kStayInGraph;
  context.findings.push_back(std::move(finding));
}

/// Tensors that have a part in a loss; all, where nothing that was computed is one.
std::vector<bool> partsOfLosses(const core::Graph& graph) {
  std::vector<bool> parts = core::leadingToLosses(graph);
  if (std::ranges::count(parts, true) == 0) parts.assign(parts.size(), true);
  return parts;
}

bool hasSeveralIterations(const EvaluationContext& context) {
  return !context.ranks.empty() && context.source.iterations(context.ranks.front()).size() > 1;
}

bool updatesAny(const core::Graph& graph, const core::Node& node) {
  return node.phase == core::Phase::kUpdate && std::ranges::any_of(node.outputs, [&](core::TensorId output) {
           return graph.tensor(output).updateOf.valid();
         });
}

/// The last operator on the way from a parameter to the loss that computes a step function, which has no
/// gradient; nullptr: none.
const core::Node* lastStepOperator(const core::Graph& graph) {
  static constexpr auto kSteps = std::to_array<std::string_view>(
      {"Greater", "GreaterOrEqual", "Less",       "LessOrEqual", "Equal",       "Round",      "Sign",
       "ArgMax",  "Floor",          "Ceil",       "aten.gt",     "aten.ge",     "aten.lt",    "aten.le",
       "aten.eq", "aten.ne",        "aten.round", "aten.sign",   "aten.argmax", "aten.floor", "aten.ceil"});
  const std::vector<bool> parts = partsOfLosses(graph), learnt = learntTensors(graph);
  const core::Node* last = nullptr;
  for (const core::Node& node : graph.nodes())
    if (node.phase == core::Phase::kForward && isOneOf(&node, kSteps) &&
        parts[node.outputs.front().index()] &&
        std::ranges::any_of(node.inputs, [&](core::TensorId input) { return learnt[input.index()]; }))
      last = &node;
  return last;
}

/// What was to be frozen by an attribute of another name: the recorder found it.
void addFrozenInName(EvaluationContext& context) {
  for (const core::Node& node : context.graph().nodes()) {
    if (node.opType != "torch.frozen_in_name") continue;
    const std::string of = foreignAttribute(node, "of", std::string()),
                      name = foreignAttribute(node, "name", std::string());
    Finding finding = findingAtNode(
        context, node.id,
        of + " was given an attribute " + name + ", which freezes nothing: it trains on like all others");
    finding.advice = "Of a parameter it is requires_grad = False, of a module requires_grad_(False).";
    context.findings.push_back(std::move(finding));
  }
}

/// An optimizer that steps and finds no gradient in any iteration: they are cleared before, or there are
/// none. True: it was told, and says it of all parameters.
bool addNothingUpdated(EvaluationContext& context) {
  const core::Graph& graph = context.graph();
  const core::TensorId rate = rateOfSteps(graph);
  if (!rate.valid() || !hasSeveralIterations(context)) return false;
  const auto isParameter = [&](core::TensorId t) {
    return graph.tensor(t).role == core::TensorRole::kParameter;
  };
  core::NodeId loss;
  bool differentiated = false;
  for (const core::Node& node : graph.nodes()) {
    if (updatesAny(graph, node) || node.opType == "AccumulateGrad") return false;
    if (node.opType == "torch.dropped_gradients") return true;  // another condition tells how
    if (node.phase == core::Phase::kBackward && node.derivedFrom.valid())
      differentiated =
          differentiated || std::ranges::any_of(graph.node(node.derivedFrom).inputs, isParameter);
    if (node.phase == core::Phase::kForward) loss = node.id;
    for (const core::TensorId output : node.outputs)
      if (graph.tensor(output).role == core::TensorRole::kLoss) loss = node.id;
  }
  if (!loss.valid()) return false;
  if (const auto copy = copiedOut(context, partsOfLosses(graph), learntTensors(graph))) {
    addCopiedOut(context, *copy,
                 "no parameter gets a gradient from the loss, and no step of the optimizer updates any");
    return true;
  }
  if (const core::Node* steps = differentiated ? nullptr : lastStepOperator(graph)) {
    Finding finding = findingAtNode(
        context, steps->id,
        "no parameter gets a gradient from the loss, and no step of the optimizer updates any: " +
            steps->name + " computes a step function, which has no gradient");
    finding.advice =
        "Compute the loss of what comes before it, probabilities in place of yes and no. Setting "
        "requires_grad = True on a loss by hand only hides the error.";
    context.findings.push_back(std::move(finding));
    return true;
  }
  Finding finding = findingAtNode(
      context, loss,
      differentiated
          ? "the backward pass computes gradients, and no step of the optimizer finds one: no parameter is "
            "ever updated"
          : "no parameter gets a gradient from the loss, and no step of the optimizer updates any");
  finding.writtenAt = rate;
  finding.advice =
      differentiated
          ? "Call zero_grad() before backward(), not between backward() and step(); give the optimizer "
            "the parameters that are used."
          : "Compute the loss with gradients, of what the model returns: not under no_grad(), nor of "
            "detach(), item() or a new tensor.";
  context.findings.push_back(std::move(finding));
  return true;
}

/// Once for all parameters whose values came back as the same tensor.
void addCutOff(EvaluationContext& context, const std::vector<core::CutOff>& cuts) {
  const core::Graph& graph = context.graph();
  const std::vector<bool> parts = cuts.empty() ? std::vector<bool>() : partsOfLosses(graph);
  std::map<core::TensorId, int> copies;  // by the new tensor: of how many
  for (const core::CutOff& cut : cuts) {
    const core::TensorId cutOff = graph.node(cut.node).outputs.front();
    const auto copy = copiedOut(context, parts, madeFrom(graph, cutOff));
    if (!copy)
      context.findings.push_back(findingAtNode(context, cut.node, cut.sentence));
    else if (copies[copy->source]++ == 0)
      addCopiedOut(context, *copy, cut.sentence.substr(0, cut.sentence.find(": ")));
  }
}

/// What an optimizer of torch has, and no operator of the recording reads: at level train nobody knows where
/// it is used. A hint: a head that is not used is no mistake.
void addWithoutGradient(EvaluationContext& context) {
  const core::Graph& graph = context.graph();
  if (!rateOfSteps(graph).valid() || !hasSeveralIterations(context)) return;
  std::vector<bool> used(graph.tensors().size());
  bool anyUpdate = false, anyReader = false;
  for (const core::Node& node : graph.nodes())
    for (const core::TensorId input : node.inputs) {
      const bool parameter = graph.tensor(input).role == core::TensorRole::kParameter;
      used[input.index()] = true;
      anyUpdate = anyUpdate || (parameter && node.phase == core::Phase::kUpdate);
      anyReader = anyReader || (parameter && node.phase == core::Phase::kForward);
    }
  std::vector<const core::TensorInfo*> without;
  for (const core::TensorInfo& info : graph.tensors())
    if (info.role == core::TensorRole::kParameter && info.trainable && info.isSource() &&
        !used[info.id.index()])
      without.push_back(&info);
  if (!anyUpdate || without.empty()) return;
  const core::TensorInfo& first = *without.front();
  Finding finding =
      findingAt(context, {context.iteration, context.rankWith(first.id), first.id}, precedence::kStructure);
  finding.severity = Severity::kHint;
  finding.detail = "an optimizer was given " + first.name;
  if (const std::size_t more = without.size() - 1; more > 0)
    finding.detail += " and " + std::to_string(more) + (more == 1 ? " more parameter" : " more parameters") +
                      ", up to " + without.back()->name + ",";
  finding.detail +=
      " and finds no gradient of " + std::string(without.size() == 1 ? "it" : "them") +
      " in any recorded iteration" +
      (anyReader ? ": nothing that was recorded reads " + std::string(without.size() == 1 ? "it" : "them")
                 : "");
  finding.advice =
      "Where it is meant to be trained: use the layer in forward(), not under no_grad() or behind detach(). "
      "--level ops names the operator that stops the gradient.";
  context.findings.push_back(std::move(finding));
}

std::string andMore(std::int64_t count) {
  if (count < 2) return "";
  return " and " + std::to_string(count - 1) + (count == 2 ? " more parameter" : " more parameters");
}

bool isUpdated(const core::Graph& graph, const std::string& parameter) {
  return std::ranges::any_of(graph.tensors(), [&](const core::TensorInfo& info) {
    return info.updateOf.valid() && graph.tensor(info.updateOf).name == parameter;
  });
}

/// What PyTorch's recorder marks of an optimizer as it steps (dump/python/msdbg/_optimizers.py): the model
/// has other layers in place of its own, or one of several optimizers never finds a gradient. True: it was
/// told.
bool addMarked(EvaluationContext& context) {
  const core::Graph& graph = context.graph();
  bool found = false;
  for (const core::Node& node : graph.nodes()) {
    const bool replaced = node.opType == "torch.replaced_parameters",
               vain = node.opType == "torch.steps_in_vain";
    if (!replaced && !vain) continue;
    const std::string name = foreignAttribute<std::string>(node, "name", "a parameter");
    if (vain && isUpdated(graph, name)) continue;  // later
    const std::string all = name + andMore(foreignAttribute<std::int64_t>(node, "count", 1));
    Finding finding = findingAtNode(
        context, node.id,
        replaced ? "an optimizer was given " + all +
                       ", and the model was then given another layer in their place, which it computes with "
                       "and nobody trains"
                 : "an optimizer steps and finds no gradient of all that it has, " + all +
                       ": no loss gives them one");
    finding.advice = replaced
                         ? "Make the optimizer after the last layer is in its place, or give it the new "
                           "parameters: optimizer.add_param_group()."
                         : "Look for a detach() or no_grad() between them and their loss: one that belongs "
                           "into the loss of the other optimizer?";
    context.findings.push_back(std::move(finding));
    found = true;
  }
  return found;
}

/// A hint: an action is drawn so, too.
void addSampled(EvaluationContext& context) {
  const std::optional<Sampled> sampled = sampledAway(context.graph());
  if (!sampled) return;
  Finding finding = findingAtNode(context, sampled->draw, sampled->sentence);
  finding.severity = Severity::kHint;
  finding.advice = "rsample() in place of sample(), where the sample is to be learnt by.";
  context.findings.push_back(std::move(finding));
}

void question(EvaluationContext& context) {
  const bool nothing = addNothingUpdated(context);
  addFrozenInName(context);
  if (!addMarked(context)) addWithoutGradient(context);
  addSampled(context);
  if (std::optional<Finding> severed = severedGradient(context))
    context.findings.push_back(*std::move(severed));
  std::vector<core::TensorId> told;
  for (const LeftOut& left : leftOutParameters(context)) {
    addLeftOut(context, left);
    told.insert(told.end(), left.parameters.begin(), left.parameters.end());
  }
  for (const MadeAnew& made : parametersMadeAnew(context)) {
    Finding finding = findingAtNode(context, made.maker, made.sentence);
    finding.advice =
        "Make it once, in __init__: self.x = nn.Parameter(…), before the optimizer is made of "
        "model.parameters().";
    context.findings.push_back(std::move(finding));
  }
  if (!nothing) addCutOff(context, core::cutOffParameters(context.graph(), told));
}

}  // namespace

ConditionDef noGradientCondition() {
  ConditionDef def;
  def.id = "no_gradient";
  def.title = "Meant to be trained, and is not";
  def.doc =
      "An optimizer steps, and finds no gradient in any iteration. A trainable parameter has no update: "
      "nothing that leads to the loss reads what is made of it, or an "
      "operator without gradient (a Cast to integers, ArgMax, a comparison) stands between. Or it gets a "
      "gradient, and no optimizer was given it: a fault where it comes after trained layers and is as it was "
      "drawn, or where all of its module's are constant, else a hint. Or it is made anew by the forward pass "
      "of every iteration. Or the backward() of a torch.autograd.Function does not use the gradient that it "
      "is "
      "given. Or what was to be frozen was given an attribute that freezes nothing (require_grad). Or an "
      "optimizer of PyTorch was given a layer in whose place the model has another one since, or is one of "
      "several and never finds a gradient. Hints: an "
      "optimizer of PyTorch was given it, and nothing reads it; a normal "
      "distribution is sampled without a gradient, and a trained layer reads that. From the graph.";
  def.advice =
      "Use the layer's result, replace the operator that stops the gradient, or freeze the parameters on "
      "purpose.";
  def.target = Target::kWeight;
  def.effect = Effect::kSilent;
  def.rowsOnly = true;
  def.make = [](const core::Graph&, const Parameters&, bool) { return onceOfGraph(question); };
  return def;
}

}  // namespace msdbg::watch
