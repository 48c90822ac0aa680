// Adds one update node per parameter, and the optimizer's states and the learning rate as sources.
//   p, grad(p), learning_rate, momentum(p)  ->  SgdUpdate  ->  next value of p, next value of momentum(p)
//   p, grad(p), learning_rate, exp_avg(p), exp_avg_sq(p), step  ->  AdamUpdate  ->  next values of p and
//   both; step  ->  StepUpdate  ->  step + 1, once after all of them
#include "core_engine/passes/update_nodes.h"

namespace msdbg::core {
namespace {

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
  const NodeId id = addParameterNode(graph, opType, of.parameter, std::move(inputs), std::move(attributes),
                                     std::move(outputs));
  graph.setAlias(graph.node(id).outputs.front(), "next(" + graph.tensor(of.parameter).name + ")");
}

void addUpdates(Graph& graph, const TrainingGraph& training, const Sgd& rule) {
  Attributes attributes{{"momentum", rule.momentum}, {"weight_decay", rule.weightDecay}};
  if (rule.nesterov) attributes["nesterov"] = std::int64_t{1};
  const std::vector<std::string> states(rule.momentum != 0 ? 1 : 0, "momentum");
  for (const auto& of : training.gradients)
    addUpdate(graph, "SgdUpdate", training, of, states, {}, attributes);
}

void addAdamUpdates(Graph& graph, const TrainingGraph& training, const Adam& rule, bool decoupled) {
  const TensorId step = addOptimizerSource(graph, "optimizer/step", TensorRole::kOptimizerState, DType::Int64,
                                           Shape{}, 0, lossFrames(graph, training));
  const Attributes attributes{{"beta1", rule.beta1},
                              {"beta2", rule.beta2},
                              {"epsilon", rule.epsilon},
                              {"weight_decay", rule.weightDecay},
                              {"decoupled", std::int64_t{decoupled}}};
  for (const auto& of : training.gradients)
    addUpdate(graph, "AdamUpdate", training, of, {"exp_avg", "exp_avg_sq"}, {step}, attributes);
  const TensorInfo next = nextValueOf(graph.tensor(step));
  const NodeId counted = addGlobalNode(graph, "StepUpdate", training, "optimizer", {step}, {}, {next});
  graph.setAlias(graph.node(counted).outputs.front(), "next(optimizer/step)");
}

void addUpdates(Graph& graph, const TrainingGraph& training, const Adam& rule) {
  addAdamUpdates(graph, training, rule, false);
}
void addUpdates(Graph& graph, const TrainingGraph& training, const AdamW& r) {
  addAdamUpdates(graph, training, {r.lr, r.beta1, r.beta2, r.epsilon, r.weightDecay}, true);
}

}  // namespace

Status insertUpdatesPass(Graph& graph, TrainingGraph& training) {
  training.learningRate = addOptimizerSource(graph, "optimizer/learning_rate", TensorRole::kHyperparameter,
                                             graph.floatingDType(), Shape{}, training.optimizer.lr(), {});
  std::visit([&](const auto& rule) { addUpdates(graph, training, rule); }, training.optimizer.rule);
  return Ok{};
}

}  // namespace msdbg::core
