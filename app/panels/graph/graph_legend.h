// GraphLegend: what the colours and badges of the graph mean, in a corner of it. UI thread.
#pragma once

#include <QWidget>

#include "graph_view/scene/look.h"

namespace msdbg::app {

class GraphLegend : public QWidget {
  Q_OBJECT
 public:
  explicit GraphLegend(QWidget* parent);
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace msdbg::app
