#include "app/gui/screenshot.h"

#include <QAction>
#include <QCoreApplication>
#include <QElapsedTimer>
#include <QImageWriter>
#include <QPixmap>
#include <QThread>

#include "app/gui/main_window.h"

namespace msdbg::app {
namespace {

using core::Error;
using core::ErrorCode;

constexpr qint64 kPatienceMs = 10 * 60 * 1000;  // a long check of a large run
constexpr int kQuietRounds = 3;                 // settled that often in a row: nothing was started in between
constexpr QSize kSize(1280, 800);

bool ready(MainWindow& window) {
  if (!window.settled()) return false;
  Document* document = window.document();
  return !document || document->findings().state() != Findings::State::kChecking;
}

bool waitFor(MainWindow& window, const QString& failure) {
  QElapsedTimer timer;
  timer.start();
  for (int quiet = 0; quiet < kQuietRounds && failure.isEmpty();) {
    QCoreApplication::processEvents(QEventLoop::AllEvents, 20);
    QCoreApplication::sendPostedEvents();
    quiet = ready(window) ? quiet + 1 : 0;
    if (timer.elapsed() > kPatienceMs) return false;
    QThread::msleep(1);
  }
  return true;
}

core::Status write(const QImage& image, const QString& path) {
  QImageWriter writer(path);
  if (writer.write(image)) return core::Ok{};
  return Error(ErrorCode::kIo, ("cannot write " + path + ": " + writer.errorString()).toStdString());
}

}  // namespace

core::Status takeScreenshot(const WindowOptions& options) {
  ThemeController theme;
  theme.setTheme(options.theme);
  MainWindow window(theme, MainWindow::Keep::kForget);
  window.resize(options.size.isEmpty() ? kSize : options.size);
  window.resetLayout();
  window.show();
  QString failure;
  ErrorCode code = ErrorCode::kDamaged;
  QObject::connect(&window, &MainWindow::runFailed, &window, [&](const QString& m) { failure = m; });
  QObject::connect(&window, &MainWindow::runAwaited, &window, [&](const QString& m) {
    failure = m;
    code = ErrorCode::kUnavailable;
  });
  QObject::connect(&window, &MainWindow::startFailed, &window, [&](const QString& m) {
    failure = m;
    code = ErrorCode::kNotFound;
  });
  if (!options.run.isEmpty()) window.openRun(options.run, options.start());
  if (!waitFor(window, failure))
    return Error(ErrorCode::kInternal, "the window was not ready within 10 minutes");
  if (!failure.isEmpty()) return Error(code, failure.toStdString());
  if (auto* show = window.findChild<QAction*>("show_" + options.panel)) {
    show->trigger();  // it may lie behind another one, and has no size there
    waitFor(window, failure);
  }
  QWidget* shown = options.panel.isEmpty() ? static_cast<QWidget*>(&window) : window.panel(options.panel);
  if (!shown->isVisible()) window.show();
  return write(shown->grab().toImage(), options.screenshot);
}

}  // namespace msdbg::app
