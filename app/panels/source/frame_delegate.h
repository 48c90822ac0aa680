// Draws frames: those inside the engine greyed, code in the source font. UI thread only.
#pragma once

#include "app/panels/roomy_delegate.h"
#include "app/panels/source/source_colors.h"
#include "app/presenters/source/frame_model.h"

namespace msdbg::app {

class FrameDelegate : public RoomyDelegate {
 public:
  explicit FrameDelegate(QObject* parent) : RoomyDelegate(parent) {}

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    if (index.column() == FrameModel::kCode) option->font = sourceFont();
    if (index.data(FrameModel::kEngineRole).toBool())
      option->palette.setColor(QPalette::Text, graphview::lookOf(option->palette).mutedText);
  }
};

}  // namespace msdbg::app
