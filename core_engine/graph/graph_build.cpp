// Graph's building half: how sources, nodes, frames and kernels get their ids and names.
#include <algorithm>
#include <cassert>

#include "core_engine/graph/graph.h"
#include "core_engine/ops/onnx_dtype.h"

namespace msdbg::core {

TensorId Graph::addSource(TensorInfo info) {
  info.id = TensorId(static_cast<std::int64_t>(m_tensors.size()));
  info.slot = 0;
  info.producer = {};
  assert(!named(info.fullName()) && "source names are unique: use uniqueName()");
  assert((info.alias.empty() || !named(info.alias)) && "aliases are unique");
  index(info);
  m_tensors.push_back(std::move(info));
  return m_tensors.back().id;
}

NodeId Graph::addNode(std::string opType, std::string scope, Phase phase, std::vector<TensorId> inputs,
                      Attributes attributes, std::vector<TensorInfo> outputs, std::vector<FrameId> frames,
                      NodeId derivedFrom, std::string_view domain) {
  Node node;
  node.name = nextNodeName(scope, opType);
  node.opType = std::move(opType);
  node.scope = std::move(scope);
  node.phase = phase;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  node.frames = std::move(frames);
  node.derivedFrom = derivedFrom;
  node.domain = domain;
  return addNode(std::move(node), std::move(outputs));
}

NodeId Graph::addNode(Node node, std::vector<TensorInfo> outputs) {
  assert(!findNode(node.name) && "names are unique");
  node.id = NodeId(static_cast<std::int64_t>(m_nodes.size()));
  node.outputs.clear();
  for (TensorInfo& output : outputs) {
    output.id = TensorId(static_cast<std::int64_t>(m_tensors.size()));
    output.name = node.name;
    output.slot = static_cast<std::int32_t>(node.outputs.size());
    output.producer = node.id;
    assert((output.alias.empty() || !named(output.alias)) && "aliases are unique");
    node.outputs.push_back(output.id);
    index(output);
    m_tensors.push_back(std::move(output));
  }
  index(node);
  m_nodes.push_back(std::move(node));
  return m_nodes.back().id;
}

std::string Graph::nextNodeName(const std::string& scope, const std::string& opType) {
  std::int64_t& counter = m_counters[scope + "/" + opType];
  const std::string prefix = (scope.empty() ? "" : scope + "/") + opType + "-op";
  std::string name;
  // A source may by chance have the very name.
  do name = prefix + std::to_string(++counter);
  while (named(name + ":0"));
  return name;
}

FrameId Graph::addFrame(Frame frame) {
  const auto same = [&](const Frame& f) { return f.line == frame.line && f == frame; };
  auto found = std::find_if(m_frames.begin(), m_frames.end(), same);
  if (found == m_frames.end()) found = m_frames.insert(m_frames.end(), std::move(frame));
  return FrameId(found - m_frames.begin());
}

void Graph::setKernels(std::vector<Kernel> kernels) {
  m_kernels = std::move(kernels);
  m_kernelsOf.assign(m_kernels.empty() ? 0 : m_nodes.size(), {});
  for (const Kernel& kernel : m_kernels)
    for (const NodeId node : kernel.nodes)
      if (node.index() < m_kernelsOf.size()) m_kernelsOf[node.index()].push_back(kernel.id);
}

void Graph::setAlias(TensorId id, std::string alias) {
  TensorInfo& info = tensor(id);
  if (!info.alias.empty()) m_tensorByName.remove(info.alias, id.value);
  assert(!named(alias) && "aliases are unique");
  info.alias = std::move(alias);
  if (!info.alias.empty()) m_tensorByName.add(info.alias, id.value);
}

Graph Graph::withFloatingDType(DType dtype) const {
  assert(isComputedFloating(dtype));
  Graph graph = *this;
  graph.m_floating = dtype;
  for (TensorInfo& info : graph.m_tensors)
    if (isComputedFloating(info.dtype) || isRounded(info.dtype)) info.dtype = dtype;
  for (Node& node : graph.m_nodes) {
    const auto to = node.attributes.find("to");
    const bool chooses = node.opType == "Cast" || node.opType == "OneHot";
    if (chooses && to != node.attributes.end() && !node.outputs.empty() &&
        isComputedFloating(graph.tensor(node.outputs.front()).dtype))
      to->second = onnxNumber(dtype);
  }
  return graph;
}

}  // namespace msdbg::core
