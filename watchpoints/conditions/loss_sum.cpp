#include "watchpoints/conditions/loss_sum.h"

#include <algorithm>
#include <array>

namespace msdbg::watch {

using core::Node;
using core::TensorId;

std::optional<LossSum> sumOfLoss(const core::Graph& graph) {
  static constexpr std::array<std::string_view, 6> kKeeps = {"Neg",     "Identity", "Cast",
                                                             "Reshape", "Squeeze",  "Add"};
  constexpr std::int64_t kMany = 16;
  TensorId tensor;
  for (const core::TensorInfo& info : graph.tensors())
    if (info.role == core::TensorRole::kLoss) tensor = info.id;
  while (tensor.valid() && graph.tensor(tensor).producer.valid()) {
    const Node& node = graph.node(graph.tensor(tensor).producer);
    const TensorId input = node.inputs.front();
    if (node.opType == "ReduceSum" || node.opType == "ReduceSumSquare") {
      const core::Shape& shape = graph.tensor(input).shape;
      if (!shape.known() || shape.elements() < kMany) return std::nullopt;
      return LossSum{"the loss is a sum over " + std::to_string(shape.elements()) +
                         " values, not their mean: its gradients grow with their number",
                     tensor};
    }
    if (std::ranges::find(kKeeps, node.opType) == kKeeps.end()) return std::nullopt;
    tensor = input;
  }
  return std::nullopt;
}

}  // namespace msdbg::watch
