// AnswerView: what a check found, in words; the places that they name are links. UI thread only.
#pragma once

#include <QTextBrowser>

#include "app/presenters/findings/finding_text.h"
#include "graph_view/scene/look.h"

namespace msdbg::app {

class AnswerView : public QTextBrowser {
  Q_OBJECT
 public:
  static constexpr auto kFirst = "first";
  explicit AnswerView(QWidget* parent = nullptr);
  void setLook(const graphview::Look& look);
  void setAnswer(const FindingAnswer& answer, std::shared_ptr<const core::Graph> graph);
  /// Instead of an answer.
  void setHint(const QString& text);

 signals:
  void linkClicked(const QString& target);  // kFirst, or as AnswerLink::target

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void render();
  QString linked(const QString& text) const;
  QString rowsHtml() const;
  QString inputHtml(const FindingAnswer::Input& input) const;
  graphview::Look m_look;
  FindingAnswer m_answer;
  std::shared_ptr<const core::Graph> m_graph;
  QString m_hint;
};

}  // namespace msdbg::app
