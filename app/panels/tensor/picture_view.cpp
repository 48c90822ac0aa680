#include "app/panels/tensor/picture_view.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

namespace msdbg::app {
namespace {

constexpr int kBarHeight = 10, kGap = 4, kMargin = 9;  // room for a ring at the border
constexpr double kMarkRadius = 7;

// With as many digits as there is room for.
std::pair<QString, QString> endLabels(const replay::ValueRange& range, const QFontMetrics& metrics,
                                      int room) {
  for (const int digits : {6, 4, 3, 2}) {
    const QString low = QString::number(range.low, 'g', digits),
                  high = QString::number(range.high, 'g', digits);
    if (std::max(metrics.horizontalAdvance(low), metrics.horizontalAdvance(high)) <= room) return {low, high};
  }
  return {QString::number(range.low, 'g', 1), QString::number(range.high, 'g', 1)};
}

}  // namespace

SignalColours signalColours(const graphview::Look& look) {
  // Minus infinity is the darker, plus infinity the window's own colour of infinities.
  const QColor inf = look.health(graphview::Health::kInf);
  return {look.health(graphview::Health::kNan), inf, inf.darker(160)};
}

PictureView::PictureView(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setCursor(Qt::CrossCursor);
}

void PictureView::setPicture(const Picture& picture) {
  m_picture = picture;
  m_coloured = m_picture.image;
  if (!m_coloured.isNull())
    m_coloured.setColorTable(colourTable(m_picture.diverging, signalColours(graphview::lookOf(palette()))));
  update();
}

void PictureView::setMessage(const QString& message) {
  m_message = message;
  update();
}

void PictureView::setCell(std::optional<QPoint> columnAndRow) {
  if (columnAndRow == m_cell) return;
  m_cell = columnAndRow;
  update();
}

int PictureView::legendHeight() const { return kBarHeight + 3 * kGap + fontMetrics().height(); }

QSize PictureView::room() const {
  const double ratio = devicePixelRatioF();
  return {std::max(static_cast<int>((width() - 2 * kMargin) * ratio), 1),
          std::max(static_cast<int>((height() - legendHeight() - 2 * kMargin) * ratio), 1)};
}

QRect PictureView::pictureRect() const {
  const QSize place(std::max(width() - 2 * kMargin, 1), std::max(height() - legendHeight() - 2 * kMargin, 1));
  QSize size = drawnSize(m_picture.rows, m_picture.columns, place);
  size = size.expandedTo(m_coloured.size() / devicePixelRatioF()).boundedTo(place);
  const QSize free = place - size;
  return {QPoint(kMargin + free.width() / 2, kMargin + free.height() / 2), size};
}

QRectF PictureView::rectOf(double x, double y, double width, double height) const {
  const QRectF all = pictureRect();
  const double sx = all.width() / m_coloured.width(), sy = all.height() / m_coloured.height();
  return {all.x() + x * sx, all.y() + y * sy, width * sx, height * sy};
}

void PictureView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const graphview::Look look = graphview::lookOf(palette());
  if (m_coloured.isNull()) {
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(rect().adjusted(8, 8, -8, -8), static_cast<int>(Qt::AlignCenter | Qt::TextWordWrap),
                     m_message);
    return;
  }
  painter.drawImage(pictureRect(), m_coloured);
  painter.setPen(look.border);
  painter.drawRect(QRectF(pictureRect()).adjusted(-0.5, -0.5, 0.5, 0.5));
  drawMarks(painter, look);
  drawLegend(painter, look);
}

