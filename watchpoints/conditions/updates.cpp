#include "watchpoints/conditions/updates.h"

#include <algorithm>
#include <cmath>

#include "watchpoints/conditions/targets.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {

using core::TensorId;
using core::TensorInfo;
using core::TensorRole;

namespace {

ParameterUpdate updateAt(const core::Graph& graph, const TensorInfo& next) {
  const core::Node& node = graph.node(next.producer);
  ParameterUpdate update{next.updateOf, next.id, node.id, {}, {}, {}};
  for (const TensorId input : node.inputs) {
    const TensorInfo& info = graph.tensor(input);
    const bool gradient = info.role == TensorRole::kGradient || isAccumulatedGradient(graph, info);
    if (gradient && !update.gradient.valid()) update.gradient = input;
    if (info.role == TensorRole::kHyperparameter && !update.rate.valid()) update.rate = input;
  }
  for (const TensorId output : node.outputs) {
    const TensorInfo& state = graph.tensor(output);
    const bool counts =
        state.shape.known() && state.shape.elements() == 1;  // steps so far, where others do not
    if (output == next.id || !isFloating(state.dtype) || (counts && state.shape != next.shape)) continue;
    update.nextStates.push_back(output);
  }
  return update;
}

bool isOneOfTorch(const core::Node& update, std::initializer_list<std::string_view> names) {
  constexpr std::string_view kPrefix = "torch.optim.";
  if (!update.opType.starts_with(kPrefix)) return false;
  const std::string_view name = std::string_view(update.opType).substr(kPrefix.size());
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

TensorId rootOf(const core::Graph& graph, TensorId tensor) {
  while (graph.tensor(tensor).updateOf.valid()) tensor = graph.tensor(tensor).updateOf;
  return tensor;
}

std::vector<ParameterUpdate> parameterUpdates(const core::Graph& graph) {
  std::vector<ParameterUpdate> updates;
  for (const TensorId next :
       selectTensors(graph, [&](const TensorInfo& info) { return isWeightUpdate(graph, info); }))
    updates.push_back(updateAt(graph, graph.tensor(next)));
  return updates;
}

TensorId rateLine(const core::Graph& graph, const ParameterUpdate& update) {
  return graph.node(update.node).isOwn() ? update.rate : TensorId();
}

bool isAdam(const core::Node& update) {
  return update.opType == "AdamUpdate" ||
         isOneOfTorch(update, {"Adam", "AdamW", "NAdam", "RAdam", "Adamax", "SparseAdam"});
}

bool isSgd(const core::Node& update) { return update.opType == "SgdUpdate" || isOneOfTorch(update, {"SGD"}); }

double groupFactor(const core::Graph& graph, const ParameterUpdate& update) {
  return foreignAttribute(graph.node(update.node), "lr_factor", 1.0);
}

void tellOfRareUpdates(std::int64_t updates, std::int64_t iterations, Finding& finding) {
  constexpr std::int64_t kRare = 16;  // iterations for an update
  if (updates == 0 || updates * kRare > iterations) return;
  finding.detail += "; the weights were changed in " + std::to_string(updates) + " of " +
                    std::to_string(iterations) + " iterations";
  finding.advice =
      "Are the gradients of too many iterations accumulated for an update, or is the learning rate 0 in most "
      "of them? Else train for longer.";
}

std::optional<Rates> ratesOf(EvaluationContext& context, core::Rank rank, const ParameterUpdate& update) {
  if (update.rate.valid()) {
    const StatisticsRow* row = context.rows.now(rank, update.rate);
    if (row && row->values.nonFinite() > 0) return std::nullopt;
    const double rate = row ? row->values.mean * groupFactor(context.graph(), update) : 0;
    if (row) return Rates{rate, rate};
  }
  std::optional<Rates> rates;
  for (int group = 0;; ++group) {
    const std::string name = group == 0 ? "learning_rate" : "learning_rate/" + std::to_string(group);
    const std::optional<double> rate = context.rows.scalar(rank, name);
    if (!rate) return rates;
    if (!std::isfinite(*rate)) return std::nullopt;
    if (!rates) rates = Rates{*rate, *rate};
    rates = Rates{std::min(rates->least, *rate), std::max(rates->most, *rate)};
  }
}

}  // namespace msdbg::watch
