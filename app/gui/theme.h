// The palette of the application: light or dark, as the desktop says unless asked otherwise. UI thread only.
#pragma once

#include <QDBusVariant>
#include <QObject>

#include "app/gui/command_line.h"

namespace msdbg::app {

/// The choice of the View menu, in the user's settings.
Theme keptTheme();
void keepTheme(Theme theme);

/// Sets style, palette and a font for the whole application; kAuto follows the desktop while it runs.
class ThemeController : public QObject {
  Q_OBJECT
 public:
  explicit ThemeController(QObject* parent = nullptr);
  void setTheme(Theme theme);
  Theme theme() const { return m_theme; }
  bool dark() const { return m_dark; }

 private slots:
  void settingChanged(const QString& space, const QString& key, const QDBusVariant& value);

 private:
  void apply();
  Theme m_theme = Theme::kAuto;
  bool m_desktopDark = false, m_dark = false;
};

}  // namespace msdbg::app
