// Qt's offscreen platform says at every window what it cannot do. Without a display nobody wants these
// things, and the lines hide the ones that matter. Any thread.
#pragma once

namespace msdbg::app {

/// Keeps exactly these messages away; all others go where they went before.
void quietOffscreen();

}  // namespace msdbg::app
