// PictureView: draws one picture as large as its place allows, with what its colours mean below. Marks what
// is not finite and the current cell. A click makes a cell current.
#pragma once

#include <QWidget>

#include "app/presenters/tensor/picture.h"
#include "graph_view/scene/look.h"

namespace msdbg::app {

SignalColours signalColours(const graphview::Look& look);

class PictureView : public QWidget {
  Q_OBJECT
 public:
  explicit PictureView(QWidget* parent = nullptr);

  void setPicture(const Picture& picture);
  void setMessage(const QString& message);
  void setCell(std::optional<QPoint> columnAndRow);
  /// The room for a picture, in device pixels: it should have no more, so that no pixel is left out in
  /// drawing.
  QSize room() const;
  QRect pictureRect() const;

  QSize sizeHint() const override { return {240, 240}; }
  QSize minimumSizeHint() const override { return {60, 60}; }

 signals:
  void roomChanged();
  void cellClicked(std::int64_t row, std::int64_t column);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Element {
    std::int64_t row = 0, column = 0;
  };
  std::optional<Element> elementAt(QPoint position) const;
  QString textOf(Element element) const;
  QRectF rectOf(double x, double y, double width, double height) const;  // of image pixels
  int legendHeight() const;
  void drawMarks(QPainter& painter, const graphview::Look& look) const;
  void drawLegend(QPainter& painter, const graphview::Look& look) const;
  Picture m_picture;
  QImage m_coloured;
  QString m_message;
  std::optional<QPoint> m_cell;
};

}  // namespace msdbg::app
