// Draws the name of a node so that long names that are much alike can be told apart: without the scopes that
// all have in common, elided in the middle. UI thread only.
#pragma once

#include "app/panels/roomy_delegate.h"
#include "app/presenters/search/search_model.h"

namespace msdbg::app {

class NameDelegate : public RoomyDelegate {
 public:
  explicit NameDelegate(QObject* parent) : RoomyDelegate(parent, {4, 4}) {}

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    option->text = index.data(SearchModel::kBriefRole).toString();
    option->textElideMode = Qt::ElideMiddle;
  }
};

}  // namespace msdbg::app
