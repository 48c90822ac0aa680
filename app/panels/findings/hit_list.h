// HitList: the hits as a sortable table, faults and hints shown or not. UI thread only.
#pragma once

#include <QWidget>
#include <memory>

#include "app/presenters/findings/hit_model.h"
#include "graph_view/scene/look.h"

class QLabel;
class QToolButton;
class QTreeView;

namespace msdbg::app {

class SeverityDelegate;

class HitList : public QWidget {
  Q_OBJECT
 public:
  explicit HitList(QWidget* parent = nullptr);
  ~HitList() override;

  void setFindings(const Findings* findings, std::shared_ptr<const RunFacts> facts);
  void setFacts(std::shared_ptr<const RunFacts> facts);  // the run has grown
  void setLook(const graphview::Look& look);
  /// Selects the hit of the place, if there is one; chooses nothing.
  void follow(const Place& place);
  bool faultsShown() const;
  bool hintsShown() const;
  void setShown(bool faults, bool hints);
  QTreeView* view() const { return m_view; }

 signals:
  void hitChosen(std::size_t hit);  // in Findings::hits()
  void menuAsked(std::size_t hit, QPoint global);

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void choose(const QModelIndex& index);
  void askMenu(const QPoint& at);
  void refresh();
  void fitColumns();
  const Findings* m_findings = nullptr;
  std::unique_ptr<HitModel> m_model;
  HitFilter m_filter;
  SeverityDelegate* m_delegate;
  QToolButton *m_faults, *m_hints;
  QTreeView* m_view;
};

}  // namespace msdbg::app
