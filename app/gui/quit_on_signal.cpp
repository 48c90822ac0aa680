#include "app/gui/quit_on_signal.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <QCoreApplication>
#include <QSocketNotifier>

namespace msdbg::app {
namespace {

int g_pipe[2] = {-1, -1};  // a signal handler may write, and little else

void tell(int) {
  const char byte = 1;
  (void)!::write(g_pipe[1], &byte, 1);
}

}  // namespace

void quitOnSignals(QCoreApplication& application) {
  if (::pipe2(g_pipe, O_CLOEXEC | O_NONBLOCK) != 0) return;  // then a signal ends the process, as ever
  auto* notifier = new QSocketNotifier(g_pipe[0], QSocketNotifier::Read, &application);
  QObject::connect(notifier, &QSocketNotifier::activated, &application, &QCoreApplication::quit);
  struct sigaction action = {};
  action.sa_handler = tell;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    struct sigaction before = {};
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)  // nohup
      ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace msdbg::app
