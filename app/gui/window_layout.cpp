// How the window is put together: actions, menus, tool bar, docks, and what of it is kept.
#include <QActionGroup>
#include <QApplication>
#include <QCloseEvent>
#include <QDockWidget>
#include <QKeyEvent>
#include <QLabel>
#include <QLayout>
#include <QMenuBar>
#include <QSettings>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTabBar>
#include <QTableView>
#include <QToolBar>
#include <QTreeView>
#include <QVBoxLayout>

#include "app/gui/actions.h"
#include "app/gui/icons.h"
#include "app/gui/main_window.h"
#include "app/gui/panel_frame.h"
#include "app/gui/recent_runs.h"
#include "app/gui/run_status.h"
#include "app/panels/builtin_panels.h"
#include "app/presenters/findings/finding_text.h"

namespace msdbg::app {
namespace {

constexpr auto kGeometry = "window/geometry", kLayout = "window/layout";
constexpr int kLayoutVersion = 2;

// Shares of the window's width and height at first.
constexpr double kLeft = 0.27, kRight = 0.31, kBottom = 0.26, kFindings = 0.46;

QLabel* placeLabel(const char* name, QToolBar* bar) {
  auto* label = new QLabel(bar);
  label->setObjectName(name);
  label->setContentsMargins(6, 0, 6, 0);
  bar->addWidget(label);
  return label;
}

}  // namespace

void MainWindow::makeActions() {
  for (const WindowAction& row : windowActions()) {
    auto* action = new QAction(row.text, this);
    action->setObjectName(row.id);
    action->setShortcuts(row.keys);
    const QString key =
        row.keys.isEmpty() ? QString() : " (" + row.keys.first().toString(QKeySequence::NativeText) + ")";
    QString help = row.help;
    help[0] = help[0].toUpper();
    action->setToolTip(help + key);
    action->setCheckable(row.checkable);
    action->setChecked(row.checkable);
    connect(action, &QAction::triggered, this, row.run);
    addAction(action);
    m_actions[row.id] = action;
  }
  qApp->installEventFilter(this);
}

void MainWindow::makeMenus() {
  std::map<QString, QMenu*> menus;
  for (const WindowAction& row : windowActions()) {
    QMenu*& menu = menus[row.menu];
    if (!menu) menu = menuBar()->addMenu(row.menu);
    menu->setToolTipsVisible(true);
    menu->addAction(m_actions.at(row.id));
    if (m_actions.at(row.id)->objectName() != "open") continue;
    m_recent = menu->addMenu("Open &recent");
    connect(m_recent, &QMenu::aboutToShow, this, &MainWindow::fillRecentMenu);
  }
  QMenu* view = menus.at("&View");
  QAction* first = view->actions().first();
  for (const auto& [name, panel] : m_panels)
    if (const auto dock = m_docks.find(panel); dock != m_docks.end())
      view->insertAction(first, dock->second->toggleViewAction());
  view->insertSeparator(first);
  QMenu* theme = view->addMenu("&Theme");
  auto* group = new QActionGroup(theme);
  for (const auto& [text, value] :
       {std::pair("As the &desktop", Theme::kAuto), {"&Light", Theme::kLight}, {"D&ark", Theme::kDark}}) {
    QAction* action = theme->addAction(text);
    action->setCheckable(true);
    action->setChecked(value == m_theme.theme());
    group->addAction(action);
    connect(action, &QAction::triggered, this, [this, chosen = value] {
      m_theme.setTheme(chosen);
      if (m_keep == Keep::kSessions) keepTheme(chosen);
    });
  }
}

void MainWindow::fillRecentMenu() {
  m_recent->clear();
  for (const QString& run : recentRuns())
    m_recent->addAction(QString(run).replace("&", "&&"), this, [this, run] { openRun(run); });
  if (m_recent->isEmpty()) m_recent->addAction("no runs yet")->setEnabled(false);
}

void MainWindow::makeToolBar() {
  m_tools = new QToolBar("Tools", this);
  m_tools->setObjectName("tools");
  m_tools->setMovable(false);
  m_tools->setIconSize(QSize(18, 18));
  m_tools->toggleViewAction()->setVisible(false);
  const auto add = [this](const char* id) { m_tools->addAction(m_actions.at(id)); };
  for (const char* id : {"open", "back", "forward"}) add(id);
  m_tools->addSeparator();
  for (const char* id : {"previousIteration", "nextIteration", "previousRank", "nextRank"}) add(id);
  m_place = placeLabel("placeLabel", m_tools);
  m_tools->addSeparator();
  for (const char* id : {"firstFinding", "previousHit", "nextHit"}) add(id);
  m_hit = placeLabel("hitLabel", m_tools);
  m_tools->addSeparator();
  add("recheck");
  addToolBar(m_tools);
  tintIcons();
}

void MainWindow::makePanels() {
  for (const PanelFactory factory : builtinPanels()) {
    const PanelDef def = factory();
    Panel* panel = def.make(nullptr);
    panel->setObjectName(def.id);
    m_panels.emplace_back(def.id, panel);
    connect(panel, &Panel::status, this, &MainWindow::say);
    connect(panel, &Panel::panelWanted, this, [this](const QString& id) {
      if (auto* show = findChild<QAction*>("show_" + id)) show->trigger();
    });
    PanelTitle* title = nullptr;
    QDockWidget* dock = nullptr;
    if (def.area == Qt::NoDockWidgetArea) {
      auto* frame = new QWidget(this);
      auto* column = new QVBoxLayout(frame);
      column->setContentsMargins(0, 0, 0, 0);
      column->setSpacing(0);
      column->addWidget(title = new PanelTitle(def.title, panel, nullptr, frame));
      column->addWidget(panel, 1);
      m_pages->addWidget(frame);
    } else {
      dock = new QDockWidget(def.title, this);
      dock->setObjectName(QString("%1Dock").arg(def.id));
      dock->setWidget(panel);
      dock->setTitleBarWidget(title = new PanelTitle(def.title, panel, dock, dock));
      m_docks[panel] = dock;
      addDockWidget(def.area, dock);
    }
    connect(title, &PanelTitle::copyWanted, this, &MainWindow::copyCommandOf);
    auto* show = new QAction(this);
    show->setObjectName(QString("show_%1").arg(def.id));
    show->setShortcut(def.shortcut);
    connect(show, &QAction::triggered, this, [panel, dock] {
      if (dock) dock->show(), dock->raise();
      panel->takeFocus();
    });
    addAction(show);
  }
}

void MainWindow::defaultLayout() {
  setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
  setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
  std::map<Qt::DockWidgetArea, QList<QDockWidget*>> areas;
  for (const PanelFactory factory : builtinPanels()) {
    const PanelDef def = factory();
    const auto found = m_docks.find(panel(def.id));
    if (found == m_docks.end()) continue;
    QDockWidget* dock = found->second;
    dock->setFloating(false);
    addDockWidget(def.area, dock);
    dock->show();
    QList<QDockWidget*>& before = areas[def.area];
    // The left and the bottom hold what is read in turn; the right what is read together.
    if (!before.isEmpty() && def.area != Qt::RightDockWidgetArea) tabifyDockWidget(before.last(), dock);
    before << dock;
  }
  const QSize whole = size();
  const auto share = [](int length, double part) { return static_cast<int>(length * part); };
  if (auto& left = areas[Qt::LeftDockWidgetArea]; !left.isEmpty()) {
    left.first()->raise();
    resizeDocks({left.first()}, {share(whole.width(), kLeft)}, Qt::Horizontal);
  }
  if (auto& right = areas[Qt::RightDockWidgetArea]; !right.isEmpty()) {
    resizeDocks({right.first()}, {share(whole.width(), kRight)}, Qt::Horizontal);
    if (right.size() == 2)
      resizeDocks(right, {share(whole.height(), kFindings), share(whole.height(), 1 - kFindings)},
                  Qt::Vertical);
  }
  if (auto& bottom = areas[Qt::BottomDockWidgetArea]; !bottom.isEmpty()) {
    bottom.first()->raise();
    resizeDocks({bottom.first()}, {share(whole.height(), kBottom)}, Qt::Vertical);
  }
}

// Sizes can only be shared out among panels that are seen: else it is done when the first run is.
void MainWindow::resetLayout() {
  m_layoutIsDefault = !m_workspaceShown;
  if (m_workspaceShown) defaultLayout();
}

void MainWindow::restoreLayout() {
  if (m_keep == Keep::kForget) return;
  const QSettings settings;
  restoreGeometry(settings.value(kGeometry).toByteArray());
  m_layoutIsDefault = !restoreState(settings.value(kLayout).toByteArray(), kLayoutVersion);
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (m_keep == Keep::kSessions) {
    QSettings settings;
    settings.setValue(kGeometry, saveGeometry());
    settings.setValue(kLayout, m_workspaceShown ? saveState(kLayoutVersion) : m_layoutOfRun);
  }
  abandonOpening();
  closeRun();
  QMainWindow::closeEvent(event);
}

// Qt (6.4) shows the tab bars that it restores one after the other, from a set that the window's layout frees
// when it is activated; and to show one activates it. So it must not be active meanwhile.
void MainWindow::restorePanels() {
  layout()->setEnabled(false);
  restoreState(m_layoutOfRun, kLayoutVersion);
  layout()->setEnabled(true);
  layout()->activate();
}

// Without a run only the start page is there: docks keep their place, unseen.
void MainWindow::showWorkspace(bool shown) {
  if (!shown && m_workspaceShown) m_layoutOfRun = saveState(kLayoutVersion);
  if (shown == m_workspaceShown) return;
  m_workspaceShown = shown;
  m_pages->setCurrentIndex(shown ? 1 : 0);
  for (const auto& [panel, dock] : m_docks) {
    dock->toggleViewAction()->setEnabled(shown);
    if (!shown) dock->hide();
  }
  if (shown) restorePanels();
  if (shown && std::exchange(m_layoutIsDefault, false)) defaultLayout();
  m_tools->setVisible(shown);
  m_runStatus->setVisible(shown);
  for (const WindowAction& row : windowActions())
    if (row.needs == WindowAction::Needs::kRun) m_actions.at(row.id)->setEnabled(shown);
}

void MainWindow::tintIcons() {
  for (const WindowAction& row : windowActions())
    if (*row.icon) m_actions.at(row.id)->setIcon(lineIcon(row.icon, palette()));
}

void MainWindow::placeChanged() {
  if (!m_document) return;
  const Cursor& cursor = m_document->cursor();
  const Place& place = cursor.place();
  const auto& recorded = m_document->facts().allIterations;
  m_place->setText(recorded.empty()           ? QString("no iteration is recorded")
                   : !place.iteration.valid() ? QString("rank %1 recorded no iteration").arg(place.rank.value)
                                              : QString("iteration %1 of %2 – %3   ·   rank %4")
                                                    .arg(m_document->facts().iterationText(place.iteration))
                                                    .arg(recorded.front().value)
                                                    .arg(recorded.back().value)
                                                    .arg(place.rank.value));
  m_hit->setText(countsText(m_document->findings().counts()));
  m_actions.at("back")->setEnabled(cursor.canGoBack());
  m_actions.at("forward")->setEnabled(cursor.canGoForward());
}

// Left and right step through iterations, except where they move something the user is in. Tool tips show
// names of the run, which may look like HTML.
bool MainWindow::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Polish && watched->inherits("QTipLabel"))
    static_cast<QLabel*>(watched)->setTextFormat(Qt::PlainText);
  if (event->type() != QEvent::ShortcutOverride) return false;
  const auto* key = static_cast<QKeyEvent*>(event);
  if (key->modifiers() != Qt::NoModifier || (key->key() != Qt::Key_Left && key->key() != Qt::Key_Right))
    return false;
  const auto* table = qobject_cast<QTableView*>(watched);
  const bool cells = table && table->selectionBehavior() == QAbstractItemView::SelectItems;
  const auto* tree = qobject_cast<QTreeView*>(watched);
  const bool folds = tree && tree->rootIsDecorated();  // else it is a list
  if (!cells && !folds && !qobject_cast<QTabBar*>(watched)) return false;
  event->accept();
  return true;
}

}  // namespace msdbg::app
