// SIGTERM, SIGINT and SIGHUP close the window as the user would: what it keeps between sessions is written.
#pragma once

class QCoreApplication;

namespace msdbg::app {

/// Call once, on the UI thread, before exec(). A second signal ends the process at once.
void quitOnSignals(QCoreApplication& application);

}  // namespace msdbg::app
