// RunStatus: the right of the status bar: how the run ended, and how far the check is.
#pragma once

#include <QPointer>
#include <QWidget>

#include "app/presenters/document.h"

class QLabel;
class QProgressBar;
class QToolButton;

namespace msdbg::app {

class RunStatus : public QWidget {
  Q_OBJECT
 public:
  explicit RunStatus(QWidget* parent = nullptr);
  void setDocument(Document* document);  // opened, or nullptr

 private:
  void showRun();
  void showCheck();
  QPointer<Document> m_document;
  QLabel *m_run, *m_check;
  QProgressBar* m_progress;
  QToolButton* m_cancel;
};

/// "killed · 10 iterations · 2 ranks", "recording… iteration 57 · 2 ranks"
QString runSummary(const RunFacts& facts);

}  // namespace msdbg::app
