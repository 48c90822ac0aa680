#include "app/panels/answer/answer_panel.h"

#include <QClipboard>
#include <QEvent>
#include <QFontDatabase>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QRegularExpression>
#include <QScrollBar>
#include <QShortcut>
#include <QStackedWidget>
#include <QTextBrowser>
#include <QToolButton>
#include <QUrl>

#include "app/panels/builtin_panels.h"
#include "app/presenters/answer/questions.h"
#include "graph_view/scene/look.h"

namespace msdbg::app {
namespace {

using Asked = Questions::Asked;

constexpr int kHits = 3;  // exit status: differences or hits were found

QLabel* label(const char* name) {
  auto* label = new QLabel;
  label->setObjectName(name);
  label->setTextFormat(Qt::PlainText);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  label->setWordWrap(true);
  return label;
}

QString stateText(const Questions& questions, const Asked& asked) {
  const QString seconds = QObject::tr("%1 s").arg(static_cast<double>(asked.ms) / 1000, 0, 'f', 1);
  if (asked.state == Asked::State::kRunning)
    return questions.progress().isEmpty() ? QObject::tr("asking…") : questions.progress();
  if (asked.state == Asked::State::kCancelled) return QObject::tr("cancelled after %1").arg(seconds);
  switch (asked.reply.exitStatus) {
    case 0:
      return QObject::tr("answered in %1").arg(seconds);
    case kHits:
      return QObject::tr("answered in %1: something is different or wrong").arg(seconds);
    case Reply::kNoStatus:
      return QObject::tr("no answer");
    default:
      return QObject::tr("no answer, or not a whole one (exit status %1)").arg(asked.reply.exitStatus);
  }
}

QString htmlOf(const Asked& asked) {
  std::vector<AnswerLink> links;
  QStringList hrefs;
  for (const PlacedLink& placed : asked.links) {
    hrefs << QString::number(links.size());
    links.push_back(placed.link);
  }
  const QString cut =
      asked.reply.cut ? QObject::tr("… and more: run the command in a terminal to see it all") : QString();
  return "<pre>" + linkedHtml(asked.text, links, hrefs) + cut.toHtmlEscaped() + "</pre>";
}

}  // namespace

AnswerPanel::AnswerPanel(QWidget* parent) : Panel(parent) {
  m_hint = label("answerHint");
  m_hint->setAlignment(Qt::AlignCenter);
  m_state = label("answerState");
  m_problem = label("answerProblem");
  m_text = new QTextBrowser;
  m_text->setObjectName("answerText");
  m_text->setAccessibleName(tr("Answer"));
  m_text->setOpenLinks(false);
  m_text->setFrameShape(QFrame::NoFrame);
  m_text->setLineWrapMode(QTextEdit::NoWrap);
  m_text->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  connect(m_text, &QTextBrowser::anchorClicked, this, &AnswerPanel::follow);
  auto* body = new QWidget;
  auto* layout = new QVBoxLayout(body);
  layout->setContentsMargins(8, 6, 8, 6);
  layout->setSpacing(4);
  layout->addWidget(makeBar());
  layout->addWidget(m_state);
  layout->addWidget(m_problem);
  layout->addWidget(m_text, 1);
  m_stack = new QStackedWidget;
  m_stack->addWidget(m_hint);
  m_stack->addWidget(body);
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->addWidget(m_stack);
  connect(new QShortcut(Qt::Key_Escape, this, nullptr, nullptr, Qt::WidgetWithChildrenShortcut),
          &QShortcut::activated, this, [this] {
            if (m_document) m_document->questions().cancel();
          });
  refresh();
}

QToolButton* AnswerPanel::addButton(const char* name, const QString& text, const QString& tip) {
  auto* button = new QToolButton;
  button->setObjectName(name);
  button->setText(text);
  button->setToolTip(tip);
  button->setAccessibleName(tip);
  return button;
}

QWidget* AnswerPanel::makeBar() {
  m_back = addButton("answerBack", "◀", tr("The question before this one"));
  m_forward = addButton("answerForward", "▶", tr("The next question"));
  m_copy = addButton("answerCopy", tr("Copy"), tr("Copy the command, to run it in a terminal"));
  m_again = addButton("answerCancel", tr("Cancel"), tr("Cancel (Esc), or ask once more"));
  m_command = new QLineEdit;
  m_command->setObjectName("answerCommand");
  m_command->setAccessibleName(tr("The question as a command"));
  m_command->setReadOnly(true);
  m_command->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  connect(m_back, &QToolButton::clicked, this, [this] { m_document->questions().goBack(); });
  connect(m_forward, &QToolButton::clicked, this, [this] { m_document->questions().goForward(); });
  connect(m_copy, &QToolButton::clicked, this, &AnswerPanel::copyCommand);
  connect(m_again, &QToolButton::clicked, this, &AnswerPanel::cancelOrAskAgain);
  auto* bar = new QWidget;
  auto* layout = new QHBoxLayout(bar);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(4);
  for (QToolButton* button : {m_back, m_forward}) layout->addWidget(button);
  layout->addWidget(m_command, 1);
  for (QToolButton* button : {m_copy, m_again}) layout->addWidget(button);
  return bar;
}

void AnswerPanel::setDocument(Document* document) {
  if (m_document) m_document->questions().disconnect(this);
  m_document = document;
  if (document) {
    connect(&document->questions(), &Questions::changed, this, &AnswerPanel::refresh);
    connect(&document->questions(), &Questions::progressed, this, &AnswerPanel::showState);
  }
  refresh();
}

void AnswerPanel::refresh() {
  const Asked* asked = m_document ? m_document->questions().shown() : nullptr;
  m_stack->setCurrentIndex(asked ? 1 : 0);
  m_hint->setText(m_document ? tr("Ask “Why this value?” of a cell in the Tensor panel (W), “History of this "
                                  "element” (H), or “Prove this iteration” in the menu Check. The answer is "
                                  "shown here.")
                             : tr("No run is open."));
  if (!asked) return;
  m_back->setEnabled(m_document->questions().canGoBack());
  m_forward->setEnabled(m_document->questions().canGoForward());
  m_command->setText(asked->command);
  m_command->setToolTip(asked->command);
  m_command->setCursorPosition(0);
  showState();
  showText();
}

void AnswerPanel::showState() {
  const Asked* asked = m_document ? m_document->questions().shown() : nullptr;
  if (!asked) return;
  const bool running = asked->state == Asked::State::kRunning;
  const graphview::Look look = graphview::lookOf(palette());
  const auto colour = [this](QLabel* label, const QColor& color) {
    QPalette own = palette();
    own.setColor(QPalette::WindowText, color);
    label->setPalette(own);
  };
  const bool answered = asked->state == Asked::State::kAnswered;
  const int status = asked->reply.exitStatus;
  colour(m_state, answered && status == 0 ? look.good : answered ? look.hint : look.mutedText);
  colour(m_problem, status == 0 || status == kHits ? look.hint : look.fault);
  m_state->setText(asked->name + " · " + stateText(m_document->questions(), *asked));
  m_problem->setText(asked->reply.problem);
  m_problem->setVisible(!asked->reply.problem.isEmpty());
  m_again->setText(running ? tr("Cancel") : tr("Ask again"));
}

void AnswerPanel::showText() {
  const QString link = palette().color(QPalette::Link).name();
  m_text->document()->setDefaultStyleSheet(
      QStringLiteral("pre { margin: 0px; } .place { color: %1; text-decoration: none; }").arg(link));
  m_text->setHtml(htmlOf(*m_document->questions().shown()));
  showConclusion();
}

// A long way back ends in what was asked for.
void AnswerPanel::showConclusion() {
  static const QRegularExpression kConclusion(QStringLiteral("^WHY: "));
  const QTextCursor found = m_text->document()->find(kConclusion);
  if (found.isNull()) return;
  const int top = m_text->cursorRect(found).top() + m_text->verticalScrollBar()->value();
  m_text->verticalScrollBar()->setValue(top - m_text->viewport()->height() / 2);
}

void AnswerPanel::copyCommand() {
  QGuiApplication::clipboard()->setText(command());
  emit status(tr("copied: %1").arg(command()));
}

void AnswerPanel::cancelOrAskAgain() {
  Questions& questions = m_document->questions();
  const Asked* asked = questions.shown();
  if (asked && asked->state == Asked::State::kRunning)
    questions.cancel();
  else
    questions.askAgain();
}

void AnswerPanel::follow(const QUrl& url) {
  Questions& questions = m_document->questions();
  const auto number = static_cast<std::size_t>(url.toString().toULongLong());
  const Asked* asked = questions.shown();
  if (!asked || number >= asked->links.size()) return;
  const AnswerLink link = asked->links[number].link;
  if (!questions.follow(number))
    emit status(tr("%1 is not in this run").arg(asked->text.mid(link.start, link.length)));
  else if (const QString panel = panelOfLink(link.target); !panel.isEmpty())
    emit panelWanted(panel);
}

QString AnswerPanel::command() const {
  const Asked* asked = m_document ? m_document->questions().shown() : nullptr;
  return asked ? asked->command : QString();
}

void AnswerPanel::takeFocus() { m_text->setFocus(Qt::ShortcutFocusReason); }

bool AnswerPanel::settled() const { return !m_document || !m_document->questions().running(); }

void AnswerPanel::changeEvent(QEvent* event) {
  Panel::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) refresh();
}

PanelDef answerPanel() {
  return {.id = "answer",
          .title = "Answer",
          .area = Qt::BottomDockWidgetArea,
          .shortcut = (Qt::CTRL | Qt::Key_6).toCombined(),
          .make = [](QWidget* parent) -> Panel* { return new AnswerPanel(parent); },
          .keys = {{"Esc", "cancel the question"}, {"Tab, Enter", "from link to link, and follow it"}}};
}

}  // namespace msdbg::app
