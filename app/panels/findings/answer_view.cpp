#include "app/panels/findings/answer_view.h"

#include <QEvent>
#include <QScrollBar>
#include <QUrl>

#include "app/presenters/findings/answer_links.h"

namespace msdbg::app {
namespace {

QString row(const QString& label, const QString& html) {
  return QStringLiteral("<tr><td class='label'>%1</td><td class='text'>%2</td></tr>").arg(label, html);
}

QString escaped(const QString& text) { return text.toHtmlEscaped(); }

QString damageHtml(const FindingAnswer::Damage& damage) {
  const QString detail = damage.detail.isEmpty()
                             ? QString()
                             : QStringLiteral(" <span class='muted'>(%1)</span>").arg(escaped(damage.detail));
  return QStringLiteral("<div>%1%2</div>").arg(escaped(damage.text), detail);
}

}  // namespace

AnswerView::AnswerView(QWidget* parent) : QTextBrowser(parent) {
  setObjectName(QStringLiteral("findingAnswer"));
  setAccessibleName(QStringLiteral("What was found"));
  setOpenLinks(false);
  setFrameShape(QFrame::NoFrame);
  setWordWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
  document()->setDocumentMargin(8);
  connect(this, &QTextBrowser::anchorClicked, this,
          [this](const QUrl& url) { emit linkClicked(QUrl::fromPercentEncoding(url.toEncoded())); });
}

void AnswerView::setLook(const graphview::Look& look) {
  m_look = look;
  document()->setDefaultStyleSheet(
      QStringLiteral("a { color: %1; text-decoration: none; } .place { color: %5; text-decoration: "
                     "underline; } .muted, .label { color: %2; }"
                     ".wrong { color: %1; } .good { color: %3; } .hint { color: %4; }"
                     ".label { padding-right: 8px; padding-bottom: 3px; } .text { padding-bottom: 3px; }"
                     ".code { font-family: monospace; } .headline { font-weight: bold; margin-top: 0px; "
                     "margin-bottom: 4px; }")
          .arg(look.fault.name(), look.mutedText.name(), look.good.name(), look.hint.name(),
               palette().color(QPalette::Link).name()));
  render();
}

// Links have the palette's colour, which comes here after the panel has set its look.
void AnswerView::changeEvent(QEvent* event) {
  QTextBrowser::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) setLook(graphview::lookOf(palette()));
}

void AnswerView::setAnswer(const FindingAnswer& answer, std::shared_ptr<const core::Graph> graph) {
  m_answer = answer;
  m_graph = std::move(graph);
  m_hint.clear();
  render();
}

void AnswerView::setHint(const QString& text) {
  m_hint = text;
  render();
}

QString AnswerView::linked(const QString& text) const {
  const auto links = m_graph ? answerLinks(text, *m_graph) : std::vector<AnswerLink>();
  QStringList hrefs;
  for (const AnswerLink& link : links)
    hrefs << QString::fromLatin1(QUrl::toPercentEncoding(link.target, ":/"));
  return linkedHtml(text, links, hrefs);
}

QString AnswerView::inputHtml(const FindingAnswer::Input& input) const {
  const auto counted = [](const QString& number, const QString& what) {
    const bool wrong = number != "0" && number != "?";
    return QStringLiteral("<span class='%1'>%2&nbsp;%3</span>").arg(wrong ? "wrong" : "muted", number, what);
  };
  return QStringLiteral(
             "%1 <span class='muted'>rank&nbsp;%2:</span> %3, %4<span class='muted'>, "
             "mean&nbsp;&#8288;|&#8288;x&#8288;|&nbsp;%5, max&nbsp;%6</span>")
      .arg(linked(input.tensor), input.rank, counted(input.nan, "NaN"), counted(input.inf, "Inf"),
           input.meanAbs, input.max);
}

QString AnswerView::rowsHtml() const {
  QString html;
  for (const FindingAnswer::Row& r : m_answer.rows) {
    const bool code = r.label == "where" || r.label == "in";
    html += row(r.label,
                code ? QStringLiteral("<span class='code'>%1</span>").arg(linked(r.text)) : linked(r.text));
  }
  QString label = QStringLiteral("inputs");
  for (const FindingAnswer::Input& input : m_answer.inputs)
    html += row(std::exchange(label, {}), inputHtml(input));
  label = QStringLiteral("then");
  for (const QString& sentence : m_answer.then) html += row(std::exchange(label, {}), linked(sentence));
  if (!m_answer.advice.isEmpty()) html += row(QStringLiteral("advice"), escaped(m_answer.advice));
  return html.isEmpty()
             ? QString()
             : "<table cellspacing='0' cellpadding='0' style='margin-top: 4px; margin-bottom: 4px'>" + html +
                   "</table>";
}

void AnswerView::render() {
  if (!m_hint.isEmpty()) {
    setHtml(QStringLiteral("<p class='muted'>%1</p>").arg(escaped(m_hint)));
    return;
  }
  using Kind = FindingAnswer::Kind;
  const QString headline = escaped(m_answer.headline);
  const bool good = m_answer.kind == Kind::kNoFault && m_answer.whole && !m_answer.hints;
  const QString title =
      m_answer.kind == Kind::kFault
          ? QStringLiteral("<a href='first'>%1</a>").arg(headline)
          : QStringLiteral("<span class='%1'>%2</span>").arg(good ? "good" : "hint", headline);
  const QString state =
      QStringLiteral("<span class='%1'>%2</span>")
          .arg(m_answer.whole ? (good ? "good" : "muted") : "hint", escaped(m_answer.runState));
  QString html = QStringLiteral("<p class='headline'>%1; %2</p>%3").arg(title, state, rowsHtml());
  for (const FindingAnswer::Damage& damage : m_answer.damage) html += damageHtml(damage);
  for (const QString& note : m_answer.notes)
    html += QStringLiteral("<div class='muted'>%1</div>").arg(escaped(note));
  setHtml(html);
  verticalScrollBar()->setValue(0);
}

}  // namespace msdbg::app
