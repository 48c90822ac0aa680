// Which old rows of statistics go next, so that the rest fits into the budget. Rows thin with age: half of
// the room is for those of the newest iterations, all of them; a quarter for every 10th of those before; an
// eighth for every 100th; and so on. A pure function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dump/writer/retention.h"

namespace msdbg::dump {

struct ThinningPlan {
  std::vector<std::int64_t> segments;  // oldest first; empty: nothing is to go, or can
  std::int64_t step = 1;               // of their rows before: every so many-th iteration's
};

/// `room`: bytes that segments with statistics and without values may take. At most `together` bytes are
/// thinned at a time, or one segment. The newest segment stays.
ThinningPlan planThinning(std::span<const KeptSegment> segments, std::uint64_t room, std::uint64_t together);

}  // namespace msdbg::dump
