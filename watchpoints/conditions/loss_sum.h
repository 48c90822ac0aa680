// A loss that is a sum over samples, where a mean was meant. Pure functions of the graph; thread-safe.
#pragma once

#include <optional>
#include <string>

#include "core_engine/graph/graph.h"

namespace msdbg::watch {

struct LossSum {
  std::string
      text;  // "the loss is a sum over 2048 values, not their mean: its gradients grow with their number"
  core::TensorId sum;  // what the operator that sums gives
};
/// nullopt where the loss is no such sum, or is divided again.
std::optional<LossSum> sumOfLoss(const core::Graph& graph);

}  // namespace msdbg::watch
