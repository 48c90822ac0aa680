// Where explain() begins when the caller leaves it open.
#include <fmt/format.h>

#include <cmath>

#include "core_engine/graph/graph_union.h"
#include "replay/describe.h"
#include "replay/explain/look_internal.h"

namespace msdbg::replay {

using core::Error;
using core::ErrorCode;
using core::Iteration;
using core::Result;
using core::TensorId;

namespace {

/// nullopt: nothing recorded tells.
std::optional<bool> isFinite(ExplainLook& look, core::Rank rank, Iteration iteration, TensorId tensor) {
  if (const watch::StatisticsRow* row = look.source().statistics(rank, iteration, tensor))
    return row->values.nonFinite() == 0;
  if (look.graph().tensor(tensor).role != core::TensorRole::kLoss) return std::nullopt;
  const std::optional<double> loss = look.source().scalar(rank, iteration, "loss");
  return loss ? std::optional(std::isfinite(*loss)) : std::nullopt;
}

bool lossIsWrong(ExplainLook& look, core::Rank rank, Iteration iteration) {
  const std::optional<double> loss = look.source().scalar(rank, iteration, "loss");
  return loss && !std::isfinite(*loss);
}

Result<Iteration> chooseIteration(ExplainLook& look, Beginning& beginning) {
  const core::IterationSet& recorded = look.run().iterationSet(beginning.rank);
  const bool isLoss = look.graph().tensor(beginning.tensor).role == core::TensorRole::kLoss;
  std::optional<Iteration> last, otherwise;  // otherwise: wrong already, while the loss was another tensor
  for (const std::int64_t each : recorded) {
    if (look.options().cancel.cancelled()) return Error(ErrorCode::kCancelled, "interrupted");
    const core::GraphPart* part = look.source().part(beginning.rank, Iteration(each));
    if (part && !part->has(beginning.tensor)) {
      if (isLoss && !otherwise && lossIsWrong(look, beginning.rank, Iteration(each)))
        otherwise = Iteration(each);
      continue;
    }
    last = Iteration(each);
    if (isFinite(look, beginning.rank, *last, beginning.tensor) != std::optional(false)) continue;
    beginning.iterationChosen = "the first iteration in which it is not finite";
    if (otherwise)
      beginning.iterationChosen += fmt::format(
          " and recorded as such; the loss is not finite from iteration {} on, where less is recorded of it",
          otherwise->value);
    return *last;
  }
  if (!last)
    return Error(ErrorCode::kUnavailable,
                 fmt::format("no iteration of rank {} that has {} is recorded", beginning.rank.value,
                             tensorName(look.graph().tensor(beginning.tensor))));
  beginning.iterationChosen = "the last iteration: it is finite in all that are recorded";
  return *last;
}

}  // namespace

Result<TensorId> lossOf(const core::Graph& graph) {
  std::vector<TensorId> losses;
  for (const core::TensorInfo& tensor : graph.tensors())
    if (tensor.role == core::TensorRole::kLoss) losses.push_back(tensor.id);
  // A recording of PyTorch whose level changed has the loss of its operators, and of the pass as a whole.
  const auto isWhole = [&](TensorId loss) {
    const core::TensorInfo& info = graph.tensor(loss);
    return !info.isSource() && graph.node(info.producer).domain == "torch" &&
           graph.node(info.producer).opType.ends_with("forward");
  };
  if (!std::ranges::all_of(losses, isWhole)) std::erase_if(losses, isWhole);
  if (losses.size() == 1) return losses.front();
  std::string names;
  for (std::size_t i = 0; i < losses.size() && i < 5; ++i)
    names += (i == 0 ? "" : ", ") + tensorName(graph.tensor(losses[i]));
  return Error(ErrorCode::kUsage, losses.empty()
                                      ? "the run says of no tensor that it is the loss: give --tensor NAME"
                                      : "the run has several losses, give --tensor: " + names);
}

Result<Beginning> beginningOf(Run& run, TensorId tensor, core::Rank rank, std::optional<Iteration> iteration,
                              std::optional<std::int64_t> element, const ExplainOptions& options) {
  ExplainLook look(run, options);
  Beginning beginning{tensor, rank, {}, element, {}, {}};
  if (iteration) {
    beginning.iteration = *iteration;
  } else {
    MSDBG_ASSIGN(beginning.iteration, chooseIteration(look, beginning));
  }
  const Result<core::Tensor> value = look.value(rank, beginning.iteration, tensor);
  if (!value.ok() && value.error().code() != ErrorCode::kUnavailable) return value.error();
  if (!value.ok()) return beginning;
  if (element && *element >= value->elements())
    return Error(ErrorCode::kUsage, fmt::format("{} is {} in iteration {}: it has no element {}",
                                                tensorName(look.graph().tensor(tensor)),
                                                value->shape().text(), beginning.iteration.value, *element));
  if (element) return beginning;
  beginning.element = tellingElement(*value, options.cancel);
  if (options.cancel.cancelled()) return Error(ErrorCode::kCancelled, "interrupted");
  if (beginning.element && value->elements() > 1)
    beginning.elementChosen = std::isfinite(value->at(*beginning.element))
                                  ? "the element of the largest magnitude"
                                  : "its first element that is not finite";
  return beginning;
}

}  // namespace msdbg::replay
