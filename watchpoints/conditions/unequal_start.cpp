#include "watchpoints/conditions/unequal_start.h"

#include <algorithm>

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Rank;
using core::TensorId;

enum class Held { kUnknown, kEqual, kDiffer };

/// Over all ranks; what is the same in every element tells nothing.
Held onRanks(EvaluationContext& context, TensorId tensor, bool mayBeConstant) {
  const StatisticsRow* first = nullptr;
  core::Hash128 hash{};
  bool equal = true;
  for (const Rank rank : context.allRanks) {
    const StatisticsRow* row = context.rows.now(rank, tensor);
    if (!row || row->values.nonFinite() > 0) return Held::kUnknown;
    if (!mayBeConstant && (row->values.count < 2 || row->values.std == 0)) return Held::kUnknown;
    if (!first) hash = row->values.hash;
    equal = equal && row->values.hash == hash;
    first = row;
  }
  return equal ? Held::kEqual : Held::kDiffer;
}

}  // namespace

std::optional<Finding> unequalStart(EvaluationContext& context) {
  if (context.allRanks.size() < 2) return std::nullopt;
  const core::Graph& graph = context.graph();
  std::optional<Finding> found;
  int more = 0;
  for (const ParameterUpdate& update : parameterUpdates(graph)) {
    if (!update.gradient.valid()) continue;
    if (isReplicated(graph, graph.tensor(update.parameter)) && context.source.replicaGroups().empty())
      continue;
    if (onRanks(context, update.gradient, false) != Held::kEqual) continue;
    if (onRanks(context, update.parameter, true) != Held::kDiffer) continue;
    if (found) {
      ++more;
      continue;
    }
    const Rank rank = context.allRanks[1];
    found = findingAt(context, {context.iteration, rank, update.parameter}, precedence::kDivergence);
    for (const core::NodeId user : graph.consumers(update.parameter))
      if (graph.node(user).phase == core::Phase::kForward && !found->node.valid()) found->node = user;
    found->detail = "rank " + std::to_string(rank.value) + " has other values of " +
                    graph.tensor(update.parameter).name + " than rank " +
                    std::to_string(context.allRanks.front().value) +
                    ", though all ranks update it with the same gradient: the copies began differently";
    found->advice =
        "Give all ranks the same seed before the model is made, or broadcast its parameters from rank 0 (as "
        "DistributedDataParallel does).";
  }
  if (found && more > 0) found->detail += "; so do " + std::to_string(more) + " more parameters";
  return found;
}

}  // namespace msdbg::watch
