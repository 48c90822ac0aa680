// The value that is nearest to one that is not there. Reads the run, on its thread.
#pragma once

#include <optional>

#include "replay/run.h"

namespace msdbg::replay {

/// As nearestValue(), of those that can be read: damage may have cost the nearest. Reads a few values at
/// most.
std::optional<core::Iteration> nearestReadableValue(Run& run, core::Rank rank, core::Iteration iteration,
                                                    core::TensorId tensor);

}  // namespace msdbg::replay
