// SourcePanel: the run's own sources; a line's nodes and a node's lines. See panel.h.
#pragma once

#include <memory>

#include "app/panels/panel.h"
#include "app/presenters/source/source_presenter.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QSplitter;
class QStackedWidget;
class QTreeView;

namespace msdbg::app {

class ElidedLabel;
class SourceView;

class SourcePanel : public Panel {
  Q_OBJECT
 public:
  explicit SourcePanel(QWidget* parent);
  ~SourcePanel() override;
  void setDocument(Document* document) override;
  QString command() const override;
  void takeFocus() override;
  QJsonObject state() const override;
  void restore(const QJsonObject& state) override;

  SourcePresenter* presenter() { return m_presenter.get(); }  // nullptr without a document

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QWidget* makeBar();
  QWidget* makeFrames();
  void addKeys();
  void fillFiles();
  void showFile();
  void showMarks();
  void showLine();
  void showFrames();
  void stepLine(int direction);
  void askLine();
  void goToAskedLine();

  Document* m_document = nullptr;
  std::unique_ptr<SourcePresenter> m_presenter;
  QComboBox* m_files;
  QLineEdit* m_asked;  // "go to line", seen while it is being asked
  QStackedWidget* m_stack;
  SourceView* m_view;
  QLabel* m_hint;  // in place of the text
  QSplitter* m_splitter;
  QWidget* m_framesBox = nullptr;
  ElidedLabel* m_framesTitle = nullptr;
  QTreeView* m_frames = nullptr;
};

}  // namespace msdbg::app
