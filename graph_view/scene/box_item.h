// BoxItem: a node, a scope (folded or open) or an input in the picture. Draws itself from what it was told;
// the scene tells it. UI thread; owned by the scene.
#pragma once

#include <QGraphicsItem>
#include <array>

#include "graph_view/scene/box_style.h"
#include "graph_view/scene/look.h"

namespace msdbg::graphview {

/// kFirst: the fault that came before all others.
enum class HitMark { kNone, kHint, kFault, kFirst };

/// Shared by all items of a scene; changed by it alone.
struct Drawing {
  Look look;
  BoxStyle style;
};

/// The ground of an open scope.
QColor scopeGround(const Look& look, core::Phase phase, int depth);
core::Phase mainPhase(const std::array<std::int64_t, 5>& phases);

class BoxItem : public QGraphicsItem {
 public:
  struct Content {
    Item item;
    BoxText text;
    std::array<std::int64_t, 5> phases{};  // nodes by phase; one for a node
    int depth = 0;
    bool open = false;
  };
  struct State {
    Health health = Health::kUnknown;
    HitMark hit = HitMark::kNone;
    bool selected = false;  // it, or for a folded scope something inside
    bool current = false;   // the keyboard is here
    bool dimmed = false;
    bool operator==(const State&) const = default;
  };

  BoxItem(const Drawing& drawing, Content content, const QRectF& rect);

  const Content& content() const { return m_content; }
  const State& state() const { return m_state; }
  void setState(const State& state);  // repaints only when it differs
  QRectF rect() const { return m_rect; }
  QRectF buttonRect() const;  // + or -; empty for what has none

  QRectF boundingRect() const override { return m_rect.adjusted(-9, -9, 9, 9); }
  QPainterPath shape() const override;
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

 private:
  void paintFrame(QPainter& painter, double detail) const;
  void paintHeader(QPainter& painter) const;
  void paintLines(QPainter& painter) const;
  void paintTitleOnly(QPainter& painter, double detail) const;
  void paintPhases(QPainter& painter, const QPainterPath& inside) const;
  void paintButton(QPainter& painter) const;
  void paintBadge(QPainter& painter, double detail) const;
  void paintHit(QPainter& painter, double detail) const;
  double radius() const;
  bool isLabel() const { return m_content.item.isInput() || m_content.item.isCopy(); }  // a name, no more
  const Drawing& m_drawing;
  Content m_content;
  State m_state;
  QRectF m_rect;  // in the scene's coordinates
};

}  // namespace msdbg::graphview
