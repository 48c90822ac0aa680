#include "core_engine/passes/update_nodes.h"

namespace msdbg::core {
namespace {

std::string scopeOf(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? "" : "/" + name.substr(0, slash);
}

}  // namespace

NodeId addParameterNode(Graph& graph, std::string_view opType, TensorId parameter,
                        std::vector<TensorId> inputs, Attributes attributes,
                        std::vector<TensorInfo> outputs) {
  const Node user = graph.node(graph.consumers(parameter).front());
  const std::string scope = "update" + scopeOf(graph.tensor(parameter).name);
  return graph.addNode(std::string(opType), scope, Phase::kUpdate, std::move(inputs), std::move(attributes),
                       std::move(outputs), user.frames, user.id);
}

NodeId addGlobalNode(Graph& graph, std::string_view opType, const TrainingGraph& training,
                     std::string_view scope, std::vector<TensorId> inputs, Attributes attributes,
                     std::vector<TensorInfo> outputs) {
  const Node loss = graph.node(graph.tensor(training.loss).producer);
  return graph.addNode(std::string(opType), "update/" + std::string(scope), Phase::kUpdate, std::move(inputs),
                       std::move(attributes), std::move(outputs), loss.frames, loss.id);
}

TensorId addOptimizerSource(Graph& graph, std::string name, TensorRole role, DType dtype, Shape shape,
                            double value, std::vector<FrameId> frames) {
  TensorInfo info;
  info.name = std::move(name);
  info.dtype = dtype;
  info.shape = std::move(shape);
  info.role = role;
  info.replicated = true;
  info.initializer = {value == 0 ? Initializer::Kind::kZeros : Initializer::Kind::kConstant, value};
  info.frames = std::move(frames);
  return graph.addSource(std::move(info));
}

std::vector<FrameId> lossFrames(const Graph& graph, const TrainingGraph& training) {
  return graph.node(graph.tensor(training.loss).producer).frames;
}

TensorInfo gradientInfo(DType dtype, Shape shape, TensorId parameter) {
  TensorInfo info;
  info.dtype = dtype;
  info.shape = std::move(shape);
  info.role = TensorRole::kGradient;
  info.gradientOf = parameter;
  info.replicated = true;
  return info;
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

}  // namespace msdbg::core
