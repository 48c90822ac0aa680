#include "app/gui/quiet_offscreen.h"

#include <QLoggingCategory>
#include <algorithm>

namespace msdbg::app {
namespace {

QtMessageHandler g_before = nullptr;

void handle(QtMsgType type, const QMessageLogContext& context, const QString& message) {
  static const QString kNoise[] = {QStringLiteral("This plugin does not support propagateSizeHints()"),
                                   QStringLiteral("This plugin does not support raise()"),
                                   QStringLiteral("This plugin does not support grabbing the keyboard")};
  if (std::ranges::find(kNoise, message) == std::end(kNoise)) g_before(type, context, message);
}

}  // namespace

void quietOffscreen() {
  if (const QtMessageHandler before = qInstallMessageHandler(handle); before != handle) g_before = before;
}

}  // namespace msdbg::app
