#include "tests/window/display.h"

#include <QProcess>
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>
#include <stdexcept>

#include "tests/support/temp_dir.h"

namespace msdbg::test {
namespace {

constexpr int kStartMs = 20000, kEndMs = 5000, kTries = 5;

// Its number comes from that of the process: of servers that each look for a free one, one that ends may
// remove the socket of another that has just begun. Xvfb writes the number to its stdout once it can be used.
class Display {
 public:
  Display() {
    const qint64 first = 100 + QCoreApplication::applicationPid() % 60000;
    for (qint64 number = first; !startedAt(":" + QString::number(number)); ++number)
      if (number == first + kTries)
        throw std::runtime_error("Xvfb does not start: " + m_server.readAllStandardError().toStdString());
  }
  ~Display() {
    m_server.terminate();
    m_server.waitForFinished(kEndMs);
  }

 private:
  bool startedAt(const QString& display) {
    m_server.start(
        "Xvfb", {display, "-displayfd", "1", "-screen", "0", "1600x1000x24", "-nolisten", "tcp", "-noreset"});
    for (QByteArray told; !told.contains('\n'); told += m_server.readAllStandardOutput())
      if (!m_server.waitForReadyRead(kStartMs)) {
        m_server.kill();
        m_server.waitForFinished(kEndMs);
        return false;
      }
    qputenv("DISPLAY", display.toLatin1());
    return true;
  }

  QProcess m_server;
};

struct Made {
  TempDir home;
  Display display;
  std::unique_ptr<QApplication> application;
};
std::unique_ptr<Made> made;

// Qt does not bear an application that ends among the destructors of static objects.
struct EndOfTests : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;
  void testRunEnded(const Catch::TestRunStats&) override {
    if (made) made->application.reset();
    made.reset();
  }
};
CATCH_REGISTER_LISTENER(EndOfTests)

}  // namespace

QApplication& displayedGui() {
  static int argc = 1;
  static char name[] = "test_window";
  static char* argv[] = {name, nullptr};
  if (made) return *made->application;
  made = std::make_unique<Made>();
  for (const char* variable : {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"})
    qputenv(variable, QByteArray::fromStdString(made->home.path().string()));
  qputenv("QT_QPA_PLATFORM", "xcb");
  QCoreApplication::setOrganizationName("msdbg");
  QCoreApplication::setApplicationName("msdbg");
  QCoreApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
  made->application = std::make_unique<QApplication>(argc, argv);
  return *made->application;
}

}  // namespace msdbg::test
