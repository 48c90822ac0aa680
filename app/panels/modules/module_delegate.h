// Draws the rows of the module tree: what was found in a module as a mark at the right of its name (a disc
// for faults, with a ring where the first of all is among them, a triangle for hints), parameters in the
// quieter colour. UI thread only.
#pragma once

#include <QPainter>

#include "app/panels/roomy_delegate.h"
#include "app/presenters/modules/module_model.h"
#include "graph_view/scene/look.h"

namespace msdbg::app {

class ModuleDelegate : public RoomyDelegate {
 public:
  explicit ModuleDelegate(QObject* parent) : RoomyDelegate(parent, {kMark + 8, 4}) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QStyledItemDelegate::paint(painter, option, index);
    const int mark = index.data(ModuleModel::kMarkRole).toInt();
    if (index.column() != ModuleModel::kName || mark == 0) return;
    const graphview::Look look = graphview::lookOf(option.palette);
    QRectF place(0, 0, kMark, kMark);
    place.moveCenter(QRectF(option.rect).center());
    place.moveRight(option.rect.right() - 4);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    draw(*painter, place, mark, look);
    painter->restore();
  }

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    if (index.data(ModuleModel::kIsModuleRole).toBool()) return;
    option->palette.setColor(QPalette::Text, graphview::lookOf(option->palette).mutedText);
  }

 private:
  static constexpr int kMark = 9;

  static void draw(QPainter& painter, const QRectF& place, int mark, const graphview::Look& look) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(mark == 1 ? look.hint : look.fault);
    if (mark == 1)
      painter.drawPolygon(
          QPolygonF({{place.center().x(), place.top()}, place.bottomRight(), place.bottomLeft()}));
    else
      painter.drawEllipse(mark == 3 ? place.adjusted(2, 2, -2, -2) : place);
    if (mark != 3) return;
    painter.setPen(QPen(look.fault, 1.5));
    painter.setBrush(Qt::NoBrush);
    painter.drawEllipse(place);
  }
};

}  // namespace msdbg::app
