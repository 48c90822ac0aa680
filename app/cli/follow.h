// msdbg info --follow: the iterations of a run as they are recorded. Main thread only.
#pragma once

#include "app/cli/run_access.h"

namespace msdbg::app {

/// Prints the iterations that are there and each that comes, until recording ends. Waits for a run that has
/// just begun. Errors of openRun(); kCancelled after Ctrl-C.
core::Result<int> followRun(const std::string& path, const Context& context);

}  // namespace msdbg::app
