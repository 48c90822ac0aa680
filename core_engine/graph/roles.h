// What follows from a tensor's role. Pure functions; thread-safe.
#pragma once

#include "core_engine/graph/graph.h"

namespace msdbg::core {

/// Inputs, labels and hyperparameters: what an iteration is given.
inline bool isFed(TensorRole role) {
  return role == TensorRole::kInput || role == TensorRole::kLabel || role == TensorRole::kHyperparameter;
}

/// What training carries from iteration to iteration: parameters, optimizer states and constants. A
/// TrainingState, and a checkpoint, hold all of them; every other source is given anew for each iteration.
inline bool isCarried(const TensorInfo& info) { return info.isSource() && !isFed(info.role); }

}  // namespace msdbg::core
