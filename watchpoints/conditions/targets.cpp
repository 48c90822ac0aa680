#include "watchpoints/conditions/targets.h"

#include <algorithm>

#include "core_engine/ops/op.h"

namespace msdbg::watch {

using core::Graph;
using core::TensorId;
using core::TensorInfo;
using core::TensorRole;

bool isWeight(const TensorInfo& info) { return info.role == TensorRole::kParameter && info.trainable; }

bool isWeightUpdate(const Graph& graph, const TensorInfo& info) {
  return info.updateOf.valid() && isWeight(graph.tensor(info.updateOf));
}

bool isGradient(const TensorInfo& info) {
  return info.role == TensorRole::kGradient && info.gradientOf.valid();
}

bool isParameterGradient(const Graph& graph, const TensorInfo& info) {
  return isGradient(info) && isWeight(graph.tensor(info.gradientOf));
}

bool isAccumulatedGradient(const Graph& graph, const TensorInfo& info) {
  return info.producer.valid() && graph.node(info.producer).opType == "AccumulateGradient";
}

bool isActivationFunction(const core::Node& node) {
  const core::OpDef* op = core::findOp(std::string_view(node.opType));  // others' are in our terms here
  return op && op->activation;
}

bool isActivation(const Graph& graph, const TensorInfo& info) {
  if (info.isSource()) return false;
  const core::Node& node = graph.node(info.producer);
  return node.phase == core::Phase::kForward && isActivationFunction(node);
}

bool isReplicated(const Graph& graph, const TensorInfo& info) {
  return info.replicated || (info.updateOf.valid() && graph.tensor(info.updateOf).replicated);
}

bool isZeroInitialised(const TensorInfo& info) {
  const core::Initializer& first = info.initializer;
  return first.kind == core::Initializer::Kind::kZeros ||
         (first.kind == core::Initializer::Kind::kConstant && first.value == 0);
}

bool mayStartAtZero(const TensorInfo& info) {
  return isZeroInitialised(info) || info.initializer.kind == core::Initializer::Kind::kNone;
}

bool isCollective(const core::Node& node) { return node.phase == core::Phase::kCollective; }

std::vector<TensorId> selectTensors(const Graph& graph,
                                    const std::function<bool(const TensorInfo&)>& wanted) {
  std::vector<TensorId> chosen;
  for (const TensorInfo& info : graph.tensors())
    if (mayBeNonFinite(info.dtype) && wanted(info)) chosen.push_back(info.id);
  std::ranges::stable_sort(chosen, {}, [&](TensorId id) {
    const TensorInfo& info = graph.tensor(id);
    return std::pair(info.producer, info.slot);
  });
  return chosen;
}

std::vector<TensorId> updatesByParameter(const Graph& graph) {
  std::vector<TensorId> updates(graph.tensors().size());
  for (const TensorInfo& info : graph.tensors())
    if (info.updateOf.valid()) updates[info.updateOf.index()] = info.id;
  return updates;
}

static std::string_view scopeOf(const TensorInfo& info) {
  const std::size_t slash = info.name.rfind('/');
  return slash == std::string::npos ? std::string_view() : std::string_view(info.name).substr(0, slash);
}

/// X, weight or scale, bias: in this order ONNX's operators have them.
static TensorId weightBefore(const Graph& graph, TensorId bias) {
  for (const core::NodeId user : graph.consumers(bias)) {
    const core::Node& layer = graph.node(user);
    if (layer.phase == core::Phase::kForward && layer.inputs.size() > 2 && layer.inputs[2] == bias &&
        graph.tensor(layer.inputs[1]).role == TensorRole::kParameter)
      return layer.inputs[1];
  }
  return {};
}

TensorId layerWeight(const Graph& graph, TensorId parameter) {
  const TensorInfo& bias = graph.tensor(parameter);
  if (bias.shape.rank() != 1) return {};
  if (const TensorId weight = weightBefore(graph, parameter); weight.valid()) return weight;
  for (const TensorInfo& other : graph.tensors())
    if (other.role == TensorRole::kParameter && other.shape.rank() > bias.shape.rank() &&
        scopeOf(other) == scopeOf(bias))
      return other.id;
  return {};
}

std::string_view opTypeOf(const Graph& graph, TensorId tensor) {
  const core::NodeId producer = graph.tensor(tensor).producer;
  return producer.valid() ? std::string_view(graph.node(producer).opType) : std::string_view();
}

}  // namespace msdbg::watch
