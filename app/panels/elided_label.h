// ElidedLabel: one line of text that is cut with "…" where there is no room; the tooltip has all of it.
// Shared by the panels. UI thread only.
#pragma once

#include <QLabel>

namespace msdbg::app {

class ElidedLabel : public QLabel {
  Q_OBJECT
 public:
  using QLabel::QLabel;
  void setLine(const QString& line, const QString& tooltip = {});
  void setElideMode(Qt::TextElideMode mode) { m_mode = mode; }  // at the right unless said otherwise
  QString line() const { return m_line; }
  QSize minimumSizeHint() const override { return {40, QLabel::sizeHint().height()}; }
  QSize sizeHint() const override { return minimumSizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString m_line;
  Qt::TextElideMode m_mode = Qt::ElideRight;
};

}  // namespace msdbg::app
