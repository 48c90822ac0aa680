#include "app/panels/graph/icons.h"

#include <QPainter>
#include <QPainterPath>

namespace msdbg::app {
namespace {

// All in a square of 16 by 16.
void magnifier(QPainter& painter, bool plus) {
  painter.drawEllipse(QPointF(6.8, 6.8), 4.6, 4.6);
  painter.drawLine(QPointF(10.3, 10.3), QPointF(14, 14));
  painter.drawLine(QPointF(4.8, 6.8), QPointF(8.8, 6.8));
  if (plus) painter.drawLine(QPointF(6.8, 4.8), QPointF(6.8, 8.8));
}

void corners(QPainter& painter) {
  for (int i = 0; i < 4; ++i) {
    painter.drawPolyline(QPolygonF({{2.5, 6}, {2.5, 2.5}, {6, 2.5}}));
    painter.translate(16, 0);
    painter.rotate(90);
  }
  painter.drawRect(QRectF(5.8, 5.8, 4.4, 4.4));
}

void pile(QPainter& painter, bool plus) {
  painter.drawRoundedRect(QRectF(2, 2, 9, 9), 2, 2);
  painter.drawPolyline(QPolygonF({{5, 14}, {14, 14}, {14, 5}}));
  painter.drawLine(QPointF(4.4, 6.5), QPointF(8.6, 6.5));
  if (plus) painter.drawLine(QPointF(6.5, 4.4), QPointF(6.5, 8.6));
}

// Three boxes in a row, an arrow that leads from the filled one.
void stream(QPainter& painter, bool up) {
  if (up) painter.translate(0, 16), painter.scale(1, -1);
  painter.save();
  painter.setBrush(painter.pen().color());
  painter.drawEllipse(QPointF(8, 3.4), 1.9, 1.9);
  painter.restore();
  painter.drawLine(QPointF(8, 6), QPointF(8, 14));
  painter.drawPolyline(QPolygonF({{4.4, 10.6}, {8, 14.2}, {11.6, 10.6}}));
}

// From a filled dot at the bottom to a ring at the top, round a corner.
void way(QPainter& painter) {
  painter.drawEllipse(QPointF(3.6, 3.4), 1.9, 1.9);
  painter.drawPolyline(QPolygonF({{3.6, 5.6}, {3.6, 9}, {12.4, 9}, {12.4, 10.4}}));
  painter.setBrush(painter.pen().color());
  painter.drawEllipse(QPointF(12.4, 12.6), 1.9, 1.9);
}

void legend(QPainter& painter) {
  for (const double y : {3.5, 8.0, 12.5}) {
    painter.save();
    painter.setBrush(painter.pen().color());
    painter.drawEllipse(QPointF(3.4, y), 1.1, 1.1);
    painter.restore();
    painter.drawLine(QPointF(7, y), QPointF(14, y));
  }
}

void draw(QPainter& painter, GraphIcon icon) {
  switch (icon) {
    case GraphIcon::kFit:
      return corners(painter);
    case GraphIcon::kZoomIn:
    case GraphIcon::kZoomOut:
      return magnifier(painter, icon == GraphIcon::kZoomIn);
    case GraphIcon::kExpandAll:
    case GraphIcon::kCollapseAll:
      return pile(painter, icon == GraphIcon::kExpandAll);
    case GraphIcon::kUpstream:
    case GraphIcon::kDownstream:
      return stream(painter, icon == GraphIcon::kUpstream);
    case GraphIcon::kWay:
      return way(painter);
    case GraphIcon::kLegend:
      return legend(painter);
  }
}

}  // namespace

QIcon graphIcon(GraphIcon icon, const QPalette& palette) {
  QIcon result;
  for (const QIcon::Mode mode : {QIcon::Normal, QIcon::Disabled}) {
    for (const int scale : {1, 2}) {
      QPixmap pixmap(16 * scale, 16 * scale);
      pixmap.setDevicePixelRatio(scale);
      pixmap.fill(Qt::transparent);
      QPainter painter(&pixmap);
      painter.setRenderHint(QPainter::Antialiasing);
      const auto group = mode == QIcon::Disabled ? QPalette::Disabled : QPalette::Active;
      painter.setPen(
          QPen(palette.color(group, QPalette::ButtonText), 1.3, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
      draw(painter, icon);
      result.addPixmap(pixmap, mode);
    }
  }
  return result;
}

}  // namespace msdbg::app
