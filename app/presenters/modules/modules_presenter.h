// ModulesPresenter: the modules of the document's run, what was found in each, and which one the cursor is
// in. UI thread only; lives no longer than its document.
#pragma once

#include <QObject>

#include "app/presenters/document.h"
#include "app/presenters/modules/module_model.h"

namespace msdbg::app {

class ModulesPresenter : public QObject {
  Q_OBJECT
 public:
  explicit ModulesPresenter(Document& document, QObject* parent = nullptr);

  ModuleModel& model() { return m_model; }
  /// "Net: 12,345 trainable elements, 20 others"
  QString summary() const;
  /// Selects the row everywhere: a parameter, or all operators of a module.
  void select(const QModelIndex& row);
  Place placeOf(const QModelIndex& row) const;
  /// The row of what is selected: its parameter, else its module, as select() left it; else none.
  QModelIndex currentRow() const;

 signals:
  void selectionChanged();

 private:
  void mark();
  Document& m_document;
  ModuleModel m_model;
  int m_markedReport = -1;
  int m_chosen = -1;  // module that select() chose: the first operator may be one of a module in it
  std::vector<core::NodeId> m_chosenNodes;
};

}  // namespace msdbg::app
