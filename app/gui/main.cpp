#include <QApplication>
#include <QFileInfo>
#include <QFontDatabase>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "app/gui/main_window.h"
#include "app/gui/quiet_offscreen.h"
#include "app/gui/quit_on_signal.h"
#include "app/gui/screenshot.h"

namespace {

using namespace msdbg;

// As the command line's: 1 a run or file is damaged or missing, 2 wrong usage.
constexpr int kExitDamaged = 1, kExitUsage = 2;

int fail(const std::string& message, int status) {
  std::fprintf(stderr, "msdbg-gui: %s\n", message.c_str());
  return status;
}

int statusOf(core::ErrorCode code) {
  return code == core::ErrorCode::kUsage || code == core::ErrorCode::kNotFound ? kExitUsage : kExitDamaged;
}

bool set(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value;
}

bool hasDisplay() { return set("DISPLAY") || set("WAYLAND_DISPLAY") || set("QT_QPA_PLATFORM"); }

int runWindow(QApplication& application, const app::WindowOptions& options) {
  app::ThemeController theme;
  theme.setTheme(options.theme == app::Theme::kAuto ? app::keptTheme() : options.theme);
  app::MainWindow window(theme, app::MainWindow::Keep::kSessions);
  if (!options.size.isEmpty()) {
    window.resize(options.size);
    window.resetLayout();
  }
  window.show();
  if (!options.run.isEmpty()) window.openRun(options.run, options.start());
  app::quitOnSignals(application);
  return application.exec();
}

QtMessageHandler g_before = nullptr;

// Qt aborts where it cannot use the display, and advises to install it again.
void withoutDisplay(QtMsgType type, const QMessageLogContext& context, const QString& message) {
  const bool ofPlatform = context.category && std::string_view(context.category).starts_with("qt.qpa");
  if (type != QtFatalMsg && ofPlatform) return;  // the last word says it
  if (type != QtFatalMsg) return g_before ? g_before(type, context, message) : void();
  const char* display = std::getenv("DISPLAY");
  std::fprintf(stderr,
               "msdbg-gui: the display %s cannot be used: is DISPLAY (or WAYLAND_DISPLAY) right, and may you "
               "use it? Without one: msdbg-gui RUN --screenshot FILE.png, or msdbg check RUN\n",
               display ? display : "");
  std::_Exit(kExitDamaged);
}

int screenshot(const app::WindowOptions& options) {
  const core::Status status = app::takeScreenshot(options);
  return status.ok() ? 0 : fail(status.error().message(), statusOf(status.error().code()));
}

}  // namespace

int main(int argc, char** argv) {
  replay::prepareProcess();
  QStringList words;
  for (int i = 0; i < argc; ++i) words << QString::fromLocal8Bit(argv[i]);
  const auto options = app::parseWindowOptions(words);
  if (!options.ok()) return fail(options.error().message(), kExitUsage);
  if (options->version) return std::printf("msdbg-gui %s (Qt %s)\n", MSDBG_VERSION, qVersion()), 0;
  const bool toFile = !options->screenshot.isEmpty();
  if (toFile && !set("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  if (!options->help && !hasDisplay() && !options->run.isEmpty() && !QFileInfo::exists(options->run))
    return fail("there is no run " + options->run.toStdString(), kExitDamaged);
  if (!options->help && !hasDisplay())
    return fail(
        "there is no display (DISPLAY and WAYLAND_DISPLAY are not set). Without one: "
        "msdbg-gui RUN --screenshot FILE.png, or msdbg check RUN",
        kExitDamaged);
  if (toFile) app::quietOffscreen();
  QCoreApplication::setOrganizationName("msdbg");
  QCoreApplication::setApplicationName("msdbg");
  if (options->help) {
    QCoreApplication application(argc, argv);
    return std::fputs(app::windowHelp().toLocal8Bit().constData(), stdout), 0;
  }
  g_before = qInstallMessageHandler(withoutDisplay);
  QApplication application(argc, argv);
  qInstallMessageHandler(g_before);
  QGuiApplication::setDesktopFileName("msdbg");
  if (QFontDatabase::families().isEmpty())
    return fail("no fonts are installed, every letter would be a square: apt install fonts-dejavu-core",
                kExitDamaged);
  return toFile ? screenshot(*options) : runWindow(application, *options);
}
