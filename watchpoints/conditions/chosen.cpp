#include "watchpoints/conditions/chosen.h"

#include "core_engine/graph/names.h"
#include "watchpoints/conditions/targets.h"

namespace msdbg::watch {

using core::Graph;
using core::TensorId;

namespace {

constexpr std::string_view kTensors = "tensors", kFollowed = "tensor";

}  // namespace

ParameterSpec tensorsParameter() {
  return {kTensors,
          ParameterType::kTensors,
          {},
          "which ones are looked at; a parameter's name means its gradient and its updates too"};
}

std::vector<TensorId> chosenTensors(const Graph& graph, const Parameters& parameters,
                                    std::vector<TensorId> tensors) {
  const std::vector<std::string> names = listOf(parameters, kTensors);
  if (names.empty()) return tensors;
  std::vector<bool> named(graph.tensors().size());
  for (const std::string& name : names)
    for (const TensorId id : core::tensorsMeant(graph, name)) named[id.index()] = true;
  const auto isNamed = [&](TensorId id) { return id.valid() && named[id.index()]; };
  std::erase_if(tensors, [&](TensorId id) {
    const core::TensorInfo& info = graph.tensor(id);
    return !isNamed(id) && !isNamed(info.gradientOf) && !isNamed(info.updateOf);
  });
  return tensors;
}

ParameterSpec followedParameter() {
  return {kFollowed,
          ParameterType::kTensor,
          {},
          "the number that is followed instead of the loss, its mean if there are several"};
}

TensorId followedTensor(const Graph& graph, const Parameters& parameters) {
  if (const auto name = textOf(parameters, kFollowed)) {
    const std::vector<TensorId> meant = core::tensorsMeant(graph, *name);
    return meant.empty() ? TensorId() : meant.front();
  }
  const auto losses =
      selectTensors(graph, [](const core::TensorInfo& info) { return info.role == core::TensorRole::kLoss; });
  return losses.empty() ? TensorId() : losses.back();  // older recordings also mark what it is made of
}

}  // namespace msdbg::watch
