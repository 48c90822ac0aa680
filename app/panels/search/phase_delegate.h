// Draws a phase with its colour in the graph. UI thread only.
#pragma once

#include <QPainter>

#include "app/panels/roomy_delegate.h"
#include "app/presenters/search/search_model.h"
#include "graph_view/scene/look.h"

namespace msdbg::app {

class PhaseDelegate : public RoomyDelegate {
 public:
  explicit PhaseDelegate(QObject* parent) : RoomyDelegate(parent, {4, 4}) {}

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    const auto phase = static_cast<core::Phase>(index.data(SearchModel::kPhaseRole).toInt());
    const graphview::Look look = graphview::lookOf(option->palette);
    QPixmap dot(kSide, kSide);
    dot.fill(Qt::transparent);
    QPainter painter(&dot);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(look.phaseMark(phase), 1.5));
    painter.setBrush(look.phase(phase));
    painter.drawRoundedRect(QRectF(1, 1, kSide - 2, kSide - 2), 2, 2);
    painter.end();
    option->features |= QStyleOptionViewItem::HasDecoration;
    option->decorationSize = dot.size();
    option->icon = QIcon(dot);
  }

 private:
  static constexpr int kSide = 12;
};

}  // namespace msdbg::app
