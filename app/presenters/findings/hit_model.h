// HitModel: the hits of the last report as a table, in the order of "first"; HitFilter shows faults, hints or
// both. UI thread only; the model lives no longer than the findings.
#pragma once

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>

#include "app/presenters/findings.h"

namespace msdbg::app {

class HitModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { kSeverity, kIteration, kStep, kRank, kCondition, kWhere, kLine, kActual, kColumns };
  enum Role { kSortRole = Qt::UserRole, kIsFaultRole };

  HitModel(const Findings& findings, std::shared_ptr<const RunFacts> facts, QObject* parent = nullptr);

  /// The run has grown.
  void setFacts(std::shared_ptr<const RunFacts> facts);
  /// The program told its own numbers of steps: kStep says something.
  bool hasSteps() const { return !m_facts->steps.empty(); }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  void refresh();
  QString text(const watch::Hit& hit, int column) const;
  QVariant sortKey(const watch::Hit& hit, int column) const;
  QString toolTip(const watch::Hit& hit) const;
  const Findings& m_findings;
  std::shared_ptr<const RunFacts> m_facts;
  int m_shownReport = 0;
  int m_rows = 0;
};

class HitFilter : public QSortFilterProxyModel {
  Q_OBJECT
 public:
  explicit HitFilter(QObject* parent = nullptr);
  void setShown(bool faults, bool hints);

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  bool m_faults = true, m_hints = true;
};

}  // namespace msdbg::app
