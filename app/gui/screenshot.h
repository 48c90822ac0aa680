// --screenshot: the window drawn into a file, without a display.
#pragma once

#include "app/gui/command_line.h"

namespace msdbg::app {

/// Needs a QApplication. Opens the run, waits for the check and for every panel, writes a PNG. Errors of the
/// run, of the asked place, of the file.
core::Status takeScreenshot(const WindowOptions& options);

}  // namespace msdbg::app
