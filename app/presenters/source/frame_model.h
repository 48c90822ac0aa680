// FrameModel: the source frames of a node, innermost first: place, function, code. UI thread only.
#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "app/presenters/cursor.h"

namespace msdbg::app {

class FrameModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { kPlace, kFunction, kCode, kColumns };
  enum Role { kEngineRole = Qt::UserRole };  // true: inside the engine's own layers

  using QAbstractTableModel::QAbstractTableModel;

  void setFrames(std::vector<core::Frame> frames);
  const std::vector<core::Frame>& frames() const { return m_frames; }
  /// The row of a line; -1 when no frame is there.
  int rowOf(const SourceLine& line) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  std::vector<core::Frame> m_frames;
};

}  // namespace msdbg::app
