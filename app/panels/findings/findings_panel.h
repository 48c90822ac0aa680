// FindingsPanel: what the check found, in words and as a list, and what is checked. UI thread only.
#pragma once

#include "app/panels/panel.h"

class QLabel;
class QProgressBar;
class QPushButton;
class QSplitter;

namespace msdbg::app {

class AnswerView;
class HitList;
class WatchpointSection;

class FindingsPanel : public Panel {
  Q_OBJECT
 public:
  explicit FindingsPanel(QWidget* parent = nullptr);

  void setDocument(Document* document) override;
  QString command() const override;
  void takeFocus() override;
  QJsonObject state() const override;
  void restore(const QJsonObject& state) override;
  bool settled() const override;

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void makeLayout();
  void refresh();
  void showState();
  void showAnswer();
  void goTo(const watch::Hit& hit);
  void followAnswer(const QString& target);
  void showHitMenu(std::size_t hit, const QPoint& at);
  void highlightRecheck();
  void applyLook();

  Document* m_document = nullptr;
  int m_shownReport = -1;
  QWidget* m_top;  // status, progress and buttons
  QLabel* m_status;
  QProgressBar* m_progress;
  QPushButton *m_recheck, *m_cancel;
  QLabel* m_notice;
  QSplitter* m_splitter;
  AnswerView* m_answer;
  HitList* m_hits;
  WatchpointSection* m_watchpoints;
};

}  // namespace msdbg::app
