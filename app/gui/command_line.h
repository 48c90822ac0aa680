// What msdbg-gui was asked for. Parsed before the application is made: the platform depends on it.
#pragma once

#include <QSize>
#include <QString>
#include <QStringList>
#include <optional>

#include "app/presenters/start_place.h"
#include "core_engine/base/result.h"

namespace msdbg::app {

enum class Theme { kAuto, kLight, kDark };

struct WindowOptions {
  QString run;         // "": the start page
  QString screenshot;  // "": a window
  QString panel;       // screenshot of this panel only
  QString node;        // a name as commands take it, or FILE:LINE
  std::optional<std::int64_t> iteration, rank, step;
  QSize size;  // empty: as it was left
  Theme theme = Theme::kAuto;
  bool help = false, version = false;
  StartPlace start() const { return {node.toStdString(), iteration, rank, step}; }
};

/// kUsage: what is wrong and what is allowed.
core::Result<WindowOptions> parseWindowOptions(const QStringList& arguments);
QString windowHelp();

}  // namespace msdbg::app
