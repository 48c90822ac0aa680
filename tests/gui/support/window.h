// A main window for tests: it keeps nothing between sessions, as screenshots use it. Header-only.
#pragma once

#include <QAction>
#include <catch2/catch.hpp>

#include "app/gui/main_window.h"
#include "tests/gui/support/gui.h"

namespace msdbg::test {

struct Window {
  Window() : theme((gui(), nullptr)), window(theme, app::MainWindow::Keep::kForget) {
    theme.setTheme(app::Theme::kLight);
    window.show();
    QObject::connect(&window, &app::MainWindow::runFailed, &window,
                     [this](const QString& m) { failure = m; });
  }
  /// Until it is open, or `failure` says why it cannot be.
  void open(const std::filesystem::path& run) {
    failure.clear();
    window.openRun(QString::fromStdString(run.string()));
    REQUIRE(eventually([&] { return (window.document() && window.settled()) || !failure.isEmpty(); }));
  }
  void waitForCheck() {
    REQUIRE(eventually([&] {
      return window.document()->findings().state() != app::Findings::State::kChecking && window.settled();
    }));
  }
  void trigger(const char* action) { window.findChild<QAction*>(action)->trigger(); }
  const app::Place& place() { return window.document()->cursor().place(); }
  app::ThemeController theme;
  app::MainWindow window;
  QString failure;
};

}  // namespace msdbg::test
