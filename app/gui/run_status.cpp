#include "app/gui/run_status.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QToolButton>

#include "app/presenters/findings/finding_text.h"
#include "replay/describe.h"

namespace msdbg::app {
namespace {

constexpr const char* kInterrupted =
    "Nobody is recording any more, and nobody has said how the run ended: the recorder was killed, or its "
    "machine went down. What was committed is here.";

QString counted(std::size_t count, const char* noun) {
  return QString::fromStdString(replay::counted(static_cast<std::int64_t>(count), noun));
}

// What the check says in half a line; the findings panel says it all.
QString checkText(const Findings& findings) {
  using State = Findings::State;
  switch (findings.state()) {
    case State::kNone:
      return "not checked yet";
    case State::kChecking:
      return "checking";
    case State::kCancelled:
      return "check cancelled (F5 checks again)";
    case State::kFailed:
      return "check failed";
    case State::kDone:
      break;
  }
  const watch::CheckReport& report = *findings.report();
  const QString due = findings.stale() ? ", watchpoints changed (F5 checks again)" : "";
  const replay::Verdict verdict = findings.verdict();
  const QString unread = verdict.unread.empty() ? "" : " · " + QString::fromStdString(verdict.unread);
  const QString hints = verdict.hints.empty() ? "" : ", " + countsText(findings.counts());
  if (report.hits.empty())
    return (report.evaluated > 0 ? QString::fromStdString(verdict.found) + hints
                                 : QString("nothing could be checked")) +
           unread + due;
  return countsText(findings.counts()) + unread + due;
}

}  // namespace

QString runSummary(const RunFacts& facts) {
  const QString ranks = " · " + counted(facts.ranks.size(), "rank");
  if (facts.recording)
    return (facts.allIterations.empty()
                ? QString("recording… no iteration yet")
                : QString("recording… iteration %1").arg(facts.iterationText(facts.allIterations.back()))) +
           ranks;
  const QString text = facts.endless() ? "interrupted" : QString::fromStdString(facts.end.state);
  return text + " · " + counted(facts.allIterations.size(), "iteration") + ranks;
}

RunStatus::RunStatus(QWidget* parent)
    : QWidget(parent),
      m_run(new QLabel(this)),
      m_check(new QLabel(this)),
      m_progress(new QProgressBar(this)),
      m_cancel(new QToolButton(this)) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 6, 0);
  row->setSpacing(10);
  m_check->setObjectName("checkState");
  m_run->setObjectName("runState");
  m_run->setTextFormat(Qt::PlainText);  // the state is what run.json says
  m_progress->setObjectName("checkProgress");
  m_progress->setRange(0, 100);
  m_progress->setFixedWidth(120);
  m_progress->setMaximumHeight(fontMetrics().height());
  m_progress->setAccessibleName("Progress of the check");
  m_cancel->setText("Cancel");
  m_cancel->setAutoRaise(true);
  m_cancel->setToolTip("Cancel the check (Shift+F5)");
  connect(m_cancel, &QToolButton::clicked, this, [this] {
    if (m_document) m_document->findings().cancel();
  });
  for (QWidget* widget : {static_cast<QWidget*>(m_check), static_cast<QWidget*>(m_progress),
                          static_cast<QWidget*>(m_cancel), static_cast<QWidget*>(m_run)})
    row->addWidget(widget);
  setDocument(nullptr);
}

void RunStatus::showRun() {
  const RunFacts* facts = m_document ? &m_document->facts() : nullptr;
  m_run->setText(facts ? runSummary(*facts) : QString());
  const bool interrupted = facts && !facts->recording && facts->endless();
  m_run->setToolTip(interrupted ? kInterrupted
                    : facts     ? QString::fromStdString(facts->end.message)
                                : QString());
}

void RunStatus::setDocument(Document* document) {
  if (m_document) m_document->disconnect(this);
  m_document = document;
  showRun();
  if (document) {
    connect(document, &Document::grew, this, &RunStatus::showRun);
    connect(&document->findings(), &Findings::changed, this, &RunStatus::showCheck);
    connect(&document->findings(), &Findings::progressed, this,
            [this](double share) { m_progress->setValue(static_cast<int>(share * 100)); });
  }
  showCheck();
}

void RunStatus::showCheck() {
  const bool checking = m_document && m_document->findings().state() == Findings::State::kChecking;
  m_check->setText(m_document ? checkText(m_document->findings()) : QString());
  m_progress->setVisible(checking);
  m_cancel->setVisible(checking);
  if (checking) m_progress->setValue(static_cast<int>(m_document->findings().progress() * 100));
}

}  // namespace msdbg::app
