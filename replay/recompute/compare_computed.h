// Holds what was recorded against what is computed again from it, tensor by tensor: A is recorded, B
// computed. Where prove() stops at what differs and goes on behind the next checkpoint, this measures how far
// apart the two courses go.
#pragma once

#include "replay/diff/compare.h"

namespace msdbg::replay {

/// Of iterations that are recorded; those on the way to them are computed and not told. What cannot be
/// reached is a note. Values are measured where they are stored. kUnsupported, kCancelled; kUnavailable: none
/// could be reached.
core::Result<Comparison> compareComputed(Run& run, const core::IterationSet& iterations,
                                         const ComparisonOptions& options);

}  // namespace msdbg::replay
