#include "graph_view/scene/graph_canvas.h"

#include <QApplication>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

namespace msdbg::graphview {
namespace {

constexpr double kLeastZoom = 0.02, kMostZoom = 3, kReadable = 0.8, kFitMargin = 24, kInSight = 80;

}  // namespace

GraphCanvas::GraphCanvas(QWidget* parent)
    : QGraphicsView(parent), m_scene(new GraphScene(palette(), font(), this)) {
  setScene(m_scene);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setTransformationAnchor(NoAnchor);
  setResizeAnchor(NoAnchor);
  setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
}

void GraphCanvas::setPicture(const FoldedGraph* folded, std::shared_ptr<const Placement> placement,
                             Item anchor) {
  const QRectF before = m_scene->rectOf(anchor);
  const QPointF onScreen = mapFromScene(before.topLeft());
  if (!folded || m_scene->picture().isNull()) m_following = true;
  m_scene->setPicture(folded, std::move(placement));
  roomAround();
  const QRectF after = m_scene->rectOf(anchor);
  if (!before.isNull() && !after.isNull()) {
    m_following = false;
    moveSceneTo(after.topLeft(), onScreen);
  } else if (m_following) {
    fit();
  }
}

void GraphCanvas::roomAround() {
  const double wide = std::max(100.0, viewport()->width() - kInSight) / zoom(),
               high = std::max(100.0, viewport()->height() - kInSight) / zoom();
  setSceneRect(m_scene->picture().adjusted(-wide, -high, wide, high));
}

void GraphCanvas::moveSceneTo(QPointF scenePoint, QPointF viewportPoint) {
  const QPointF by = mapFromScene(scenePoint) - viewportPoint;
  horizontalScrollBar()->setValue(horizontalScrollBar()->value() + static_cast<int>(std::lround(by.x())));
  verticalScrollBar()->setValue(verticalScrollBar()->value() + static_cast<int>(std::lround(by.y())));
}

void GraphCanvas::zoomAt(double zoom, QPointF viewportPoint) {
  const QPointF under = mapToScene(viewportPoint.toPoint());
  zoom = std::clamp(zoom, std::min(kLeastZoom, wholeZoom()), kMostZoom);
  setTransform(QTransform::fromScale(zoom, zoom));
  roomAround();
  moveSceneTo(under, viewportPoint);
  emit zoomChanged(zoom);
}

void GraphCanvas::setZoom(double zoom) {
  zoomAt(zoom, QRectF(viewport()->rect()).center()), m_following = false;
}
void GraphCanvas::zoomBy(double factor) { setZoom(zoom() * factor); }

// At which the whole picture with a margin on screen is in sight, but never larger than life.
double GraphCanvas::wholeZoom() const {
  const auto share = [](int side, double length) { return std::max(1.0, side - 2 * kFitMargin) / length; };
  const QRectF picture = m_scene->picture();
  if (picture.isEmpty()) return 1;
  return std::min(
      {1.0, share(viewport()->width(), picture.width()), share(viewport()->height(), picture.height())});
}

void GraphCanvas::fit() {
  if (m_scene->picture().isNull() || viewport()->width() < 10) return;
  const QRectF picture = m_scene->picture();
  const double zoom = wholeZoom();
  setTransform(QTransform::fromScale(zoom, zoom));
  roomAround();
  const QRectF area = viewport()->rect();
  moveSceneTo(picture.center(), area.center());
  m_following = true;
  emit zoomChanged(zoom);
}

void GraphCanvas::reveal(Item item) {
  const QRectF rect = m_scene->rectOf(item);
  if (rect.isNull()) return;
  const bool inSight = visibleScene().contains(rect);
  if (inSight && zoom() >= kReadable * 0.6) return;
  if (zoom() < kReadable) setTransform(QTransform::fromScale(kReadable, kReadable));
  m_following = false;
  roomAround();
  moveSceneTo(rect.center(), QRectF(viewport()->rect()).center());
  emit zoomChanged(zoom());
}

void GraphCanvas::wheelEvent(QWheelEvent* event) {
  const double steps = event->angleDelta().y() / 120.0;
  if (steps == 0) {
    QGraphicsView::wheelEvent(event);
    return;
  }
  m_following = false;
  zoomAt(zoom() * std::pow(1.2, steps), event->position());
  event->accept();
}

void GraphCanvas::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton) return;
  m_pressed = true, m_dragging = false;
  m_pressedAt = m_lastAt = event->pos();
}

