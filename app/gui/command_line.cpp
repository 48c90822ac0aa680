#include "app/gui/command_line.h"

#include <QCommandLineParser>
#include <QRegularExpression>

#include "app/panels/builtin_panels.h"

namespace msdbg::app {
namespace {

using core::Error;
using core::ErrorCode;

constexpr int kLeastSide = 320, kMostSide = 10000;

void describe(QCommandLineParser& parser) {
  parser.setApplicationDescription(
      "Opens a recorded run: its graph, source, numbers and what went wrong first.\n\n"
      "Without RUN: recent runs to choose from. A run can be dropped on the window.");
  parser.setSingleDashWordOptionMode(QCommandLineParser::ParseAsLongOptions);
  parser.addPositionalArgument("RUN", "run folder (*.msdbg)", "[RUN]");
  parser.addOptions({{{"h", "help"}, "this help"},
                     {"version", "the version"},
                     {"node", "start at this node (name, unique end of it, or FILE:LINE)", "N"},
                     {"iteration", "start at this iteration", "K"},
                     {"step", "start at this step, as the program numbered it (msdbg.step)", "N"},
                     {"rank", "start at this rank", "R"},
                     {"size", "of the window, in pixels", "WxH"},
                     {"theme", "light, dark or auto (as the desktop, the default)", "THEME"},
                     {"screenshot", "draw the window into this file and end; needs no display", "FILE.png"},
                     {"panel",
                      "with --screenshot: only this panel (" +
                          [] {
                            QStringList ids;
                            for (const PanelFactory factory : builtinPanels()) ids << factory().id;
                            return ids.join(", ");
                          }() +
                          ")",
                      "ID"}});
}

Error usage(const QString& message) {
  return {ErrorCode::kUsage, (message + "; see msdbg-gui --help").toStdString()};
}

core::Result<std::optional<std::int64_t>> number(const QCommandLineParser& parser, const QString& name) {
  if (!parser.isSet(name)) return std::optional<std::int64_t>();
  bool ok = false;
  const qlonglong value = parser.value(name).toLongLong(&ok);
  if (!ok || value < 0)
    return usage(QString("--%1 %2: expected a number from 0").arg(name, parser.value(name)));
  return std::optional<std::int64_t>(value);
}

core::Result<QSize> size(const QString& text) {
  if (text.isEmpty()) return QSize();
  static const QRegularExpression kSize("^(\\d{1,6})x(\\d{1,6})$");
  const auto match = kSize.match(text);
  const QSize size(match.captured(1).toInt(), match.captured(2).toInt());
  if (!match.hasMatch() || std::min(size.width(), size.height()) < kLeastSide ||
      std::max(size.width(), size.height()) > kMostSide)
    return usage(QString("--size %1: expected WIDTHxHEIGHT, each from %2 to %3")
                     .arg(text)
                     .arg(kLeastSide)
                     .arg(kMostSide));
  return size;
}

core::Result<Theme> theme(const QString& text) {
  if (text.isEmpty() || text == "auto") return Theme::kAuto;
  if (text == "light") return Theme::kLight;
  if (text == "dark") return Theme::kDark;
  return usage("--theme " + text + ": expected light, dark or auto");
}

core::Status checkPanel(const WindowOptions& options) {
  if (options.panel.isEmpty()) return core::Ok{};
  if (options.screenshot.isEmpty()) return usage("--panel is for --screenshot");
  for (const PanelFactory factory : builtinPanels())
    if (options.panel == factory().id) return core::Ok{};
  return usage("there is no panel '" + options.panel + "'");
}

}  // namespace

core::Result<WindowOptions> parseWindowOptions(const QStringList& arguments) {
  QCommandLineParser parser;
  describe(parser);
  if (!parser.parse(arguments)) return usage(parser.errorText());
  WindowOptions options;
  options.help = parser.isSet("help");
  options.version = parser.isSet("version");
  const QStringList runs = parser.positionalArguments();
  if (runs.size() > 1) return usage("one run at a time, not " + QString::number(runs.size()));
  options.run = runs.value(0);
  options.screenshot = parser.value("screenshot");
  if (parser.isSet("screenshot") && options.screenshot.isEmpty()) return usage("--screenshot: which file?");
  options.panel = parser.value("panel");
  options.node = parser.value("node");
  MSDBG_ASSIGN(options.iteration, number(parser, "iteration"));
  MSDBG_ASSIGN(options.rank, number(parser, "rank"));
  MSDBG_ASSIGN(options.step, number(parser, "step"));
  if (options.step && options.iteration) return usage("--step and --iteration: give one of them");
  MSDBG_ASSIGN(options.size, size(parser.value("size")));
  MSDBG_ASSIGN(options.theme, theme(parser.value("theme")));
  MSDBG_TRY(checkPanel(options));
  const bool place = !options.node.isEmpty() || options.iteration || options.rank || options.step;
  if (options.run.isEmpty() && place) return usage("--node, --iteration, --step and --rank need a RUN");
  return options;
}

QString windowHelp() {
  QCommandLineParser parser;
  describe(parser);
  return parser.helpText();
}

}  // namespace msdbg::app
