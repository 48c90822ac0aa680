// ModulesPanel: the modules of the network as a tree, with their parameters. See panel.h.
#pragma once

#include <memory>

#include "app/panels/panel.h"
#include "app/presenters/modules/modules_presenter.h"

class QLabel;
class QLineEdit;
class QTreeView;

namespace msdbg::app {

class ElidedLabel;

class ModulesPanel : public Panel {
  Q_OBJECT
 public:
  explicit ModulesPanel(QWidget* parent);
  ~ModulesPanel() override;
  void setDocument(Document* document) override;
  QString command() const override;
  void takeFocus() override;

  ModulesPresenter* presenter() { return m_presenter.get(); }  // nullptr without a document

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  void makeFilter();
  void makeTree();
  void expandAtFirst();
  void filter(const QString& text);
  void showSelection();
  void choose(const QModelIndex& index);  // of the filter
  void showMenu(const QPoint& at);
  void fitColumns();
  bool filterKey(int key);  // whether it was one of ours
  bool treeKey(int key);

  Document* m_document = nullptr;
  std::unique_ptr<ModulesPresenter> m_presenter;
  ModuleFilter m_shown;
  QLineEdit* m_filter;
  QTreeView* m_tree;
  ElidedLabel* m_summary;
  QLabel* m_hint;            // in place of the tree
  bool m_following = false;  // the highlighted row follows the cursor just now
};

}  // namespace msdbg::app
