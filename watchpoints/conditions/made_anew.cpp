#include "watchpoints/conditions/made_anew.h"

#include <algorithm>

#include "watchpoints/conditions/makers.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

/// What the node reads there in the last iteration of the rank; invalid where it reads less.
TensorId lastRead(EvaluationContext& context, const Node& node, std::size_t input) {
  const core::Rank rank = context.rankWith(node.outputs.front());
  const std::vector<core::Iteration> iterations = context.source.iterations(rank);
  if (iterations.size() < 2) return {};
  const std::span<const TensorId> read = inputsOf(context.source, rank, iterations.back(), node);
  return input < read.size() ? read[input] : TensorId();
}

/// Makes a tensor of numbers or by chance, or scales one.
bool makesNumbers(const Node& node) {
  constexpr std::string_view kNames =
      " randn rand normal uniform zeros zero ones full fill eye linspace arange empty mul div add sub neg "
      " Mul Div Add Sub Neg ";
  std::string_view name = node.opType;
  if (name.starts_with("aten.")) name.remove_prefix(5);
  for (const std::string_view end : {"_like", "_"})
    if (name.ends_with(end)) name.remove_suffix(end.size());
  return node.phase == core::Phase::kForward &&
         kNames.find(" " + std::string(name) + " ") != std::string_view::npos;
}

/// Of numbers and chance alone: no data, nothing that is learnt, and no copy of what is elsewhere (FSDP
/// gathers parameters so).
bool isDrawn(const Graph& graph, TensorId tensor) {
  const Node* maker = producerOf(graph, tensor);
  if (!maker || maker->frames.empty()) return false;
  const std::vector<bool> parts = partsOf(graph, tensor);
  return std::ranges::all_of(graph.tensors(), [&](const core::TensorInfo& info) {
    if (!parts[info.id.index()]) return true;
    // A constant of more than one element that nobody is seen to make is something else's values.
    const bool number =
        info.role == core::TensorRole::kConstant && (info.shape.rank() == 0 || !info.frames.empty());
    return info.isSource() ? number : makesNumbers(graph.node(info.producer));
  });
}

/// An optimizer of its own, made for it, has it.
bool isUpdated(const Graph& graph, TensorId tensor) {
  return std::ranges::any_of(graph.consumers(tensor), [&](core::NodeId user) {
    return graph.node(user).phase == core::Phase::kUpdate;
  });
}

}  // namespace

std::vector<MadeAnew> parametersMadeAnew(EvaluationContext& context) {
  std::vector<MadeAnew> found;
  const Graph& graph = context.graph();
  for (const Node& node : graph.nodes()) {
    const std::int64_t input = foreignAttribute<std::int64_t>(node, fact::kNewParameter, -1);
    if (input < 0 || node.phase != core::Phase::kForward || node.outputs.empty()) continue;
    const TensorId read = lastRead(context, node, static_cast<std::size_t>(input));
    if (!read.valid() || !isDrawn(graph, read) || isUpdated(graph, read)) continue;
    found.push_back({graph.tensor(read).producer,
                     "the Parameter " + graph.tensor(read).shape.text() + " that " + node.name +
                         " reads is made anew in every iteration, and no module or optimizer has it: what it "
                         "learns is thrown away, and what it gives is drawn again"});
  }
  return found;
}

}  // namespace msdbg::watch
