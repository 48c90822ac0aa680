// Draws frames: those inside the engine greyed, code in the source font. UI thread only.
#pragma once

#include <QStyledItemDelegate>

#include "app/panels/source/source_colors.h"
#include "app/presenters/source/frame_model.h"

namespace msdbg::app {

class FrameDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    return QStyledItemDelegate::sizeHint(option, index) + QSize(8, 4);
  }

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    if (index.column() == FrameModel::kCode) option->font = sourceFont();
    if (index.data(FrameModel::kEngineRole).toBool())
      option->palette.setColor(QPalette::Text, graphview::lookOf(option->palette).mutedText);
  }
};

}  // namespace msdbg::app