void GraphCanvas::mouseMoveEvent(QMouseEvent* event) {
  if (!m_pressed) {
    bool onButton = false;
    const Item item = m_scene->itemAt(mapToScene(event->pos()), &onButton);
    viewport()->setCursor(onButton || item.isNode() ? Qt::PointingHandCursor : Qt::ArrowCursor);
    return;
  }
  if (!m_dragging && (event->pos() - m_pressedAt).manhattanLength() < QApplication::startDragDistance())
    return;
  if (!m_dragging) viewport()->setCursor(Qt::ClosedHandCursor);
  m_dragging = true, m_following = false;
  const QPoint by = event->pos() - m_lastAt;
  m_lastAt = event->pos();
  horizontalScrollBar()->setValue(horizontalScrollBar()->value() - by.x());
  verticalScrollBar()->setValue(verticalScrollBar()->value() - by.y());
}

void GraphCanvas::mouseReleaseEvent(QMouseEvent* event) {
  const bool click = m_pressed && !m_dragging && event->button() == Qt::LeftButton;
  m_pressed = m_dragging = false;
  viewport()->setCursor(Qt::ArrowCursor);
  if (!click) return;
  bool onButton = false;
  const Item item = m_scene->itemAt(mapToScene(event->pos()), &onButton);
  if (onButton) {
    emit foldAsked(item);
  } else {
    emit itemChosen(item);
  }
}

void GraphCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  bool onButton = false;
  const Item item = m_scene->itemAt(mapToScene(event->pos()), &onButton);
  if (item.isScope()) emit foldAsked(item);
}

bool GraphCanvas::foldingKey(int key) {
  if (!m_current.isScope()) return false;
  if (key == Qt::Key_Return || key == Qt::Key_Enter || key == Qt::Key_Space) {
    emit foldAsked(m_current);
  } else if (key == Qt::Key_Plus || key == Qt::Key_Equal || key == Qt::Key_Minus) {
    emit expandAsked(m_current, key != Qt::Key_Minus);
  } else {
    return false;
  }
  return true;
}

void GraphCanvas::keyPressEvent(QKeyEvent* event) {
  const int key = event->key();
  const auto modifiers = event->modifiers() & ~Qt::KeypadModifier & ~Qt::ShiftModifier;
  if (modifiers == Qt::ControlModifier && key == Qt::Key_0) {
    setZoom(1);
  } else if (modifiers == Qt::ControlModifier && (key == Qt::Key_Plus || key == Qt::Key_Equal)) {
    zoomBy(1.25);
  } else if (modifiers == Qt::ControlModifier && key == Qt::Key_Minus) {
    zoomBy(0.8);
  } else if (modifiers != Qt::NoModifier) {
    event->ignore();
  } else if (key == Qt::Key_Up || key == Qt::Key_Down || key == Qt::Key_Left || key == Qt::Key_Right) {
    const Item next = m_scene->neighbour(m_current, key);
    if (next.valid()) emit itemChosen(next), reveal(next);
  } else if (key == Qt::Key_F) {
    fit();
  } else if (key == Qt::Key_Home) {
    emit revealAsked();
  } else if (key == Qt::Key_U || key == Qt::Key_D) {
    emit pathAsked(key == Qt::Key_U ? Direction::kUpstream : Direction::kDownstream);
  } else if (key == Qt::Key_W) {
    emit wayAsked();
  } else if (key == Qt::Key_Escape) {
    emit itemChosen({});
  } else if (!foldingKey(key)) {
    event->ignore();
  }
}

void GraphCanvas::resizeEvent(QResizeEvent* event) {
  const QPointF middle = mapToScene(QRect(QPoint(0, 0), event->oldSize()).center());
  QGraphicsView::resizeEvent(event);
  roomAround();
  if (m_following) {
    fit();
  } else if (event->oldSize().isValid()) {
    moveSceneTo(middle, QRectF(viewport()->rect()).center());
  }
}

void GraphCanvas::changeEvent(QEvent* event) {
  QGraphicsView::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && m_scene) m_scene->setPalette(palette());
}

void GraphCanvas::contextMenuEvent(QContextMenuEvent* event) {
  const bool byKey = event->reason() == QContextMenuEvent::Keyboard;
  const Item item = byKey ? m_current : m_scene->itemAt(mapToScene(event->pos()));
  emit menuAsked(item, byKey ? viewport()->mapToGlobal(viewport()->rect().center()) : event->globalPos());
}

bool GraphCanvas::viewportEvent(QEvent* event) {
  if (event->type() != QEvent::ToolTip || !m_tooltipOf) return QGraphicsView::viewportEvent(event);
  const auto* help = static_cast<const QHelpEvent*>(event);
  const QPointF at = mapToScene(help->pos());
  const QString edge = m_scene->tooltipAt(at);
  QToolTip::showText(help->globalPos(), edge.isEmpty() ? m_tooltipOf(m_scene->itemAt(at)) : edge, viewport());
  return true;
}

}  // namespace msdbg::graphview
