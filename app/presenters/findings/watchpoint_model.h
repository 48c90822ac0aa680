// WatchpointModel: the watchpoints as a list with check marks: title and parameters. UI thread only; lives no
// longer than the findings.
#pragma once

#include <QAbstractTableModel>

#include "app/presenters/findings.h"

namespace msdbg::app {

class WatchpointModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { kTitle, kParameters, kColumns };

  explicit WatchpointModel(Findings& findings, QObject* parent = nullptr);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  void refresh();
  Findings& m_findings;
  QStringList m_texts;  // of the rows shown
};

}  // namespace msdbg::app
