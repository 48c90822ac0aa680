// AnswerPanel: a question that a command answers: its line, how far it is, what it said; names in it are
// links. UI thread only; see panels/panel.h.
#pragma once

#include "app/panels/panel.h"

class QLabel;
class QLineEdit;
class QStackedWidget;
class QTextBrowser;
class QToolButton;
class QUrl;

namespace msdbg::app {

class AnswerPanel : public Panel {
  Q_OBJECT
 public:
  explicit AnswerPanel(QWidget* parent = nullptr);
  ~AnswerPanel() override { setDocument(nullptr); }

  void setDocument(Document* document) override;
  QString command() const override;
  void takeFocus() override;
  bool settled() const override;

 protected:
  void changeEvent(QEvent* event) override;

 private:
  QWidget* makeBar();
  QToolButton* addButton(const char* name, const QString& text, const QString& tip);
  void refresh();
  void showState();
  void showText();
  void showConclusion();
  void copyCommand();
  void cancelOrAskAgain();
  void follow(const QUrl& url);

  Document* m_document = nullptr;
  QStackedWidget* m_stack;
  QLabel* m_hint;
  QToolButton *m_back, *m_forward, *m_copy, *m_again;
  QLineEdit* m_command;
  QLabel *m_state, *m_problem;
  QTextBrowser* m_text;
};

}  // namespace msdbg::app
