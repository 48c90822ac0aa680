// MainWindow: the panels around one cursor, the run that is open, and what is kept between sessions. It knows
// the panels as Panel only; what one shows reaches the others through the document. UI thread only.
#pragma once

#include <QMainWindow>
#include <map>
#include <memory>

#include "app/gui/theme.h"
#include "app/panels/panel.h"
#include "app/presenters/answer/offer.h"
#include "app/presenters/start_place.h"

class QAction;
class QDockWidget;
class QLabel;
class QMenu;
class QStackedWidget;
class QTimer;
class QToolBar;

namespace msdbg::app {

class MessageBar;
class RunStatus;
class StartPage;

class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  /// kForget: neither reads nor writes what is kept between sessions (screenshots, the benchmark).
  enum class Keep { kSessions, kForget };
  MainWindow(ThemeController& theme, Keep keep, QWidget* parent = nullptr);
  ~MainWindow() override;

  /// Opens in the background; the run that is open stays until the new one is, and when that fails.
  void openRun(const QString& path, const StartPlace& start = {});
  Document* document() { return m_document.get(); }
  Panel* panel(const QString& id) const;  // nullptr: no such panel
  QString message() const;                // what is wrong with the run; "" when nothing is
  /// Nothing is opening, no panel waits for data; the check may still run.
  bool settled() const;

  // What the rows of windowActions() call.
  void chooseRun();
  void reload();
  void followRecording();
  void closeRun();
  void quit();
  void goBack();
  void goForward();
  void goToFirstFinding();
  void nextHit();
  void previousHit();
  void nextIteration();
  void previousIteration();
  void forwardTen();
  void backTen();
  void firstIteration();
  void lastIteration();
  void nextRank();
  void goToIteration();
  void previousRank();
  void recheck();
  void cancelCheck();
  void proveIteration();
  void compareFloat64();
  void recheckIteration();
  void resetLayout();
  void copyCommand();
  void showKeys();
  void showAbout();

 signals:
  void runOpened();
  void runFailed(const QString& message);
  /// The run has just begun; it is opened as soon as its graph is there.
  void runAwaited(const QString& message);
  /// The place the command line asked for is not in the run.
  void startFailed(const QString& message);

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Opening;
  void makeActions();
  void makeToolBar();
  void makeMenus();
  void makePanels();
  void fillRecentMenu();
  void abandonOpening();
  void openingFailed(const QString& path, const QString& message);
  void awaitRun(const QString& path, const StartPlace& start, const QString& message);
  void runGrew();
  bool isFollowing() const;
  void opened();
  void restoreSession();
  void connectDocument();
  void dropDocument();
  void keepPlace();
  void keepSession();
  void startAt(const StartPlace& start);
  void checkChanged();
  void placeChanged();
  void offersChanged();
  void ask(Ask question);
  void showWorkspace(bool shown);
  void restorePanels();
  void defaultLayout();
  void restoreLayout();
  void stepHit(int direction);
  void copyCommandOf(Panel* panel);
  void tintIcons();
  void say(const QString& message);

  ThemeController& m_theme;
  Keep m_keep;
  std::map<QString, QAction*> m_actions;
  std::vector<std::pair<QString, Panel*>> m_panels;
  std::map<Panel*, QDockWidget*> m_docks;
  QStackedWidget* m_pages;
  StartPage* m_startPage;
  MessageBar* m_messages;
  RunStatus* m_runStatus;
  QLabel *m_place = nullptr, *m_hit = nullptr;
  QMenu* m_recent = nullptr;
  QToolBar* m_tools = nullptr;
  std::unique_ptr<Opening> m_opening;
  QTimer* m_await;  // until the awaited run is tried again
  std::unique_ptr<Document> m_document;
  QByteArray m_layoutOfRun;      // while the start page hides the panels
  std::size_t m_damageSaid = 0;  // how much of the run's damage is in the message bar
  bool m_workspaceShown = true, m_layoutIsDefault = true;
  bool m_followFirst = false;  // the first check's answer moves the cursor
  bool m_faultKnown = false;   // of a run that grows: it was said that something is wrong
};

}  // namespace msdbg::app
