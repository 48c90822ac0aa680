#include "tests/gui/support/gui.h"

#include <QElapsedTimer>
#include <QThread>
#include <stdexcept>

#include "app/gui/quiet_offscreen.h"
#include "dump/hdf5/at_exit.h"

namespace msdbg::test {

QApplication& gui() {
  static int argc = 1;
  static char name[] = "test_gui";
  static char* argv[] = {name, nullptr};
  static QApplication* application = [] {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    app::quietOffscreen();
    dump::skipHdf5Cleanup();  // as the program does
    return new QApplication(argc, argv);
  }();
  return *application;
}

bool eventually(const std::function<bool()>& condition, double seconds) {
  gui();
  QElapsedTimer timer;
  timer.start();
  while (!condition()) {
    if (timer.elapsed() > static_cast<qint64>(seconds * 1000)) return condition();
    QCoreApplication::processEvents(QEventLoop::AllEvents, 5);
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    QThread::usleep(200);
  }
  return true;
}

std::unique_ptr<app::Document> openDocument(const std::filesystem::path& run) {
  gui();
  auto document = std::make_unique<app::Document>(run);
  QString error;
  QObject::connect(document.get(), &app::Document::failed, document.get(),
                   [&error](const QString& message) { error = message; });
  if (!eventually([&] { return document->isOpen() || !error.isEmpty(); })) error = "was not opened in time";
  document->disconnect(SIGNAL(failed(QString)));
  if (!error.isEmpty()) throw std::runtime_error(error.toStdString());
  return document;
}

bool settle(app::Document& document) {
  return eventually([&] { return document.replay().idle(); });
}

void check(app::Document& document) {
  document.findings().recheck();
  eventually([&] { return document.findings().state() != app::Findings::State::kChecking; }, 60);
}

}  // namespace msdbg::test
