// Which kernels work on tensors in channels of 16. A convolution takes each of its activations either way.
// The others go through memory in its order, whatever lies there, or have a form of their own for it
// (batch_norm_channels16.cpp); their tensors must lie alike.
#include <algorithm>

#include "core_engine/cpu/kernel_factory.h"

namespace msdbg::core::cpu {
namespace {

std::vector<TensorId> candidates(const Graph& graph, const Node& node) {
  std::vector<TensorId> ids;
  for (const std::vector<TensorId>* side : {&node.inputs, &node.outputs})
    for (const TensorId id : *side)
      if (canBeChannels16(graph.tensor(id))) ids.push_back(id);
  return ids;
}

/// Inputs that are broadcast, and so walked through otherwise, are of another shape than the first output.
bool ofOneShape(const Graph& graph, const Node& node) {
  const Shape& shape = graph.tensor(node.outputs.front()).shape;
  const bool normalises = node.opType.starts_with("BatchNormalization");
  return std::ranges::all_of(node.inputs, [&](TensorId id) {
    const Shape& input = graph.tensor(id).shape;
    return input == shape || (normalises && input.rank() == 1);
  });
}

/// Groups and weights that could be mistaken for activations are rare; they stay row-major.
std::vector<TensorId> activations(const Graph& graph, const Node& node) {
  if (intAttribute(node.attributes, "group", 1) != 1) return {};
  const bool weightFirst = node.opType == "ConvGradWeight";
  std::vector<TensorId> ids{node.inputs[0], weightFirst ? node.inputs[1] : node.outputs[0]};
  std::erase_if(ids, [&](TensorId id) { return !canBeChannels16(graph.tensor(id)); });
  return ids;
}

}  // namespace

LayoutPorts layoutPorts(const KernelRow& row, const Graph& graph, const Node& node) {
  switch (row.layouts) {
    case KnownLayouts::kConvolution:
      return {.each = activations(graph, node)};
    case KnownLayouts::kAlike:
      return {.alike = ofOneShape(graph, node) ? candidates(graph, node) : std::vector<TensorId>{}};
    case KnownLayouts::kRowMajor:
      break;
  }
  return {};
}

}  // namespace msdbg::core::cpu
