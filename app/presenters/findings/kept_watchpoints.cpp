#include "app/presenters/findings/kept_watchpoints.h"

#include <QJsonObject>
#include <algorithm>

namespace msdbg::app {
namespace {

const QString kText = QStringLiteral("text"), kEnabled = QStringLiteral("enabled"),
              kRecommended = QStringLiteral("recommended");

// One of the recommended set has a severity and exceptions of its own, which its text does not tell.
core::Result<watch::Watchpoint> watchpointOf(const std::string& text, bool recommended) {
  if (!recommended) return watch::parseWatchpoint(text);
  for (watch::Watchpoint& watchpoint : watch::recommendedSet())
    if (watchpoint.text() == text) return std::move(watchpoint);
  return core::Error(core::ErrorCode::kNotFound, text + " is not recommended any more");
}

}  // namespace

QJsonArray toJson(const std::vector<Findings::Entry>& entries) {
  QJsonArray kept;
  for (const Findings::Entry& entry : entries)
    kept.append(QJsonObject{{kText, QString::fromStdString(entry.watchpoint.text())},
                            {kEnabled, entry.enabled},
                            {kRecommended, entry.watchpoint.recommended}});
  return kept;
}

std::vector<Findings::Entry> entriesOf(const QJsonArray& kept, QStringList& problems) {
  constexpr qsizetype kMost = 1000;  // every one is a row on the screen, and a check of its own
  std::vector<Findings::Entry> entries;
  if (kept.size() > kMost)
    problems.append(
        QStringLiteral("%1 watchpoints are kept, the first %2 are used").arg(kept.size()).arg(kMost));
  for (const QJsonValue& value : kept) {
    if (entries.size() == kMost) break;
    const QJsonObject object = value.toObject();
    auto watchpoint =
        watchpointOf(object.value(kText).toString().toStdString(), object.value(kRecommended).toBool());
    if (watchpoint.ok())
      entries.push_back({std::move(*watchpoint), object.value(kEnabled).toBool(true)});
    else
      problems.append(QString::fromStdString(watchpoint.error().message()));
  }
  return entries;
}

}  // namespace msdbg::app
