// GraphLegend: what the colours and badges of the graph mean, in a strip below it: one line where there is
// room, else two. UI thread.
#pragma once

#include <QWidget>

#include "graph_view/scene/look.h"

namespace msdbg::app {

class GraphLegend : public QWidget {
  Q_OBJECT
 public:
  explicit GraphLegend(QWidget* parent);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;
  int heightForWidth(int width) const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace msdbg::app
