#include "watchpoints/conditions/nonfinite.h"

#include <algorithm>
#include <array>
#include <ranges>

#include "core_engine/ops/cut_off.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {

using core::NodeId;
using core::TensorId;
using core::TensorInfo;
using core::TensorRole;

namespace {

template <std::size_t N>
bool isOneOf(const std::array<std::string_view, N>& types, std::string_view type) {
  return std::ranges::find(types, type) != types.end();
}

bool onlyMoves(std::string_view type) {
  static constexpr std::array<std::string_view, 15> kTypes = {
      "Where",  "Add",  "Expand",   "Reshape", "Transpose", "Squeeze", "Unsqueeze",   "Slice",
      "Concat", "Cast", "Identity", "Gather",  "Split",     "Min",     "StopGradient"};
  return isOneOf(kTypes, type);
}

bool makesFinite(std::string_view type) {
  static constexpr std::array<std::string_view, 13> kTypes = {
      "Softmax", "LogSoftmax", "Exp",     "Max",  "ReduceMax", "Sigmoid",    "Tanh",
      "Relu",    "Clip",       "Greater", "Less", "Equal",     "HardSigmoid"};
  return isOneOf(kTypes, type);
}

/// The tensors that a source reaches by being moved; empty if one of them ends elsewhere than where it is
/// made finite.
std::vector<TensorId> reachedAsMask(const core::Graph& graph, TensorId source) {
  std::vector<TensorId> reached = {source};
  std::vector<bool> seen(graph.tensors().size());
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const NodeId user : graph.consumers(reached[i])) {
      const core::Node& node = graph.node(user);
      if (node.phase != core::Phase::kForward || makesFinite(node.opType)) continue;
      if (!onlyMoves(node.opType)) return {};
      for (const TensorId output : node.outputs)
        if (!seen[output.index()]) seen[output.index()] = true, reached.push_back(output);
    }
  }
  return reached;
}

bool onlyScales(std::string_view type) {
  static constexpr std::array<std::string_view, 9> kTypes = {
      "Mul",   "Div",      "Sub",      "Floor",        "Ceil",
      "Round", "aten.mul", "aten.div", "aten._to_copy"};  // aten's: by a number, to whole numbers
  return isOneOf(kTypes, type);
}

/// Whether all that is made of a tensor are whole numbers: buckets of distances, indices. -Inf, the logarithm
/// of a distance of 0, is the least of them, and no gradient comes by here. `whole`: what is known of later
/// ones.
bool becomesWhole(const core::Graph& graph, TensorId tensor, const std::vector<bool>& whole) {
  const auto& users = graph.consumers(tensor);
  return !users.empty() && std::ranges::all_of(users, [&](NodeId user) {
    const core::Node& node = graph.node(user);
    if (node.phase != core::Phase::kForward) return false;
    if (node.opType != "Cast" && !onlyMoves(node.opType) && !onlyScales(node.opType)) return false;
    return std::ranges::all_of(node.outputs, [&](TensorId output) {
      return !mayBeNonFinite(graph.tensor(output).dtype) || whole[output.index()];
    });
  });
}

std::vector<bool> becomingWhole(const core::Graph& graph) {
  std::vector<bool> whole(graph.tensors().size());
  for (const core::Node& node : graph.nodes() | std::views::reverse)
    for (const TensorId output : node.outputs)
      if (mayBeNonFinite(graph.tensor(output).dtype))
        whole[output.index()] = becomesWhole(graph, output, whole);
  return whole;
}

bool isSaidToBeMeant(const core::Graph& graph, const TensorInfo& info, std::string_view sign) {
  if (info.isSource()) return false;
  const core::Attributes& attributes = graph.node(info.producer).attributes;
  const auto found = attributes.find(sign);
  const auto* flag = found == attributes.end() ? nullptr : std::get_if<bool>(&found->second);
  return flag && *flag;
}

std::vector<bool> beside(const core::Graph& graph) {
  constexpr std::string_view kNoGrad = "main/no_grad";  // as PyTorch's recorder calls it
  const std::vector<bool> leads = core::leadingToLosses(graph);
  std::vector<bool> found(graph.tensors().size());
  for (const core::Node& node : graph.nodes())
    for (const TensorId output : node.outputs)
      found[output.index()] = !leads[output.index()] && node.scope.starts_with(kNoGrad);
  return found;
}

}  // namespace

NonFinite::NonFinite(const core::Graph& graph)
    : m_masked(becomingWhole(graph)), m_positive(graph.tensors().size()), m_beside(beside(graph)) {
  for (const TensorInfo& info : graph.tensors()) {
    if (!mayBeNonFinite(info.dtype)) continue;
    m_masked[info.id.index()] = m_masked[info.id.index()] || isSaidToBeMeant(graph, info, kMeantInfinity);
    m_positive[info.id.index()] = isSaidToBeMeant(graph, info, kMeantPositiveInfinity);
    if (info.isSource() && info.role == TensorRole::kConstant && info.shape.rank() == 0)
      m_masked[info.id.index()] = m_positive[info.id.index()] = true;  // a number that the program gave
    if (info.role != TensorRole::kConstant && info.role != TensorRole::kInput) continue;
    for (const TensorId tensor : reachedAsMask(graph, info.id)) m_masked[tensor.index()] = true;
  }
}

bool NonFinite::reachesTraining(EvaluationContext& context, core::Rank rank) const {
  using enum core::TensorRole;
  bool anyLoss = false;
  for (const core::TensorInfo& info : context.graph().tensors()) {
    if (info.role == kActivation || info.role == kInput || info.role == kLabel || info.role == kConstant)
      continue;
    const StatisticsRow* row = context.rows.flagsNow(rank, info.id);
    if (row && row->values.nonFinite() > 0 && !isMeant(info.id, row->values)) return true;
    anyLoss = anyLoss || (row && info.role == kLoss);
  }
  return !anyLoss;
}

}  // namespace msdbg::watch
