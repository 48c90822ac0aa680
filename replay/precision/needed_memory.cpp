#include "replay/precision/needed_memory.h"

#include <algorithm>

namespace msdbg::replay {

namespace {

constexpr double kMost = 1e18;  // sums of hostile shapes do not wrap around

double elementsOf(const core::TensorInfo& info) {
  if (!info.shape.known()) return 0;
  double elements = 1;
  for (const std::int64_t dim : info.shape.dims()) elements *= static_cast<double>(dim);
  return elements;
}

double float64Bytes(const core::TensorInfo& info) { return 8 * elementsOf(info); }

double keptBytes(const core::TensorInfo& info) { return bytesOf(info) + float64Bytes(info); }

}  // namespace

double bytesOf(const core::TensorInfo& info) {
  return std::min(static_cast<double>(core::dtypeSize(info.dtype)) * elementsOf(info), kMost);
}

std::vector<core::NodeId> lastReaders(const core::Graph& graph) {
  std::vector<core::NodeId> last;
  for (const core::TensorInfo& info : graph.tensors()) last.push_back(info.producer);
  for (const core::Node& node : graph.nodes())
    for (const core::TensorId input : node.inputs) last[input.index()] = node.id;
  return last;
}

std::uint64_t bisectBytes(const core::Graph& graph) {
  const std::vector<core::NodeId> last = lastReaders(graph);
  std::vector<bool> lives(graph.tensors().size(), false);
  double live = 0, most = 0;
  const auto begin = [&](core::TensorId id) {
    if (!lives[id.index()]) live += keptBytes(graph.tensor(id));
    lives[id.index()] = true;
  };
  for (const core::Node& node : graph.nodes()) {
    double here = 0;
    for (const std::vector<core::TensorId>* ids : {&node.inputs, &node.outputs})
      for (const core::TensorId id : *ids) {
        begin(id);
        here += 3 * float64Bytes(graph.tensor(id));
      }
    most = std::max(most, live + here);
    for (const std::vector<core::TensorId>* ids : {&node.inputs, &node.outputs})
      for (const core::TensorId id : *ids)
        if (last[id.index()] == node.id && lives[id.index()]) {
          live -= keptBytes(graph.tensor(id));
          lives[id.index()] = false;
        }
  }
  return static_cast<std::uint64_t>(std::min(most, kMost));
}

}  // namespace msdbg::replay
