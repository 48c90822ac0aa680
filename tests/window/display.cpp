#include "tests/window/display.h"

#include <QProcess>
#include <QStandardPaths>
#include <stdexcept>

#include "tests/support/temp_dir.h"

namespace msdbg::test {
namespace {

constexpr int kStartMs = 20000, kEndMs = 5000;

// Xvfb chooses a free number and writes it to the descriptor: its own stdout.
class Display {
 public:
  Display() {
    m_server.start("Xvfb", {"-displayfd", "1", "-screen", "0", "1600x1000x24", "-nolisten", "tcp"});
    QByteArray number;
    while (!number.contains('\n')) {
      if (!m_server.waitForReadyRead(kStartMs))
        throw std::runtime_error("Xvfb does not start: " + m_server.readAllStandardError().toStdString());
      number += m_server.readAllStandardOutput();
    }
    qputenv("DISPLAY", ":" + number.trimmed());
  }
  ~Display() {
    m_server.terminate();
    m_server.waitForFinished(kEndMs);
  }

 private:
  QProcess m_server;
};

}  // namespace

QApplication& displayedGui() {
  static int argc = 1;
  static char name[] = "test_window";
  static char* argv[] = {name, nullptr};
  static const TempDir home;
  static const auto display = std::make_unique<Display>();
  static const auto application = [] {
    for (const char* variable : {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"})
      qputenv(variable, QByteArray::fromStdString(home.path().string()));
    qputenv("QT_QPA_PLATFORM", "xcb");
    QCoreApplication::setOrganizationName("msdbg");
    QCoreApplication::setApplicationName("msdbg");
    QCoreApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
    return std::make_unique<QApplication>(argc, argv);
  }();
  return *application;
}

}  // namespace msdbg::test
