#include "app/gui/main_window.h"

#include <QAction>
#include <QCloseEvent>
#include <QDir>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QLabel>
#include <QMimeData>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTimer>
#include <QVBoxLayout>

#include "app/gui/icons.h"
#include "app/gui/message_bar.h"
#include "app/gui/recent_runs.h"
#include "app/gui/run_status.h"
#include "app/gui/start_page.h"
#include "app/presenters/answer/questions.h"
#include "app/presenters/findings/finding_text.h"
#include "app/presenters/place_json.h"

namespace msdbg::app {
namespace {

constexpr auto kPlace = "place", kPanels = "panels";
constexpr int kMessageMs = 8000, kMostLevels = 3, kAwaitMs = 500;
constexpr QSize kFirstSize(1280, 800);

// A run folder, or what is in one (a segment lies two levels below it), as file managers drop it.
QString droppedRun(const QMimeData& data) {
  if (data.urls().size() != 1 || !data.urls().first().isLocalFile()) return {};
  const QString dropped = data.urls().first().toLocalFile();
  QDir folder(QFileInfo(dropped).isDir() ? dropped : QFileInfo(dropped).absolutePath());
  const QString nearest = folder.absolutePath();
  for (int level = 0; level < kMostLevels; ++level) {
    if (folder.exists("run.json") && !folder.exists("journal"))
      return folder.absolutePath();  // no rank's copy
    if (!folder.cdUp()) break;
  }
  return nearest;
}

// What fits above the panels: one file a line. The words of what found it are for the tool tip.
struct DamageMessage {
  QStringList lines, details;
};

DamageMessage damageMessage(const std::vector<replay::Damage>& damage) {
  DamageMessage message;
  for (const FindingAnswer::Damage& found : damageTexts(damage)) {
    message.lines << found.text;
    if (!found.detail.isEmpty()) message.details << found.text + ": " + found.detail;
  }
  return message;
}

}  // namespace

struct MainWindow::Opening {
  std::unique_ptr<Document> document;
  StartPlace start;
};

MainWindow::MainWindow(ThemeController& theme, Keep keep, QWidget* parent)
    : QMainWindow(parent),
      m_theme(theme),
      m_keep(keep),
      m_pages(new QStackedWidget(this)),
      m_startPage(new StartPage(this)),
      m_messages(new MessageBar(this)),
      m_runStatus(new RunStatus(this)),
      m_await(new QTimer(this)) {
  setObjectName("mainWindow");
  setWindowTitle("msdbg");
  setWindowIcon(programIcon());
  setAcceptDrops(true);
  m_pages->addWidget(m_startPage);
  auto* frame = new QWidget(this);
  auto* column = new QVBoxLayout(frame);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(m_messages);
  column->addWidget(m_pages, 1);
  setCentralWidget(frame);
  connect(m_startPage, &StartPage::runChosen, this, [this](const QString& path) { openRun(path); });
  connect(m_startPage, &StartPage::openWanted, this, &MainWindow::chooseRun);
  m_await->setSingleShot(true);
  resize(kFirstSize);
  makeActions();
  makePanels();
  makeMenus();
  makeToolBar();
  statusBar()->addPermanentWidget(m_runStatus);
  defaultLayout();
  restoreLayout();
  showWorkspace(false);
}

MainWindow::~MainWindow() { dropDocument(); }

Panel* MainWindow::panel(const QString& id) const {
  for (const auto& [name, panel] : m_panels)
    if (name == id) return panel;
  return nullptr;
}

QString MainWindow::message() const { return m_document ? m_messages->message() : m_startPage->message(); }

bool MainWindow::settled() const {
  if (m_opening || m_await->isActive()) return false;
  for (const auto& [name, panel] : m_panels)
    if (!panel->settled()) return false;
  return true;
}

void MainWindow::openRun(const QString& path, const StartPlace& start) {
  const QString full = QDir::cleanPath(QDir().absoluteFilePath(path));
  abandonOpening();
  m_opening = std::make_unique<Opening>();
  m_opening->start = start;
  m_opening->document = std::make_unique<Document>(std::filesystem::path(full.toStdString()));
  Document* document = m_opening->document.get();
  say("opening " + full + " …");
  connect(document, &Document::opened, this, &MainWindow::opened);
  connect(document, &Document::failed, this,
          [this, full](const QString& message) { openingFailed(full, message); });
  connect(document, &Document::tooEarly, this,
          [this, full, start](const QString& message) { awaitRun(full, start, message); });
}

void MainWindow::openingFailed(const QString& path, const QString& message) {
  m_opening->document.release()->deleteLater();  // it is the one that calls
  m_opening.reset();
  statusBar()->clearMessage();
  if (m_document)
    m_messages->say("cannot open " + path + ": " + message);
  else
    m_startPage->setMessage(message);
  emit runFailed(message);
}

// Tried again until it can be opened, or something else is.
void MainWindow::awaitRun(const QString& path, const StartPlace& start, const QString& message) {
  m_opening->document.release()->deleteLater();
  m_opening.reset();
  const QString waiting = "waiting for the graph of " + path + " …";
  say(waiting);
  if (!m_document) m_startPage->setMessage(waiting);
  m_await->disconnect();
  connect(m_await, &QTimer::timeout, this, [this, path, start] { openRun(path, start); });
  m_await->start(kAwaitMs);
  emit runAwaited(message);
}

// Waiting for a slow disk would hold the window up: what nobody waits for any more ends by itself.
void MainWindow::abandonOpening() {
  m_await->stop();
  if (!m_opening) return;
  Document* document = m_opening->document.release();
  m_opening.reset();
  document->disconnect(this);
  document->setParent(this);
  connect(document, &Document::opened, document, &QObject::deleteLater);
  connect(document, &Document::failed, document, &QObject::deleteLater);
  connect(document, &Document::tooEarly, document, &QObject::deleteLater);
}

// The new run takes the old one's place.
void MainWindow::opened() {
  dropDocument();
  const std::unique_ptr<Opening> opening = std::move(m_opening);
  m_document = std::move(opening->document);
  const RunFacts& facts = m_document->facts();
  connect(&m_document->session(), &SessionStore::failed, this, &MainWindow::say);
  if (m_keep == Keep::kSessions) addRecentRun(QString::fromStdString(facts.path.string()));
  setWindowTitle(QString::fromStdString(facts.path.filename().string()) + " — msdbg");
  setWindowFilePath(QString::fromStdString(facts.path.string()));
  showWorkspace(true);
  statusBar()->clearMessage();
  for (const auto& [name, panel] : m_panels) panel->setDocument(m_document.get());
  m_runStatus->setDocument(m_document.get());
  restoreSession();
  if (opening->start.any()) startAt(opening->start);
  panel("graph")->takeFocus();
  connectDocument();
  runGrew();
  m_document->findings().recheck();
  emit runOpened();
}

// The document has restored its watchpoints itself.
void MainWindow::restoreSession() {
  DamageMessage damage = damageMessage(m_document->facts().damage);
  m_damageSaid = m_document->facts().damage.size();
  const SessionStore& session = m_document->session();
  if (!session.problem().isEmpty()) damage.lines << session.problem();
  m_messages->say(damage.lines.join("\n"), damage.details.join("\n"));
  m_followFirst = m_keep == Keep::kForget || !session.hasPlace();
  m_faultKnown = false;
  m_document->setFollowing(m_actions.at("followRecording")->isChecked());
  if (m_followFirst && isFollowing()) m_document->cursor().follow();
  if (m_keep == Keep::kForget) return;
  for (const auto& [name, panel] : m_panels) panel->restore(session.object(kPanels)[name].toObject());
  if (session.hasPlace()) m_document->cursor().moveTo(placeFrom(m_document->graph(), session.object(kPlace)));
}

void MainWindow::startAt(const StartPlace& start) {
  m_followFirst = false;
  auto place = resolveStart(m_document->facts(), start);
  if (place.ok()) {
    m_document->cursor().moveTo(std::move(*place));
    return;
  }
  const QString message = QString::fromStdString(place.error().message());
  const QString before = m_messages->message();
  m_messages->say(before.isEmpty() ? message : message + "\n" + before);
  emit startFailed(message);
}

void MainWindow::connectDocument() {
  connect(&m_document->cursor(), &Cursor::moved, this, [this] {
    if (!m_document->growing()) m_followFirst = false;
    placeChanged();
  });
  connect(&m_document->findings(), &Findings::changed, this, &MainWindow::checkChanged);
  connect(&m_document->questions(), &Questions::offersChanged, this, &MainWindow::offersChanged);
  connect(m_document.get(), &Document::grew, this, &MainWindow::runGrew);
  connect(&m_document->cursor(), &Cursor::moved, this, &MainWindow::keepPlace);
  connect(m_document.get(), &Document::newerGraph, this, &MainWindow::reload, Qt::QueuedConnection);
  connect(m_document.get(), &Document::lost, m_messages,
          [this](const QString& message) { m_messages->say(message); });
  placeChanged();
  offersChanged();
}

bool MainWindow::isFollowing() const { return m_document->following() && m_document->facts().recording; }

// What a run that is being recorded has more of: its iterations, its end, damage.
void MainWindow::runGrew() {
  const RunFacts& facts = m_document->facts();
  m_actions.at("followRecording")->setEnabled(facts.recording);
  if (facts.damage.size() > m_damageSaid) {
    const DamageMessage damage = damageMessage(facts.damage);
    m_messages->say(damage.lines.join("\n"), damage.details.join("\n"));
  }
  m_damageSaid = facts.damage.size();
  placeChanged();
}

// Where the run first went wrong, unless the user has looked elsewhere meanwhile. When a run that is being
// recorded goes wrong later, it is said.
void MainWindow::checkChanged() {
  Findings& findings = m_document->findings();
  const bool answered = findings.state() == Findings::State::kDone;
  if (answered && findings.report()->first) {
    if (m_followFirst)
      goToFirstFinding();
    else if (!m_faultKnown && findings.reportNumber() > 1)
      say(QString("something went wrong in iteration %1: F7 goes there")
              .arg(m_document->facts().iterationText(findings.report()->first->iteration)));
    m_faultKnown = true;
  }
  if (answered) m_followFirst = false;
  placeChanged();
}

// At every step: a window that is killed begins again where it was.
void MainWindow::keepPlace() {
  if (m_keep == Keep::kForget || m_followFirst) return;
  m_document->session().set(kPlace, placeJson(m_document->graph(), m_document->cursor().place()));
}

void MainWindow::keepSession() {
  if (m_keep == Keep::kForget) return;
  SessionStore& session = m_document->session();
  QJsonObject panels;
  for (const auto& [name, panel] : m_panels)
    if (const QJsonObject state = panel->state(); !state.isEmpty()) panels[name] = state;
  session.set(kPanels, panels);
  session.set(kPlace, placeJson(m_document->graph(), m_document->cursor().place()));
  session.save();
}

void MainWindow::dropDocument() {
  if (!m_document) return;
  keepSession();
  for (const auto& [name, panel] : m_panels) panel->setDocument(nullptr);
  m_runStatus->setDocument(nullptr);
  m_document.reset();  // waits until the session is written
}

void MainWindow::closeRun() {
  dropDocument();
  setWindowTitle("msdbg");
  setWindowFilePath({});
  m_messages->say({});
  m_startPage->setMessage({});
  m_startPage->refresh();
  showWorkspace(false);
}

void MainWindow::say(const QString& message) { statusBar()->showMessage(message, kMessageMs); }

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (!droppedRun(*event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  const QString run = droppedRun(*event->mimeData());
  if (run.isEmpty()) return;
  event->acceptProposedAction();
  openRun(run);
}

void MainWindow::changeEvent(QEvent* event) {
  QMainWindow::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) tintIcons();
}

}  // namespace msdbg::app
