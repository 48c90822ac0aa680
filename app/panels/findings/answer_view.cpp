#include "app/panels/findings/answer_view.h"

#include <QScrollBar>

namespace msdbg::app {
namespace {

QString row(const QString& label, const QString& html) {
  return QStringLiteral("<tr><td class='label'>%1</td><td class='text'>%2</td></tr>").arg(label, html);
}

QString escaped(const QString& text) { return text.toHtmlEscaped(); }

QString inputHtml(const FindingAnswer::Input& input) {
  const auto counted = [](const QString& number, const QString& what) {
    const bool wrong = number != "0" && number != "?";
    return QStringLiteral("<span class='%1'>%2&nbsp;%3</span>").arg(wrong ? "wrong" : "muted", number, what);
  };
  return QStringLiteral(
             "%1 <span class='muted'>rank&nbsp;%2:</span> %3, %4<span class='muted'>, "
             "mean&nbsp;&#8288;|&#8288;x&#8288;|&nbsp;%5, max&nbsp;%6</span>")
      .arg(escaped(input.tensor), input.rank, counted(input.nan, "NaN"), counted(input.inf, "Inf"),
           input.meanAbs, input.max);
}

QString rowsHtml(const FindingAnswer& answer) {
  QString html;
  for (const FindingAnswer::Row& r : answer.rows) {
    const bool code = r.label == "where" || r.label == "in";
    html += row(r.label,
                code ? QStringLiteral("<span class='code'>%1</span>").arg(escaped(r.text)) : escaped(r.text));
  }
  QString label = QStringLiteral("inputs");
  for (const FindingAnswer::Input& input : answer.inputs)
    html += row(std::exchange(label, {}), inputHtml(input));
  label = QStringLiteral("then");
  for (const QString& sentence : answer.then) html += row(std::exchange(label, {}), escaped(sentence));
  if (!answer.advice.isEmpty()) html += row(QStringLiteral("advice"), escaped(answer.advice));
  return html.isEmpty()
             ? QString()
             : "<table cellspacing='0' cellpadding='0' style='margin-top: 4px; margin-bottom: 4px'>" + html +
                   "</table>";
}

}  // namespace

AnswerView::AnswerView(QWidget* parent) : QTextBrowser(parent) {
  setObjectName(QStringLiteral("findingAnswer"));
  setAccessibleName(QStringLiteral("What was found"));
  setOpenLinks(false);
  setFrameShape(QFrame::NoFrame);
  setWordWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
  document()->setDocumentMargin(8);
  connect(this, &QTextBrowser::anchorClicked, this, &AnswerView::placeClicked);
}

void AnswerView::setLook(const graphview::Look& look) {
  m_look = look;
  document()->setDefaultStyleSheet(
      QStringLiteral("a { color: %1; text-decoration: none; } .muted, .label { color: %2; }"
                     ".wrong { color: %1; } .good { color: %3; } .hint { color: %4; }"
                     ".label { padding-right: 8px; padding-bottom: 3px; } .text { padding-bottom: 3px; }"
                     ".code { font-family: monospace; } .headline { font-weight: bold; margin-top: 0px; "
                     "margin-bottom: 4px; }")
          .arg(look.fault.name(), look.mutedText.name(), look.good.name(), look.hint.name()));
  render();
}

void AnswerView::setAnswer(const FindingAnswer& answer) {
  m_answer = answer;
  m_hint.clear();
  render();
}

void AnswerView::setHint(const QString& text) {
  m_hint = text;
  render();
}

void AnswerView::render() {
  if (!m_hint.isEmpty()) {
    setHtml(QStringLiteral("<p class='muted'>%1</p>").arg(escaped(m_hint)));
    return;
  }
  using Kind = FindingAnswer::Kind;
  const QString headline = escaped(m_answer.headline);
  const QString title = m_answer.kind == Kind::kFault
                            ? QStringLiteral("<a href='first'>%1</a>").arg(headline)
                            : QStringLiteral("<span class='%1'>%2</span>")
                                  .arg(m_answer.kind == Kind::kNoFault ? "good" : "hint", headline);
  QString html = QStringLiteral("<p class='headline'>%1</p>%2").arg(title, rowsHtml(m_answer));
  for (const QString& note : m_answer.notes)
    html += QStringLiteral("<div class='muted'>%1</div>").arg(escaped(note));
  setHtml(html);
  verticalScrollBar()->setValue(0);
}

}  // namespace msdbg::app
