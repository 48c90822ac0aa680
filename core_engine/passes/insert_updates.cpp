// Adds one update node per parameter, and the optimizer's states and the learning rate as sources.
//   p, grad(p), learning_rate, momentum(p)  ->  SgdUpdate  ->  next value of p, next value of momentum(p)
//   p, grad(p), learning_rate, exp_avg(p), exp_avg_sq(p), step  ->  AdamUpdate  ->  next values of p and
//   both; step  ->  StepUpdate  ->  step + 1, once after all of them
// Where gradients are accumulated, each of them reads optimizer/micro_step too and writes what is new in the
// last iteration only; a StepUpdate counts that one, from 0 again after an update.
#include "core_engine/base/text.h"
#include "core_engine/graph/names.h"
#include "core_engine/passes/update_nodes.h"

namespace msdbg::core {
namespace {

/// Every update is in every iteration's graph; this makes it one of those in which it is due.
void addMicroStep(const TrainingGraph& training, std::vector<TensorId>& inputs, Attributes& attributes) {
  if (!training.due.valid()) return;
  inputs.push_back(training.due);
  attributes["every"] = training.every;
}

/// The rule's attributes for one parameter.
Attributes forParameter(const TrainingGraph& training, const std::string& name, Attributes attributes) {
  attributes["weight_decay"] = training.optimizer.weightDecayOf(name);
  const ParameterGroup* group = training.optimizer.groupOf(name);
  if (group && group->lrFactor != 1) attributes["lr_factor"] = group->lrFactor;
  return attributes;
}

TensorId addState(Graph& graph, const std::string& kind, TensorId parameterId) {
  const TensorInfo parameter = graph.tensor(parameterId);
  return addOptimizerSource(graph, kind + "(" + parameter.name + ")", TensorRole::kOptimizerState,
                            parameter.dtype, parameter.shape, 0, parameter.frames);
}

/// The update of one parameter whose rule keeps `states`; `more` are inputs beyond those.
void addUpdate(Graph& graph, std::string_view opType, const TrainingGraph& training,
               const TrainingGraph::ParameterGradient& of, const std::vector<std::string>& states,
               const std::vector<TensorId>& more, Attributes attributes) {
  std::vector<TensorId> inputs{of.parameter, of.gradient, training.learningRate};
  std::vector<TensorInfo> outputs{nextValueOf(graph.tensor(of.parameter))};
  for (const std::string& kind : states) {
    inputs.push_back(addState(graph, kind, of.parameter));
    outputs.push_back(nextValueOf(graph.tensor(inputs.back())));
  }
  inputs.insert(inputs.end(), more.begin(), more.end());
  attributes = forParameter(training, graph.tensor(of.parameter).name, std::move(attributes));
  addMicroStep(training, inputs, attributes);
  const NodeId id = addParameterNode(graph, opType, of.parameter, std::move(inputs), std::move(attributes),
                                     std::move(outputs));
  graph.setAlias(graph.node(id).outputs.front(), "next(" + graph.tensor(of.parameter).name + ")");
}

void addUpdates(Graph& graph, const TrainingGraph& training, const Sgd& rule) {
  Attributes attributes{{"momentum", rule.momentum}};
  if (rule.nesterov) attributes["nesterov"] = std::int64_t{1};
  const std::vector<std::string> states(rule.momentum != 0 ? 1 : 0, "momentum");
  for (const auto& of : training.gradients)
    addUpdate(graph, "SgdUpdate", training, of, states, {}, attributes);
}

/// counter + 1, where it ends at `modulo` (0: never).
void addCount(Graph& graph, const TrainingGraph& training, TensorId counter, std::vector<TensorId> inputs,
              Attributes attributes) {
  const TensorInfo next = nextValueOf(graph.tensor(counter));
  const NodeId counted = addGlobalNode(graph, "StepUpdate", training, "optimizer", std::move(inputs),
                                       std::move(attributes), {next});
  graph.setAlias(graph.node(counted).outputs.front(), "next(" + graph.tensor(counter).name + ")");
}

void addAdamUpdates(Graph& graph, const TrainingGraph& training, const Adam& rule, bool decoupled) {
  const TensorId step = addOptimizerSource(graph, "optimizer/step", TensorRole::kOptimizerState, DType::Int64,
                                           Shape{}, 0, lossFrames(graph, training));
  const Attributes attributes{{"beta1", rule.beta1},
                              {"beta2", rule.beta2},
                              {"epsilon", rule.epsilon},
                              {"decoupled", std::int64_t{decoupled}}};
  for (const auto& of : training.gradients)
    addUpdate(graph, "AdamUpdate", training, of, {"exp_avg", "exp_avg_sq"}, {step}, attributes);
  std::vector<TensorId> inputs{step};
  Attributes counting;
  addMicroStep(training, inputs, counting);
  addCount(graph, training, step, std::move(inputs), std::move(counting));
}

void addUpdates(Graph& graph, const TrainingGraph& training, const Adam& rule) {
  addAdamUpdates(graph, training, rule, false);
}
void addUpdates(Graph& graph, const TrainingGraph& training, const AdamW& r) {
  addAdamUpdates(graph, training, {r.lr, r.beta1, r.beta2, r.epsilon, r.weightDecay}, true);
}

Error noUse(const ParameterGroup& group, const std::string& why) {
  return {ErrorCode::kUsage, "optimizer: the group " + group.match + " is for no parameter: " + why};
}

/// kUsage: a group that decides for no parameter, most likely a mistyped one.
Status checkGroup(const Graph& graph, const Optimizer& optimizer, const ParameterGroup& group) {
  bool fits = false, trains = false;
  for (const TensorInfo& info : graph.tensors()) {
    if (info.role != TensorRole::kParameter || !globMatch(group.match, info.name)) continue;
    if (info.trainable && optimizer.groupOf(info.name) == &group) return Ok{};
    fits = true;
    trains = trains || info.trainable;
  }
  if (!fits)
    return Error(ErrorCode::kUsage, "optimizer: no parameter's name fits the group " + group.match +
                                        nearestParameters(graph, group.match));
  if (!trains) return noUse(group, "all that it fits are frozen; leave the group out, or do not freeze them");
  return noUse(group, "groups before it fit all that it fits, and the first one decides; put it before them");
}

}  // namespace

Status insertUpdatesPass(Graph& graph, TrainingGraph& training) {
  for (const ParameterGroup& group : training.optimizer.groups)
    MSDBG_TRY(checkGroup(graph, training.optimizer, group));
  training.learningRate = addOptimizerSource(graph, "optimizer/learning_rate", TensorRole::kHyperparameter,
                                             graph.floatingDType(), Shape{}, training.optimizer.lr(), {});
  std::visit([&](const auto& rule) { addUpdates(graph, training, rule); }, training.optimizer.rule);
  if (training.microStep.valid())
    addCount(graph, training, training.microStep, {training.microStep},
             {{"modulo", training.optimizer.accumulate}});
  return Ok{};
}

}  // namespace msdbg::core
