// GraphCanvas: looks at a GraphScene: drag or wheel to pan and zoom, keys to walk, clicks to select and fold.
// It only says what was asked for. UI thread.
#pragma once

#include <QGraphicsView>
#include <functional>

#include "graph_view/scene/graph_scene.h"

namespace msdbg::graphview {

class GraphCanvas : public QGraphicsView {
  Q_OBJECT
 public:
  explicit GraphCanvas(QWidget* parent = nullptr);

  GraphScene& graphScene() { return *m_scene; }
  const GraphScene& graphScene() const { return *m_scene; }
  /// Shows another picture. What is at `anchor` (the opened or folded scope) stays where it is on screen;
  /// without one, the view is fitted until the user has moved it.
  void setPicture(const FoldedGraph* folded, std::shared_ptr<const Placement> placement, Item anchor);

  void setCurrent(Item item) { m_current = item; }  // where the keys start
  /// What is said about a box under the pointer; asked each time.
  void setTooltips(std::function<QString(Item)> tooltipOf) { m_tooltipOf = std::move(tooltipOf); }

  double zoom() const { return transform().m11(); }
  void setZoom(double zoom);  // around the middle
  void zoomBy(double factor);
  void fit();  // all of it, however small
  /// Moves the item into sight, at a zoom at which it can be read, only when it is not there already.
  void reveal(Item item);
  /// Until the user pans or zooms, the picture is fitted again whenever it or the window changes.
  bool following() const { return m_following; }
  QRectF visibleScene() const { return mapToScene(viewport()->rect()).boundingRect(); }

 signals:
  void itemChosen(msdbg::graphview::Item item);  // click, arrow keys; an invalid one: the background
  void foldAsked(msdbg::graphview::Item scope);  // + or -, double click, Enter, Space
  void expandAsked(msdbg::graphview::Item scope, bool expand);  // keys + and -
  void pathAsked(msdbg::graphview::Direction direction);        // U and D
  void wayAsked();                                              // W
  void revealAsked();                                           // Home
  void menuAsked(msdbg::graphview::Item item, QPoint global);   // right button; Menu key: the current item
  void zoomChanged(double zoom);

 protected:
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  void zoomAt(double zoom, QPointF viewportPoint);
  double wholeZoom() const;
  void roomAround();  // the picture can be moved until a little of it is left in sight
  void moveSceneTo(QPointF scenePoint, QPointF viewportPoint);
  bool foldingKey(int key);
  GraphScene* m_scene;
  bool m_following = true, m_dragging = false, m_pressed = false;
  QPoint m_pressedAt, m_lastAt;
  Item m_current;
  std::function<QString(Item)> m_tooltipOf;
};

}  // namespace msdbg::graphview
