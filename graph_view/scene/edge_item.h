// EdgeItem: tensors that flow from one box to another: a curve, its arrow and their shape. KernelItem: the
// outline of the boxes that one kernel covers. UI thread; owned by the scene.
#pragma once

#include <QGraphicsItem>
#include <QPainterPath>

#include "graph_view/scene/box_item.h"

namespace msdbg::graphview {

class EdgeItem : public QGraphicsItem {
 public:
  enum class State { kPlain, kOnPath, kDimmed };
  struct Content {
    Item from, to;               // entry and exit: of the scope
    ScopeId scope;               // that shows it
    const Edge* edge = nullptr;  // owned by the FoldedGraph
    QString label;
    QPointF labelCenter;
    std::array<std::int64_t, 5> phases{};  // of the scope, and its depth: the ground under the label
    int depth = 0;
  };

  EdgeItem(const Drawing& drawing, Content content, const Curve& curve);

  const Content& content() const { return m_content; }
  State state() const { return m_state; }
  void setState(State state);

  QRectF boundingRect() const override { return m_bounds; }
  QPainterPath shape() const override;
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

 private:
  QColor color() const;
  void paintLabel(QPainter& painter) const;
  const Drawing& m_drawing;
  Content m_content;
  QPainterPath m_path;
  QPolygonF m_arrow;  // empty where the edge goes on outside
  QRectF m_labelRect, m_bounds;
  State m_state = State::kPlain;
};

class KernelItem : public QGraphicsItem {
 public:
  KernelItem(const Drawing& drawing, QString name, std::vector<QRectF> outlines);
  const QString& name() const { return m_name; }
  QRectF boundingRect() const override { return m_bounds; }
  QPainterPath shape() const override { return {}; }  // lets clicks through
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

 private:
  const Drawing& m_drawing;
  QString m_name;
  std::vector<QRectF> m_outlines;
  QRectF m_bounds;
};

}  // namespace msdbg::graphview
