// TensorTableModel: one side's plane as a table. It holds no value: cells that are looked at come in tiles
// through the presenter and read "…" until then. UI thread only.
#pragma once

#include <QAbstractTableModel>

#include "app/presenters/tensor/tensor_presenter.h"

namespace msdbg::app {

class TensorTableModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  static constexpr int kMostSections = 1'000'000;  // rows or columns; a header keeps bytes for each
  enum Role { kClassRole = Qt::UserRole + 1 };     // Class; invalid while the value is not here
  enum class Class { kFinite, kZero, kNan, kInf };

  TensorTableModel(TensorPresenter& presenter, Side side, QObject* parent = nullptr);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  /// Some rows or columns are beyond what a table can show.
  bool cut() const;

 private:
  void sizeMayChange();
  void valuesChanged();
  TensorPresenter& m_presenter;
  Side m_side;
  int m_rows = 0, m_columns = 0;
};

}  // namespace msdbg::app
