// Everything the window can be told by menu, key or button: one row each. The F1 page is made from
// it, and from the keys that each panel names itself.
#pragma once

#include <QKeySequence>
#include <QList>
#include <span>

namespace msdbg::app {

class MainWindow;

struct WindowAction {
  enum class Needs { kNothing, kRun };
  const char* id;    // object name
  const char* menu;  // "Go"
  const char* text;  // in the menu
  const char* help;  // what it does, for F1 and the tool tip
  QList<QKeySequence> keys;
  const char* icon;  // "": none
  Needs needs;
  void (MainWindow::*run)();
  bool checkable = false;  // on or off; on at first
};

/// In the order of the menus.
std::span<const WindowAction> windowActions();

}  // namespace msdbg::app
