// AnswerView: what a check found, in words; the place in it is a link. UI thread only.
#pragma once

#include <QTextBrowser>

#include "app/presenters/findings/finding_text.h"
#include "graph_view/scene/look.h"

namespace msdbg::app {

class AnswerView : public QTextBrowser {
  Q_OBJECT
 public:
  explicit AnswerView(QWidget* parent = nullptr);
  void setLook(const graphview::Look& look);
  void setAnswer(const FindingAnswer& answer);
  /// Instead of an answer.
  void setHint(const QString& text);

 signals:
  void placeClicked();

 private:
  void render();
  graphview::Look m_look;
  FindingAnswer m_answer;
  QString m_hint;
};

}  // namespace msdbg::app
