// GraphPanel: the graph in the centre of the window: a toolbar, the canvas, a legend, a line for problems. UI
// thread.
#pragma once

#include <memory>

#include "app/panels/panel.h"
#include "app/presenters/graph/graph_presenter.h"
#include "graph_view/scene/graph_canvas.h"

class QAction;
class QLabel;
class QToolBar;

namespace msdbg::app {

class GraphLegend;
enum class GraphIcon;

class GraphPanel : public Panel {
  Q_OBJECT
 public:
  explicit GraphPanel(QWidget* parent = nullptr);

  void setDocument(Document* document) override;
  QString command() const override { return m_presenter.command(); }
  void takeFocus() override;
  QJsonObject state() const override;
  void restore(const QJsonObject& state) override;
  bool settled() const override { return m_presenter.settled() && !m_canvas->graphScene().filling(); }

  GraphPresenter& presenter() { return m_presenter; }
  graphview::GraphCanvas& canvas() { return *m_canvas; }

 protected:
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void makeToolbar();
  QAction* addTool(GraphIcon icon, const QString& text, const QString& keys, const char* name);
  void connectCanvas();
  void connectPresenter();
  void showPicture(graphview::Item anchor);
  void showSelection();
  void showHits();
  void showPath();
  void showNotice();
  void showMenu(graphview::Item item, const QPoint& at);
  void askPath(graphview::Direction direction);
  void placeOverlays();
  void paintIcons();
  GraphMetrics metrics() const;

  QToolBar* m_toolbar = nullptr;
  graphview::GraphCanvas* m_canvas = nullptr;
  GraphLegend* m_legend = nullptr;
  QLabel *m_notice = nullptr, *m_hint = nullptr, *m_zoom = nullptr;
  QAction *m_upstream = nullptr, *m_downstream = nullptr, *m_way = nullptr, *m_showLegend = nullptr;
  std::vector<std::pair<QAction*, GraphIcon>> m_icons;
  GraphPresenter m_presenter;
  std::optional<double> m_restoredZoom;  // for the first picture
};

}  // namespace msdbg::app
