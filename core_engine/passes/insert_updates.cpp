// Adds one update node per parameter, and momentum states and the learning rate as sources.
//   p, grad(p), learning_rate, momentum(p)  ->  SgdUpdate  ->  next value of p, next value of momentum(p)
#include "core_engine/passes/pipeline.h"

namespace msdbg::core {
namespace {

TensorId addLearningRate(Graph& graph, double lr) {
  TensorInfo info;
  info.name = "optimizer/learning_rate";
  info.dtype = graph.floatingDType();
  info.role = TensorRole::kHyperparameter;
  info.replicated = true;
  info.initializer = {Initializer::Kind::kConstant, lr};
  return graph.addSource(std::move(info));
}

TensorId addMomentum(Graph& graph, const TensorInfo& parameter) {
  TensorInfo info;
  info.name = "momentum(" + parameter.name + ")";
  info.dtype = parameter.dtype;
  info.shape = parameter.shape;
  info.role = TensorRole::kOptimizerState;
  info.replicated = true;
  info.initializer = {Initializer::Kind::kZeros, 0};
  info.frames = parameter.frames;
  return graph.addSource(std::move(info));
}

TensorInfo nextValueOf(const TensorInfo& source) {
  TensorInfo info;
  info.dtype = source.dtype;
  info.shape = source.shape;
  info.role = TensorRole::kUpdated;
  info.updateOf = source.id;
  info.replicated = true;
  return info;
}

std::string scopeOf(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? "" : "/" + name.substr(0, slash);
}

void addUpdate(Graph& graph, const TrainingGraph& training, TensorId parameterId, TensorId gradient) {
  const TensorInfo parameter = graph.tensor(parameterId);
  const Node user = graph.node(graph.consumers(parameterId).front());
  std::vector<TensorId> inputs{parameterId, gradient, training.learningRate};
  std::vector<TensorInfo> outputs{nextValueOf(parameter)};
  if (training.optimizer.momentum != 0) {
    const TensorId momentum = addMomentum(graph, parameter);
    inputs.push_back(momentum);
    outputs.push_back(nextValueOf(graph.tensor(momentum)));
  }
  Attributes attributes{{"momentum", training.optimizer.momentum},
                        {"weight_decay", training.optimizer.weightDecay}};
  const NodeId id =
      graph.addNode("SgdUpdate", "update" + scopeOf(parameter.name), Phase::kUpdate, std::move(inputs),
                    std::move(attributes), std::move(outputs), user.frames, user.id);
  graph.setAlias(graph.node(id).outputs.front(), "next(" + parameter.name + ")");
}

}  // namespace

Status insertUpdatesPass(Graph& graph, TrainingGraph& training) {
  training.learningRate = addLearningRate(graph, training.optimizer.lr);
  for (const auto& [parameter, gradient] : training.gradients)
    addUpdate(graph, training, parameter, gradient);
  return Ok{};
}

}  // namespace msdbg::core
