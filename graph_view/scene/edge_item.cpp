#include "graph_view/scene/edge_item.h"

#include <QPainter>
#include <QPainterPathStroker>
#include <QStyleOptionGraphicsItem>
#include <algorithm>
#include <cmath>

namespace msdbg::graphview {
namespace {

constexpr double kLabelText = 0.55, kArrowHeads = 0.15, kKernelText = 0.4;
constexpr double kSeen = 1.5;  // pixels; what is smaller is not drawn

QPointF qt(const Point& point) { return {point.x, point.y}; }

QPainterPath pathOf(const Curve& curve) {
  QPainterPath path;
  if (curve.empty()) return path;
  path.moveTo(qt(curve.front()));
  for (std::size_t i = 1; i + 2 < curve.size(); i += 3)
    path.cubicTo(qt(curve[i]), qt(curve[i + 1]), qt(curve[i + 2]));
  return path;
}

// Along the last stretch of the curve; measuring the whole curve would cost more than all else about an edge.
QPolygonF arrowOf(const Curve& curve) {
  if (curve.size() < 4) return {};
  const QPointF tip = qt(curve.back());
  QLineF shaft(tip, qt(curve[curve.size() - 2]));
  if (shaft.length() < 0.1) shaft.setP2(qt(curve[curve.size() - 4]));
  if (shaft.length() < 0.1) return {};
  shaft.setLength(kArrowLength);
  const QLineF normal = shaft.normalVector();
  const QPointF half(normal.dx() * 0.38, normal.dy() * 0.38);
  return QPolygonF({tip, shaft.p2() + half, shaft.p2() - half});
}

}  // namespace

EdgeItem::EdgeItem(const Drawing& drawing, Content content, const Curve& curve)
    : m_drawing(drawing), m_content(std::move(content)), m_path(pathOf(curve)) {
  if (m_content.to.kind != Item::Kind::kExit) m_arrow = arrowOf(curve);
  if (!m_content.label.isEmpty()) {
    const QFontMetricsF& metrics = m_drawing.style.smallMetrics();
    const double wide = m_drawing.style.smallWidth(m_content.label.toStdString()) + 6,
                 high = metrics.height();
    m_labelRect = {m_content.labelCenter.x() - wide / 2, m_content.labelCenter.y() - high / 2, wide, high};
  }
  m_bounds =
      m_path.controlPointRect().united(m_arrow.boundingRect()).united(m_labelRect).adjusted(-4, -4, 4, 4);
  setZValue(500);
}

void EdgeItem::setState(State state) {
  if (state == m_state) return;
  m_state = state;
  setZValue(state == State::kOnPath ? 600 : 500);
  update();
}

QPainterPath EdgeItem::shape() const {
  QPainterPathStroker wide;
  wide.setWidth(8);
  QPainterPath path = wide.createStroke(m_path);
  path.addRect(m_labelRect);
  return path;
}

QColor EdgeItem::color() const {
  const Look& look = m_drawing.look;
  if (m_state == State::kOnPath) return look.selection;
  QColor color = look.phaseMark(m_content.edge->phase);
  color.setAlphaF(look.dark ? 0.7F : 0.62F);
  return color;
}

void EdgeItem::paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget*) {
  const double detail = option->levelOfDetailFromTransform(painter->worldTransform());
  if (detail * std::max(m_bounds.width(), m_bounds.height()) < kSeen) return;
  painter->setRenderHint(QPainter::Antialiasing);
  if (m_state == State::kDimmed) painter->setOpacity(0.2);
  const bool several = m_content.edge->tensors.size() > 1;
  const double width = (m_state == State::kOnPath ? 2.4
                        : several                 ? 1.9
                                                  : 1.4) /
                       std::min(1.0, detail * 1.6 + 0.2);
  QPen pen(color(), width, Qt::SolidLine, Qt::FlatCap);
  if (m_content.edge->acrossFlows) pen.setDashPattern({5, 3});
  painter->strokePath(m_path, pen);
  if (detail >= kArrowHeads && !m_arrow.isEmpty()) {
    painter->setPen(Qt::NoPen);
    QColor solid = color();
    solid.setAlpha(255);
    painter->setBrush(solid);
    painter->drawPolygon(m_arrow);
  }
  if (detail >= kLabelText && !m_labelRect.isEmpty()) paintLabel(*painter);
}

// On a piece of the scope's ground, so that a line behind it does not cross the letters.
void EdgeItem::paintLabel(QPainter& painter) const {
  const Look& look = m_drawing.look;
  QColor ground = look.background;
  if (m_content.depth > 0) ground = scopeGround(look, mainPhase(m_content.phases), m_content.depth);
  ground.setAlpha(225);
  painter.setPen(Qt::NoPen);
  painter.setBrush(ground);
  painter.drawRoundedRect(m_labelRect, 3, 3);
  painter.setFont(m_drawing.style.smallFont());
  painter.setPen(m_state == State::kOnPath ? look.text : look.mutedText);
  painter.drawText(m_labelRect, Qt::AlignCenter, m_content.label);
}

KernelItem::KernelItem(const Drawing& drawing, QString name, std::vector<QRectF> outlines)
    : m_drawing(drawing), m_name(std::move(name)), m_outlines(std::move(outlines)) {
  for (const QRectF& outline : m_outlines) m_bounds = m_bounds.united(outline);
  m_bounds.adjust(-2, -2, 2, m_drawing.style.smallMetrics().height() + 4);
  setZValue(700);
}

void KernelItem::paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget*) {
  const double detail = option->levelOfDetailFromTransform(painter->worldTransform());
  painter->setRenderHint(QPainter::Antialiasing);
  QPen pen(m_drawing.look.mutedText, 1.3, Qt::DashLine);
  pen.setCosmetic(true);
  painter->setPen(pen);
  painter->setBrush(Qt::NoBrush);
  for (const QRectF& outline : m_outlines) painter->drawRoundedRect(outline, 9, 9);
  if (detail < kKernelText) return;
  painter->setFont(m_drawing.style.smallFont());
  // Below, because above are the labels of the edges that come in.
  const QRectF& outline = m_outlines.front();
  const QFontMetricsF metrics = m_drawing.style.smallMetrics();
  painter->drawText(outline.bottomLeft() + QPointF(8, metrics.ascent() + 2),
                    metrics.elidedText(m_name, Qt::ElideRight, outline.width() - 16));
}

}  // namespace msdbg::graphview
