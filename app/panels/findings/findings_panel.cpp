#include "app/panels/findings/findings_panel.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QSplitter>
#include <QTreeView>

#include "app/panels/builtin_panels.h"
#include "app/panels/findings/answer_view.h"
#include "app/panels/findings/hit_list.h"
#include "app/panels/findings/watchpoint_section.h"
#include "app/panels/place_menu.h"
#include "app/presenters/findings/answer_links.h"

namespace msdbg::app {
namespace {

const QString kOpen = QStringLiteral("watchpoints_open"), kFaults = QStringLiteral("faults"),
              kHints = QStringLiteral("hints"), kSplitter = QStringLiteral("splitter");
const QList<int> kFirstSizes = {160, 140, 30};

}  // namespace

FindingsPanel::FindingsPanel(QWidget* parent)
    : Panel(parent),
      m_top(new QWidget(this)),
      m_status(new QLabel(this)),
      m_progress(new QProgressBar(this)),
      m_recheck(new QPushButton(QStringLiteral("Recheck"), this)),
      m_cancel(new QPushButton(QStringLiteral("Cancel"), this)),
      m_notice(new QLabel(this)),
      m_splitter(new QSplitter(Qt::Vertical, this)),
      m_answer(new AnswerView(this)),
      m_hits(new HitList(this)),
      m_watchpoints(new WatchpointSection(this)) {
  makeLayout();
  connect(m_recheck, &QPushButton::clicked, this, [this] { m_document->findings().recheck(); });
  connect(m_cancel, &QPushButton::clicked, this, [this] { m_document->findings().cancel(); });
  connect(m_answer, &AnswerView::linkClicked, this, &FindingsPanel::followAnswer);
  connect(m_hits, &HitList::hitChosen, this,
          [this](std::size_t hit) { goTo(m_document->findings().hits()[hit]); });
  connect(m_hits, &HitList::menuAsked, this, &FindingsPanel::showHitMenu);
  connect(m_watchpoints, &WatchpointSection::openChanged, this, [this](bool open) {
    const int height = m_splitter->height();
    if (open)
      m_splitter->setSizes({height / 5, height * 2 / 5, height - height / 5 - height * 2 / 5});
    else
      m_splitter->setSizes(kFirstSizes);
  });
  applyLook();
  setDocument(nullptr);
}

void FindingsPanel::makeLayout() {
  m_status->setObjectName(QStringLiteral("findingsStatus"));
  m_progress->setObjectName(QStringLiteral("checkProgress"));
  m_progress->setAccessibleName(QStringLiteral("Progress of the check"));
  m_progress->setRange(0, 1000);
  m_progress->setTextVisible(false);
  m_progress->setFixedHeight(8);
  m_progress->setMinimumWidth(30);
  m_recheck->setObjectName(QStringLiteral("recheckButton"));
  m_recheck->setToolTip(QStringLiteral("Check the run with the watchpoints below"));
  m_cancel->setObjectName(QStringLiteral("cancelCheckButton"));
  m_notice->setObjectName(QStringLiteral("findingsNotice"));
  m_notice->setWordWrap(true);
  m_notice->setTextFormat(Qt::PlainText);
  m_notice->setContentsMargins(8, 0, 8, 4);

  auto* top = new QHBoxLayout(m_top);
  top->setContentsMargins(8, 6, 8, 4);
  top->setSpacing(6);
  top->addWidget(m_status);
  top->addWidget(m_progress, 1);
  top->addStretch(0);
  top->addWidget(m_cancel);
  top->addWidget(m_recheck);
  m_splitter->addWidget(m_answer);
  m_splitter->addWidget(m_hits);
  m_splitter->addWidget(m_watchpoints);
  m_splitter->setChildrenCollapsible(false);
  for (int part = 0; part < m_splitter->count(); ++part) m_splitter->setStretchFactor(part, 1);
  m_splitter->setSizes(kFirstSizes);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(m_top);
  layout->addWidget(m_notice);
  layout->addWidget(m_splitter, 1);
}

void FindingsPanel::setDocument(Document* document) {
  if (m_document) {
    m_document->findings().disconnect(this);
    disconnect(&m_document->findings(), &Findings::watchWanted, m_watchpoints, nullptr);
    m_document->cursor().disconnect(this);
  }
  m_document = document;
  m_shownReport = -1;
  Findings* findings = document ? &document->findings() : nullptr;
  m_hits->setFindings(findings, document ? document->sharedFacts() : nullptr);
  if (document)
    connect(document, &Document::grew, m_hits,
            [this, document] { m_hits->setFacts(document->sharedFacts()); });
  m_watchpoints->setFindings(findings);
  if (document) {
    connect(findings, &Findings::changed, this, &FindingsPanel::refresh);
    connect(findings, &Findings::progressed, this, &FindingsPanel::showState);
    connect(findings, &Findings::watchWanted, m_watchpoints, &WatchpointSection::watch);
    connect(&document->cursor(), &Cursor::moved, this,
            [this] { m_hits->follow(m_document->cursor().place()); });
  }
  refresh();
}

void FindingsPanel::refresh() {
  showState();
  const int report = m_document ? m_document->findings().reportNumber() : -1;
  if (m_document && report > 0 && report == m_shownReport) return;
  m_shownReport = report;
  showAnswer();
}

void FindingsPanel::showState() {
  using State = Findings::State;
  const Findings* findings = m_document ? &m_document->findings() : nullptr;
  const State state = findings ? findings->state() : State::kNone;
  const bool checking = state == State::kChecking, stale = findings && findings->stale();
  m_cancel->setVisible(checking);
  m_progress->setVisible(checking);
  m_top->setVisible(state != State::kDone || stale);  // else it has nothing to say: room for the answer
  m_recheck->setVisible(!checking);
  m_recheck->setEnabled(findings && stale);
  QString status, notice;
  if (checking) {
    m_progress->setValue(static_cast<int>(1000 * findings->progress()));
    status = QStringLiteral("checking… %1 %").arg(static_cast<int>(100 * findings->progress()));
    if (stale) notice = QStringLiteral("The watchpoints have changed since this check began.");
  } else if (state == State::kFailed) {
    status = QStringLiteral("the check failed");
    notice = findings->error();
  } else if (state == State::kCancelled) {
    status = QStringLiteral("cancelled");
    notice = findings->report() ? QStringLiteral("What is shown is of the check before.") : QString();
  } else if (state == State::kDone) {
    status = QStringLiteral("checked");
    if (stale) notice = QStringLiteral("The watchpoints have changed: what is shown is of the old ones.");
  } else if (findings) {
    status = QStringLiteral("not checked yet");
  }
  m_status->setText(status);
  m_notice->setText(notice);
  m_notice->setVisible(!notice.isEmpty());
  highlightRecheck();
}

void FindingsPanel::showAnswer() {
  const bool reported = m_document && m_document->findings().report();
  m_hits->setVisible(m_document && !m_document->findings().hits().empty());
  if (!m_document)
    m_answer->setHint(QStringLiteral("Open a run to see what is wrong in it."));
  else if (!reported)
    m_answer->setHint(QStringLiteral("What the check finds will be shown here."));
  else
    m_answer->setAnswer(answerOf(m_document->findings(), m_document->facts()), m_document->facts().graph);
  if (m_document) m_hits->follow(m_document->cursor().place());
}

void FindingsPanel::followAnswer(const QString& target) {
  const watch::CheckReport* report = m_document->findings().report();
  if (target == AnswerView::kFirst) {
    if (report && report->first) goTo(*report->first);
    return;
  }
  if (!followLink(target, *m_document))
    emit status(QStringLiteral("%1 is not in this run").arg(target.section(':', 1)));
  else if (const QString panel = panelOfLink(target); !panel.isEmpty())
    emit panelWanted(panel);
}

void FindingsPanel::showHitMenu(std::size_t hit, const QPoint& at) {
  const Findings& findings = m_document->findings();
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->setObjectName(QStringLiteral("hitMenu"));
  addPlaceActions(*menu, *this, *m_document, findings.placeOf(findings.hits()[hit]));
  menu->popup(at);
}

void FindingsPanel::goTo(const watch::Hit& hit) {
  m_document->cursor().moveTo(m_document->findings().placeOf(hit));
}

QString FindingsPanel::command() const {
  return m_document ? checkCommand(m_document->runArgument(), m_document->findings()) : QString();
}

void FindingsPanel::takeFocus() {
  QWidget* first = m_hits->isVisible() ? static_cast<QWidget*>(m_hits->view()) : m_answer;
  first->setFocus(Qt::ShortcutFocusReason);
}

QJsonObject FindingsPanel::state() const {
  return {{kOpen, m_watchpoints->isOpen()},
          {kFaults, m_hits->faultsShown()},
          {kHints, m_hits->hintsShown()},
          {kSplitter, QString::fromLatin1(m_splitter->saveState().toBase64())}};
}

void FindingsPanel::restore(const QJsonObject& state) {
  m_watchpoints->setOpen(state.value(kOpen).toBool());
  m_hits->setShown(state.value(kFaults).toBool(true), state.value(kHints).toBool(true));
  m_splitter->restoreState(QByteArray::fromBase64(state.value(kSplitter).toString().toLatin1()));
}

bool FindingsPanel::settled() const {
  return !m_document || m_document->findings().state() != Findings::State::kChecking;
}

// The button that has something to do stands out.
void FindingsPanel::highlightRecheck() {
  QPalette button = palette();
  if (m_recheck->isEnabled()) {
    button.setColor(QPalette::Button, palette().color(QPalette::Highlight));
    button.setColor(QPalette::ButtonText, palette().color(QPalette::HighlightedText));
  }
  m_recheck->setPalette(button);
}

void FindingsPanel::applyLook() {
  const graphview::Look look = graphview::lookOf(palette());
  highlightRecheck();
  const auto colour = [this](QLabel* label, const QColor& color) {
    QPalette own = palette();
    own.setColor(QPalette::WindowText, color);
    label->setPalette(own);
  };
  colour(m_status, look.mutedText);
  colour(m_notice, look.hint);
  m_answer->setLook(look);
  m_hits->setLook(look);
  m_watchpoints->setLook(look);
}

void FindingsPanel::changeEvent(QEvent* event) {
  Panel::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) applyLook();
}

PanelDef findingsPanel() {
  return {.id = "findings",
          .title = "Findings",
          .area = Qt::RightDockWidgetArea,
          .shortcut = (Qt::CTRL | Qt::Key_5).toCombined(),
          .make = [](QWidget* parent) -> Panel* { return new FindingsPanel(parent); },
          .keys = {{"Up, Down", "from hit to hit"}, {"Menu", "what can be done with a hit"}}};
}

}  // namespace msdbg::app
