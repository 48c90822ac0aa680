#include "app/gui/recent_runs.h"

#include <QDir>
#include <QSettings>

namespace msdbg::app {
namespace {

constexpr auto kKey = "recent_runs";
constexpr qsizetype kMost = 12;

QString normal(const QString& path) { return QDir::cleanPath(QDir().absoluteFilePath(path)); }

}  // namespace

QStringList recentRuns() { return QSettings().value(kKey).toStringList(); }

void addRecentRun(const QString& path) {
  QStringList runs = recentRuns();
  runs.removeAll(normal(path));
  runs.prepend(normal(path));
  QSettings().setValue(kKey, runs.mid(0, kMost));
}

void removeRecentRun(const QString& path) {
  QStringList runs = recentRuns();
  runs.removeAll(normal(path));
  QSettings().setValue(kKey, runs);
}

}  // namespace msdbg::app
