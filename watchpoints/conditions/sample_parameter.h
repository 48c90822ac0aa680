// Parameters that lie along the axis of the samples.
#pragma once

#include "watchpoints/condition.h"

namespace msdbg::watch {

/// A hint: a parameter, or rows of one that no data chose, is added to or multiplied with something so that
/// every sample of the batch gets an element of its own, by where it stands in the batch. From the graph
/// alone.
void checkSampleParameter(EvaluationContext& context);

}  // namespace msdbg::watch
