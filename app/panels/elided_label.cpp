#include "app/panels/elided_label.h"

#include <QPainter>
#include <QStyle>

namespace msdbg::app {

void ElidedLabel::setLine(const QString& line, const QString& tooltip) {
  m_line = line;
  setAccessibleName(line);
  setToolTip(tooltip.isEmpty() ? line : tooltip);
  update();
}

void ElidedLabel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const QRect area = contentsRect();
  style()->drawItemText(&painter, area, static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter), palette(),
                        isEnabled(), fontMetrics().elidedText(m_line, m_mode, area.width()),
                        foregroundRole());
}

}  // namespace msdbg::app
