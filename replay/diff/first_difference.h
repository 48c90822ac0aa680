// What is told of the place where two sides part: who computes it, from what. Of the runs' thread.
#pragma once

#include "replay/diff/pair_reader.h"
#include "replay/diff/steps.h"

namespace msdbg::replay {

/// `pair`: that of what differs. Nothing is said of the update before.
FirstDifference firstDifference(Run& a, Run& b, const AlignedPair& pair, PairReader& reader,
                                const TensorComparison& what);

}  // namespace msdbg::replay
