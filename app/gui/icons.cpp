#include "app/gui/icons.h"

#include <QFile>
#include <QPainter>
#include <QSvgRenderer>

// Of a static library: nothing else pulls them into the program. Must stand outside any namespace.
static void linkIcons() { Q_INIT_RESOURCE(icons); }

namespace msdbg::app {
namespace {

constexpr int kSizes[] = {16, 24, 32, 48};

QPixmap drawn(QByteArray svg, const QColor& colour, int size) {
  svg.replace("currentColor", colour.name().toLatin1());
  QSvgRenderer renderer(svg);
  QPixmap pixmap(size, size);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  renderer.render(&painter);
  return pixmap;
}

QByteArray fileOf(const QString& name) {
  linkIcons();
  QFile file(":/icons/" + name + ".svg");
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

}  // namespace

QIcon lineIcon(const QString& name, const QPalette& palette) {
  const QByteArray svg = fileOf(name);
  QIcon icon;
  for (const int size : kSizes) {
    icon.addPixmap(drawn(svg, palette.color(QPalette::ButtonText), size));
    icon.addPixmap(drawn(svg, palette.color(QPalette::Disabled, QPalette::ButtonText), size),
                   QIcon::Disabled);
  }
  return icon;
}

QIcon programIcon() {
  linkIcons();
  return QIcon(":/icons/msdbg.svg");
}

}  // namespace msdbg::app
