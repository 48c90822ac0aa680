// The window's icons (resources/icons), in the palette's colours. UI thread only.
#pragma once

#include <QIcon>
#include <QPalette>

namespace msdbg::app {

/// "back" for resources/icons/back.svg, in the colours of the palette's button text.
QIcon lineIcon(const QString& name, const QPalette& palette);
QIcon programIcon();

}  // namespace msdbg::app
