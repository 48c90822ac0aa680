// One element of some tensors, computed again from what a run recorded: what history asks for. Used from one
// thread, the run's.
#pragma once

#include "replay/history.h"

namespace msdbg::replay {

/// kUnsupported: a run of this kind cannot be computed again. The run outlives it.
core::Result<std::unique_ptr<ElementComputer>> makeElementComputer(Run& run, core::CancelToken cancel);

}  // namespace msdbg::replay
