// Attention that sees the token that it has to predict, of programs whose recorder looked at labels and masks
// (fact::kNextOf, fact::kHidesNext …) and kept neither. Used from one thread.
#pragma once

#include <optional>

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

/// Of the first self-attention between the tokens and the loss of which each label is the next token: whose
/// mask does not hide the next place, or which has none at all. nullopt: there is none, or an operator that
/// nobody looked at may hide it.
std::optional<Finding> unmaskedAttention(const EvaluationContext& context);

/// Whether what is made of the weights of a softmax is a product, with nothing but a dropout before it: no
/// mask is multiplied to them.
bool weighsRightAway(const core::Graph& graph, core::TensorId weights);

}  // namespace msdbg::watch
