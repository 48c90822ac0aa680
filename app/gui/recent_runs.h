// The runs that were opened last, newest first, kept in the user's settings. UI thread only.
#pragma once

#include <QStringList>

namespace msdbg::app {

QStringList recentRuns();  // absolute paths; those that are gone are still listed
void addRecentRun(const QString& path);
void removeRecentRun(const QString& path);

}  // namespace msdbg::app
