// StatisticsModel: the statistics of the shown tensor, and of what it is compared with, as `msdbg show`
// prints them: one row each. They are there also where no value is stored. UI thread only.
#pragma once

#include <QAbstractTableModel>

#include "app/presenters/tensor/tensor_presenter.h"

namespace msdbg::app {

class StatisticsModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Role { kAlarmRole = Qt::UserRole + 1 };  // true: not finite elements are counted here
  explicit StatisticsModel(TensorPresenter& presenter, QObject* parent = nullptr);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  struct Row {
    QString name, tooltip;
    QString values[2] = {};  // A, B
    bool alarm[2] = {false, false};
  };

 private:
  void refresh();
  TensorPresenter& m_presenter;
  int m_columns = 0;
  std::vector<Row> m_rows;
};

}  // namespace msdbg::app
