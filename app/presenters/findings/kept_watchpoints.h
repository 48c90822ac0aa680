// The watchpoints of a window as session.json keeps them: {"text", "enabled", "recommended"}. Pure functions.
#pragma once

#include <QJsonArray>

#include "app/presenters/findings.h"

namespace msdbg::app {

QJsonArray toJson(const std::vector<Findings::Entry>& entries);
/// What cannot be read (an unknown condition, a recommended one that is no longer so) is left out and named
/// in `problems`.
std::vector<Findings::Entry> entriesOf(const QJsonArray& kept, QStringList& problems);

}  // namespace msdbg::app
