// Gradients that are not made of the loss's: the backward() of a torch.autograd.Function that does not use
// the gradient that it is given. From the graph alone. A part of no_gradient.
#pragma once

#include <optional>

#include "watchpoints/condition.h"

namespace msdbg::watch {

std::optional<Finding> severedGradient(const EvaluationContext& context);

}  // namespace msdbg::watch
