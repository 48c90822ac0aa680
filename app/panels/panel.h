// Panel: a part of the window: a dumb widget over a presenter that it makes for each document. Panels know
// the document, never each other: what one selects reaches the others through the cursor. UI thread only.
//
// To add one: panels/<name>/ with `PanelDef <name>Panel()`, and a row in builtin_panels.cpp.
#pragma once

#include <QJsonObject>
#include <QWidget>
#include <span>
#include <vector>

#include "app/presenters/document.h"

namespace msdbg::app {

class Panel : public QWidget {
  Q_OBJECT
 public:
  using QWidget::QWidget;
  /// An opened document, or nullptr: forget everything of the old one, which still lives during this call.
  virtual void setDocument(Document* document) = 0;
  /// The command that prints what the panel shows; "" when it shows nothing.
  virtual QString command() const = 0;
  /// Where Tab and the panel's shortcut put the keyboard.
  virtual void takeFocus() { setFocus(Qt::ShortcutFocusReason); }
  /// What is kept between sessions beside the place in the run (zoom, chosen columns, …); any state, also of
  /// another version, may be restored.
  virtual QJsonObject state() const { return {}; }
  virtual void restore(const QJsonObject&) {}
  /// False while the panel still waits for data: screenshots and tests wait for it.
  virtual bool settled() const { return true; }

 signals:
  void status(const QString& message);  // one line for the status bar: what went wrong, what was done
  void panelWanted(const QString& id);  // show that panel and put the keyboard there
};

/// A key or gesture that works inside the panel, for F1.
struct PanelKeys {
  const char *keys, *help;
};

struct PanelDef {
  const char* id;           // "source": object name, key of its state
  const char* title;        // "Source"
  Qt::DockWidgetArea area;  // NoDockWidgetArea: the centre
  int shortcut;             // Qt key with modifiers that shows and focuses it
  Panel* (*make)(QWidget* parent);
  std::vector<PanelKeys> keys = {};
};

using PanelFactory = PanelDef (*)();
std::span<const PanelFactory> builtinPanels();  // builtin_panels.cpp: the only list, in tab order

}  // namespace msdbg::app
