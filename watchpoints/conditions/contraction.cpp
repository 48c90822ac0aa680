#include "watchpoints/conditions/contraction.h"

#include <optional>

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::TensorId;

std::string Squashing::text() const {
  if (count() == 0) return {};
  std::string text = sigmoids > 0 ? std::to_string(sigmoids) + " Sigmoid" : "";
  if (tanhs > 0) text += (text.empty() ? "" : " and ") + std::to_string(tanhs) + " Tanh";
  text += count() > 1 ? " lie between it and the loss" : " lies between it and the loss";
  return text + (sigmoids > 0
                     ? ", and a Sigmoid passes a quarter of the gradient at most, next to nothing where "
                       "it is saturated"
                     : ", and a Tanh passes next to nothing of the gradient where it is saturated");
}

std::vector<Squashing> squashingBehind(const Graph& graph) {
  std::vector<std::optional<Squashing>> least(graph.tensors().size());
  for (const core::TensorInfo& info : graph.tensors())
    if (info.role == core::TensorRole::kLoss) least[info.id.index()].emplace();
  for (std::size_t i = graph.nodes().size(); i-- > 0;) {  // consumers first
    const Node& node = graph.nodes()[i];
    if (node.phase != core::Phase::kForward) continue;
    for (const TensorId output : node.outputs) {
      std::optional<Squashing> behind = least[output.index()];
      if (!behind) continue;
      behind->sigmoids += node.opType == "Sigmoid" || node.opType == "HardSigmoid";
      behind->tanhs += node.opType == "Tanh";
      for (const TensorId input : node.inputs)
        if (std::optional<Squashing>& known = least[input.index()];
            !known || behind->count() < known->count())
          known = behind;
    }
  }
  std::vector<Squashing> all(least.size());
  for (std::size_t i = 0; i < least.size(); ++i) all[i] = least[i].value_or(Squashing());
  return all;
}

}  // namespace msdbg::watch
