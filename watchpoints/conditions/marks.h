// Conditions of which PyTorch's recorder finds out itself: it tells them by a node that computes nothing, a
// mark (dump/python/msdbg/_marks.py). Used from one thread.
#pragma once

#include <string_view>

#include "watchpoints/condition.h"

namespace msdbg::watch {

/// Asks what `findingOf` says of each mark of a type ("torch.growing_graph"), in the first iteration that has
/// it.
std::unique_ptr<Evaluator> atMarks(const core::Graph& graph, std::string_view type,
                                   Finding (*findingOf)(const EvaluationContext&, const core::Node&));

}  // namespace msdbg::watch
