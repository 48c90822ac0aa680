// TrainingState: what a checkpoint holds. A value.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core_engine/base/ids.h"
#include "core_engine/tensor/tensor.h"

namespace msdbg::core {

/// All that training carries from step to step: what a checkpoint holds. What callbacks of fit() count
/// (rounds without improvement) is not in it: they begin anew.
struct TrainingState {
  Iteration iteration{0};  // the next one
  std::vector<std::pair<std::string, Tensor>>
      tensors;                              // parameters, optimizer states, constants, by full name
  std::optional<double> learningRate = {};  // the optimizer's; recorded checkpoints say none: it stays
};

}  // namespace msdbg::core
