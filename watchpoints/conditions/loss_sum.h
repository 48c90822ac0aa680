// A loss that is a sum, over samples or over the parts of a batch, where a mean was meant. Pure functions of
// the graph; thread-safe.
#pragma once

#include <optional>
#include <string>

#include "core_engine/graph/graph.h"
#include "watchpoints/condition.h"

namespace msdbg::watch {

struct LossSum {
  std::string text;    // "the loss is a sum over 64 samples: its gradient is 64 times that of a mean"
  core::TensorId sum;  // what the operator that sums gives; the first of several losses
  std::string advice;
};
/// A loss that sums over samples, or several of one line whose gradients add up in one step. nullopt where
/// there is no such sum, where it is divided again, or where the size of a gradient does not matter: Adam
/// divides by it.
std::optional<LossSum> sumOfLoss(const core::Graph& graph);

/// Says so of what a step that is too large has done: in its detail, with the line of the sum. Nothing
/// without one.
void blameSum(const std::optional<LossSum>& sum, Finding& finding);

}  // namespace msdbg::watch