// Rings only while they are few and small: then one pixel would be overlooked.
void PictureView::drawMarks(QPainter& painter, const graphview::Look& look) const {
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setBrush(Qt::NoBrush);
  const QRectF pixelSize = rectOf(0, 0, 1, 1);
  const bool small = std::min(pixelSize.width(), pixelSize.height()) < kMarkRadius;
  if (small && m_picture.nonFinitePixels <= static_cast<std::int64_t>(m_picture.firstNonFinite.size())) {
    for (const QPoint pixel : m_picture.firstNonFinite) {
      const QRectF box = rectOf(pixel.x(), pixel.y(), 1, 1);
      painter.setPen(QPen(Qt::white, 3.5));
      painter.drawEllipse(box.center(), kMarkRadius, kMarkRadius);
      painter.setPen(QPen(look.fault, 1.75));
      painter.drawEllipse(box.center(), kMarkRadius, kMarkRadius);
    }
  }
  if (!m_cell) return;
  const QRectF box = rectOf(static_cast<double>(m_cell->x()) / static_cast<double>(m_picture.columnsPerPixel),
                            static_cast<double>(m_cell->y()) / static_cast<double>(m_picture.rowsPerPixel),
                            1.0 / static_cast<double>(m_picture.columnsPerPixel),
                            1.0 / static_cast<double>(m_picture.rowsPerPixel));
  const QRectF frame = box.adjusted(-1.5, -1.5, 1.5, 1.5);
  painter.setPen(QPen(Qt::white, 3));
  painter.drawRect(frame);
  painter.setPen(QPen(look.selection, 1.5));
  painter.drawRect(frame);
}

void PictureView::drawLegend(QPainter& painter, const graphview::Look& look) const {
  const QFontMetrics metrics = painter.fontMetrics();
  const int top = height() - legendHeight() + kGap;
  const QRect bar(0, top, width() - 1, kBarHeight);
  const QList<QRgb> colours = colourTable(m_picture.diverging, signalColours(look));
  QLinearGradient gradient(bar.topLeft(), bar.topRight());
  for (int i = 0; i < Picture::kColours; i += 3)
    gradient.setColorAt(i / double(Picture::kColours), colours[i]);
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.setPen(look.border);
  painter.setBrush(m_picture.range.empty() ? QBrush(look.grid) : QBrush(gradient));
  painter.drawRect(bar);
  const QRect line(0, bar.bottom() + kGap, width(), metrics.height());
  painter.setPen(palette().color(QPalette::WindowText));
  if (m_picture.range.empty()) {
    painter.drawText(line, Qt::AlignLeft, metrics.elidedText(tr("nothing finite"), Qt::ElideRight, width()));
    return;
  }
  const int half = (width() - metrics.horizontalAdvance(" 0 ")) / 2;
  const auto [low, high] = endLabels(m_picture.range, metrics, half);
  painter.drawText(line, Qt::AlignLeft, low);
  painter.drawText(line, Qt::AlignRight, high);
  const bool room = std::max(metrics.horizontalAdvance(low), metrics.horizontalAdvance(high)) <= half;
  if (m_picture.diverging && room) painter.drawText(line, Qt::AlignHCenter, "0");
}

void PictureView::resizeEvent(QResizeEvent*) { emit roomChanged(); }

std::optional<PictureView::Element> PictureView::elementAt(QPoint position) const {
  const QRect all = pictureRect();
  if (m_coloured.isNull() || !all.contains(position)) return std::nullopt;
  const double x = (position.x() - all.x() + 0.5) / all.width() * m_coloured.width();
  const double y = (position.y() - all.y() + 0.5) / all.height() * m_coloured.height();
  Element element;
  element.column = std::min(static_cast<std::int64_t>(x * static_cast<double>(m_picture.columnsPerPixel)),
                            m_picture.columns - 1);
  element.row = std::min(static_cast<std::int64_t>(y * static_cast<double>(m_picture.rowsPerPixel)),
                         m_picture.rows - 1);
  return element;
}

void PictureView::mousePressEvent(QMouseEvent* event) {
  const std::optional<Element> element = elementAt(event->pos());
  if (element && event->button() == Qt::LeftButton) emit cellClicked(element->row, element->column);
}

QString PictureView::textOf(Element element) const {
  const QString place = tr("row %1, column %2").arg(element.row).arg(element.column);
  if (m_picture.rowsPerPixel == 1 && m_picture.columnsPerPixel == 1) return place;
  return place + "\n" +
         tr("a pixel is the mean of %1 × %2 elements; one that is not finite always shows")
             .arg(m_picture.rowsPerPixel)
             .arg(m_picture.columnsPerPixel);
}

bool PictureView::event(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) setPicture(Picture(m_picture));
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  if (const std::optional<Element> element = elementAt(help->pos()))
    QToolTip::showText(help->globalPos(), textOf(*element), this);
  else
    QToolTip::hideText();
  return true;
}

}  // namespace msdbg::app
