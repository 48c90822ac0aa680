// RoomyDelegate: rows with a little air, shared by the panels' lists. UI thread only.
#pragma once

#include <QStyledItemDelegate>

namespace msdbg::app {

class RoomyDelegate : public QStyledItemDelegate {
 public:
  explicit RoomyDelegate(QObject* parent, QSize room = {8, 4}) : QStyledItemDelegate(parent), m_room(room) {}
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    return QStyledItemDelegate::sizeHint(option, index) + m_room;
  }

 private:
  QSize m_room;  // beyond what the text takes
};

}  // namespace msdbg::app
