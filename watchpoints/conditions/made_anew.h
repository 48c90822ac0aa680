// Parameters that the forward pass itself makes, each time anew. Used from one thread.
#pragma once

#include <string>
#include <vector>

#include "watchpoints/condition.h"

namespace msdbg::watch {

struct MadeAnew {
  core::NodeId maker;    // of its first values
  std::string sentence;  // what is wrong with it
};

/// Of a program of PyTorch, in whose every iteration an operator reads a Parameter that another one made just
/// before, of nothing but numbers and chance, and that no module has. Not: what the first call of a layer
/// makes, which the next ones read again; what is optimized within the iteration.
std::vector<MadeAnew> parametersMadeAnew(EvaluationContext& context);

}  // namespace msdbg::watch
