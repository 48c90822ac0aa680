// SearchPanel: lines, names and operator types -> nodes, as one types. See panel.h.
#pragma once

#include <memory>

#include "app/panels/panel.h"
#include "app/presenters/search/search_presenter.h"

class QCompleter;
class QLabel;
class QLineEdit;
class QPushButton;
class QStringListModel;
class QTreeView;

namespace msdbg::app {

class SearchPanel : public Panel {
  Q_OBJECT
 public:
  explicit SearchPanel(QWidget* parent);
  ~SearchPanel() override;
  void setDocument(Document* document) override;
  QString command() const override;
  void takeFocus() override;
  QJsonObject state() const override;
  void restore(const QJsonObject& state) override;
  bool settled() const override;

  /// Searches for it now, as if it had been typed.
  void search(const QString& query);
  SearchPresenter* presenter() { return m_presenter.get(); }  // nullptr without a document

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void makeField();
  void makeResults();
  QWidget* makeAnswer();
  void showResults();
  void showSelection();
  void choose(int row);
  void remember();
  void fitColumns();
  void enterResults();
  bool fieldKey(int key);  // whether it was one of ours
  bool resultsKey(int key);

  Document* m_document = nullptr;
  std::unique_ptr<SearchPresenter> m_presenter;
  QLineEdit* m_field;
  QStringListModel* m_history;  // the newest first
  QCompleter* m_completer;
  QTreeView* m_results;
  QLabel* m_message;
  QPushButton* m_selectAll;
  bool m_following = false;   // the highlighted row follows the cursor just now
  bool m_enterWaits = false;  // Enter came before the results
};

}  // namespace msdbg::app
