// What each trainable parameter is updated from, by an optimizer of ours or of torch.optim. Pure functions of
// the graph, thread-safe; ratesOf() of one context.
#pragma once

#include <vector>

#include "watchpoints/condition.h"

namespace msdbg::watch {

struct ParameterUpdate {
  core::TensorId parameter, next;          // its value now and at the next iteration
  core::NodeId node;                       // the update
  core::TensorId gradient, rate;           // that the update reads; invalid where it reads none
  std::vector<core::TensorId> nextStates;  // next values of the optimizer states, in the node's order
};

/// What the engine's optimizer multiplies the rate with for the parameter's group: lrFactor.
double groupFactor(const core::Graph& graph, const ParameterUpdate& update);

/// The rates that an update may have read: its own tensor, times its group's factor; else the scalars
/// "learning_rate", "learning_rate/1" … of the iteration, one a group of parameters, of which nobody says
/// which is whose.
struct Rates {
  double least = 0, most = 0;
};
/// nullopt: none is recorded, or one is not finite.
std::optional<Rates> ratesOf(EvaluationContext& context, core::Rank rank, const ParameterUpdate& update);

/// The tensor whose line is that of the rate; invalid: that of the update tells more. Of torch the rate has
/// the line where the optimizer was made, and a schedule may have changed it since.
core::TensorId rateLine(const core::Graph& graph, const ParameterUpdate& update);

/// Adam and its kin divide by the size of their gradients: their steps are as large as the rate.
bool isAdam(const core::Node& update);
/// Plain or with momentum.
bool isSgd(const core::Node& update);

/// Few updates in all, as gradients that are accumulated for too long make them: an update in sixteen
/// iterations and more is said in the finding's detail, and asked about in its advice.
void tellOfRareUpdates(std::int64_t updates, std::int64_t iterations, Finding& finding);

/// What updates, one after the other, made the tensor of: the parameter or state; itself where it is no
/// update.
core::TensorId rootOf(const core::Graph& graph, core::TensorId tensor);

/// In execution order; parameters that nothing updates have none.
std::vector<ParameterUpdate> parameterUpdates(const core::Graph& graph);

}  // namespace msdbg::watch
