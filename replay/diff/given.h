// What both sides are given: batches, hyperparameters, the state that they begin with. It comes before what
// is made of it, so it is compared first, in all iterations. Of the runs' thread.
#pragma once

#include "replay/diff/pair_reader.h"
#include "replay/diff/steps.h"

namespace msdbg::replay {

/// Where data-parallel ranks of two runs are other in number, their batches are put together in rank order,
/// of the first iterations and where the values are there. kCancelled.
core::Result<std::vector<GivenGroup>> compareGiven(Run& a, Run& b, AlignedPairs& pairs, PairReader& reader,
                                                   const RankPairs& ranks, const std::vector<Step>& steps,
                                                   const core::CancelToken& cancel);

}  // namespace msdbg::replay
