#include "core_engine/graph/graph.h"

#include <algorithm>
#include <charconv>

namespace msdbg::core {

bool TensorValue::operator==(const TensorValue& other) const {
  return tensor.dtype() == other.tensor.dtype() && tensor.shape() == other.tensor.shape() &&
         tensor.valid() == other.tensor.valid() &&
         std::ranges::equal(tensor.byteSpan(), other.tensor.byteSpan());
}

namespace {

/// The N of "scope/Type-opN" when the name has just this form for the node's type; 0 otherwise.
std::int64_t numberOf(const Node& node) {
  const std::string prefix = (node.scope.empty() ? "" : node.scope + "/") + node.opType + "-op";
  if (!node.name.starts_with(prefix)) return 0;
  std::int64_t number = 0;
  const char* end = node.name.data() + node.name.size();
  const auto [stop, code] = std::from_chars(node.name.data() + prefix.size(), end, number);
  return code == std::errc{} && stop == end ? std::max<std::int64_t>(number, 0) : 0;
}

}  // namespace

std::string_view phaseName(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return "forward";
    case Phase::kBackward:
      return "backward";
    case Phase::kUpdate:
      return "update";
    case Phase::kCollective:
      return "collective";
  }
  return "unknown";
}

std::string_view roleName(TensorRole role) {
  switch (role) {
    case TensorRole::kActivation:
      return "activation";
    case TensorRole::kInput:
      return "input";
    case TensorRole::kLabel:
      return "label";
    case TensorRole::kParameter:
      return "parameter";
    case TensorRole::kOptimizerState:
      return "optimizer_state";
    case TensorRole::kConstant:
      return "constant";
    case TensorRole::kLoss:
      return "loss";
    case TensorRole::kGradient:
      return "gradient";
    case TensorRole::kUpdated:
      return "updated";
    case TensorRole::kHyperparameter:
      return "hyperparameter";
  }
  return "unknown";
}

std::optional<NodeId> Graph::findNode(std::string_view fullName) const {
  const auto found = m_nodeByName.find(fullName, [&](std::int64_t place) {
    return m_nodes[static_cast<std::size_t>(place)].name == fullName;
  });
  return found ? std::optional(NodeId(*found)) : std::nullopt;
}

std::optional<TensorId> Graph::named(std::string_view fullNameOrAlias) const {
  const std::size_t colon = fullNameOrAlias.rfind(':');
  const std::string_view name = fullNameOrAlias.substr(0, colon);
  const auto found = m_tensorByName.find(fullNameOrAlias, [&](std::int64_t place) {
    const TensorInfo& info = m_tensors[static_cast<std::size_t>(place)];
    return info.alias == fullNameOrAlias || (info.name == name && info.fullName() == fullNameOrAlias);
  });
  return found ? std::optional(TensorId(*found)) : std::nullopt;
}

std::optional<TensorId> Graph::findTensor(std::string_view fullNameWithOrWithoutSlot) const {
  const std::optional<TensorId> found = named(fullNameWithOrWithoutSlot);
  return found ? found : named(std::string(fullNameWithOrWithoutSlot) + ":0");
}

std::vector<NodeId> Graph::consumers(TensorId id) const {
  return id.index() < m_consumers.size() ? m_consumers[id.index()] : std::vector<NodeId>{};
}

const Frame* Graph::userFrame(std::span<const FrameId> frames) const {
  for (const FrameId id : frames)
    if (!frame(id).engine) return &frame(id);
  return frames.empty() ? nullptr : &frame(frames.front());
}

std::vector<KernelId> Graph::kernelsOf(NodeId id) const {
  return id.index() < m_kernelsOf.size() ? m_kernelsOf[id.index()] : std::vector<KernelId>{};
}

std::string Graph::scopePath() const {
  std::string path = m_name;
  for (const OpenFrame& open : openFrames)
    if (!open.scope.empty()) path += "/" + open.scope;
  return path;
}

bool Graph::hasTrainer() const {
  return !m_nodes.empty() && m_nodes.back().phase != Phase::kForward;  // updates come last
}

std::vector<FrameId> Graph::frameStack(FrameId innermost) {
  std::vector<FrameId> frames{innermost};
  for (std::size_t i = openFrames.size(); i-- > 0;) frames.push_back(openFrames[i].frame);
  return frames;
}

std::string Graph::uniqueName(const std::string& wanted) const {
  const auto taken = [&](const std::string& name) {
    return findTensor(name).has_value() || findNode(name).has_value();
  };
  std::string name = wanted;
  for (std::int64_t n = 2; taken(name); ++n) name = wanted + std::to_string(n);
  return name;
}

Graph Graph::fromTables(std::string name, DType floating, std::int64_t version, std::vector<Node> nodes,
                        std::vector<TensorInfo> tensors, std::vector<Frame> frames,
                        std::vector<Kernel> kernels) {
  Graph graph;
  graph.m_name = std::move(name);  // whatever a file says
  graph.m_floating = floating;
  graph.m_version = version;
  graph.m_nodes = std::move(nodes);
  graph.m_tensors = std::move(tensors);
  graph.m_frames = std::move(frames);
  for (const TensorInfo& info : graph.m_tensors) graph.index(info);
  for (const Node& node : graph.m_nodes) graph.index(node);
  graph.setKernels(std::move(kernels));
  return graph;
}

void Graph::index(const TensorInfo& info) {
  m_tensorByName.add(info.fullName(), info.id.value);
  if (!info.alias.empty()) m_tensorByName.add(info.alias, info.id.value);
}

void Graph::index(const Node& node) {
  m_nodeByName.add(node.name, node.id.value);
  std::int64_t& counter = m_counters[node.scope + "/" + node.opType];
  counter = std::max(counter, numberOf(node));
  m_consumers.resize(std::max(m_consumers.size(), m_tensors.size()));
  for (const TensorId input : node.inputs) {
    // Tables from a file are indexed before they are verified.
    if (input.index() >= m_consumers.size()) continue;
    std::vector<NodeId>& readers = m_consumers[input.index()];
    if (readers.empty() || readers.back() != node.id) readers.push_back(node.id);
  }
}

}  // namespace msdbg::core
