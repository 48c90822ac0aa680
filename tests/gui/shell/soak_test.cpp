// A hand at random: thousands of clicks, keys, drags, menus and sizes, on runs that are well, damaged,
// strange and still being recorded. The window never falls, never hangs, and answers when it is left alone.
#include <QApplication>
#include <QMenu>
#include <QPointer>
#include <QTest>
#include <QTimer>
#include <catch2/catch.hpp>
#include <random>

#include "tests/gui/support/runs.h"
#include "tests/gui/support/strange_runs.h"
#include "tests/gui/support/window.h"
#include "tests/support/sampling.h"
#include "tests/support/temp_dir.h"

namespace msdbg::test {
namespace {

namespace fs = std::filesystem;

constexpr int kActions = 2000, kDrawnActions = 200;
constexpr int kBetweenRests = 40;  // then the window is left alone until it has done what it was asked

/// Closes what waits for an answer in an event loop of its own: dialogs for files, and the menus of fields
/// once the hand has had time to use them.
class Impatient : public QTimer {
 public:
  Impatient() {
    setInterval(30);
    callOnTimeout([this] {
      if (QWidget* dialog = QApplication::activeModalWidget()) dialog->close();
      QWidget* popup = QApplication::activePopupWidget();
      m_seen = popup && popup == m_popup ? m_seen + 1 : 0;
      m_popup = popup;
      if (m_seen > 3) popup->close();
    });
    start();
  }

 private:
  QPointer<QWidget> m_popup;
  int m_seen = 0;
};

class Hand {
 public:
  Hand(Window& window, std::vector<fs::path> runs, RunningRecording& recording, std::uint64_t seed)
      : m_w(window), m_runs(std::move(runs)), m_recording(recording), m_random(seed) {}

  void act() {
    using Action = void (Hand::*)();
    static constexpr Action kAll[] = {&Hand::click, &Hand::click, &Hand::key,  &Hand::key,    &Hand::trigger,
                                      &Hand::drag,  &Hand::wheel, &Hand::menu, &Hand::resize, &Hand::wait,
                                      &Hand::type,  &Hand::look,  &Hand::other};
    (this->*kAll[below(std::size(kAll))])();
    QCoreApplication::processEvents(QEventLoop::AllEvents, 5);
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    if (m_w.window.isHidden()) m_w.window.show();  // it was closed
  }
  const std::string& last() const { return m_last; }

 private:
  std::size_t below(std::size_t n) { return m_random() % n; }
  bool oneIn(std::size_t n) { return below(n) == 0; }
  void say(const std::string& what, const QObject* on = nullptr) {
    m_last = what;
    if (on) m_last += " " + on->objectName().toStdString() + " (" + on->metaObject()->className() + ")";
  }
  Qt::KeyboardModifiers modifiers() {
    static constexpr Qt::KeyboardModifier kSome[] = {Qt::NoModifier, Qt::NoModifier, Qt::NoModifier,
                                                     Qt::ShiftModifier, Qt::ControlModifier};
    return kSome[below(std::size(kSome))];
  }
  QWidget* anyWidget() {
    QWidget* popup = QApplication::activePopupWidget();
    QWidget* root = popup ? popup : &m_w.window;
    QList<QWidget*> all = root->findChildren<QWidget*>();
    all.removeIf([](QWidget* widget) { return !widget->isVisible() || widget->size().isEmpty(); });
    return all.isEmpty() ? root : all[static_cast<qsizetype>(below(static_cast<std::size_t>(all.size())))];
  }
  QPoint in(const QWidget* widget) {
    return {static_cast<int>(below(static_cast<std::size_t>(std::max(1, widget->width())))),
            static_cast<int>(below(static_cast<std::size_t>(std::max(1, widget->height()))))};
  }

  void click() {
    QWidget* widget = anyWidget();
    const Qt::MouseButton button = oneIn(5) ? Qt::RightButton : Qt::LeftButton;
    say("click", widget);
    const QPoint at = in(widget);
    oneIn(6) ? QTest::mouseDClick(widget, button, modifiers(), at)
             : QTest::mouseClick(widget, button, modifiers(), at);
  }
  void drag() {
    const QPointer<QWidget> widget = anyWidget();
    say("drag", widget);
    QTest::mousePress(widget, Qt::LeftButton, modifiers(), in(widget));
    for (int i = 0; i < 4 && widget; ++i) QTest::mouseMove(widget, in(widget));
    if (widget) QTest::mouseRelease(widget, Qt::LeftButton, {}, in(widget));
  }
  void wheel() {
    QWidget* widget = anyWidget();
    say("wheel", widget);
    const QPoint at = in(widget);
    QWheelEvent event(at, widget->mapToGlobal(at), {}, {0, oneIn(2) ? 240 : -240}, Qt::NoButton, modifiers(),
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(widget, &event);
  }
  void menu() {
    QWidget* widget = anyWidget();
    say("context menu", widget);
    const QPoint at = in(widget);
    QContextMenuEvent event(QContextMenuEvent::Mouse, at, widget->mapToGlobal(at));
    QApplication::sendEvent(widget, &event);
  }
  QWidget* focus() {
    if (QWidget* popup = QApplication::activePopupWidget()) return popup;
    QWidget* focused = QApplication::focusWidget();
    return focused ? focused : &m_w.window;
  }
  void key() {
    static constexpr Qt::Key kKeys[] = {
        Qt::Key_Left, Qt::Key_Right, Qt::Key_Up,    Qt::Key_Down,   Qt::Key_PageUp,    Qt::Key_PageDown,
        Qt::Key_Home, Qt::Key_End,   Qt::Key_Tab,   Qt::Key_Return, Qt::Key_Escape,    Qt::Key_Delete,
        Qt::Key_Plus, Qt::Key_Minus, Qt::Key_Space, Qt::Key_F,      Qt::Key_Z,         Qt::Key_F5,
        Qt::Key_N,    Qt::Key_P,     Qt::Key_Slash, Qt::Key_0,      Qt::Key_Backspace, Qt::Key_W,
        Qt::Key_H,    Qt::Key_F9};
    QWidget* widget = focus();
    say("key", widget);
    QTest::keyClick(widget, kKeys[below(std::size(kKeys))], modifiers());
  }
  void type() {
    static constexpr const char* kTexts[] = {"conv",        "*fc2/weight",  "-1",
                                             "1e400",       "2:1,::-1",     "\xe2\x80\xae",
                                             "mean(|x|) <", "999999999999", "%n"};
    QWidget* widget = focus();
    say("type", widget);
    const QPointer<QWidget> alive = widget;
    for (const QChar letter : QString::fromUtf8(kTexts[below(std::size(kTexts))])) {
      QKeyEvent event(QEvent::KeyPress, 0, Qt::NoModifier, QString(letter));
      if (alive) QApplication::sendEvent(alive, &event);
    }
  }
  void trigger() {
    QList<QAction*> all = m_w.window.findChildren<QAction*>();
    all.removeIf([](QAction* action) {
      return !action->isEnabled() || action->isSeparator() || action->objectName() == "quit";
    });
    QAction* action = all[static_cast<qsizetype>(below(static_cast<std::size_t>(all.size())))];
    say("trigger " + action->text().toStdString(), action);
    action->trigger();
  }
  void resize() {
    say("resize");
    m_w.window.resize(static_cast<int>(400 + below(1600)), static_cast<int>(300 + below(900)));
  }
  void look() {
    say("theme");
    m_w.theme.setTheme(oneIn(2) ? app::Theme::kDark : app::Theme::kLight);
  }
  void wait() {
    say("wait");
    QTest::qWait(static_cast<int>(below(60)));
  }
  /// Another run, or the one that is recorded goes on.
  void other() {
    if (oneIn(3)) {
      say("record");
      return m_recording.recordIteration();
    }
    if (!oneIn(3)) return wait();
    const fs::path& run = m_runs[below(m_runs.size())];
    say("open " + run.string());
    m_w.window.openRun(QString::fromStdString(run.string()));
  }

  Window& m_w;
  std::vector<fs::path> m_runs;
  RunningRecording& m_recording;
  std::mt19937_64 m_random;
  std::string m_last;
};

fs::path damaged(fs::path run) {
  for (const auto& entry : fs::recursive_directory_iterator(run))
    if (entry.path().extension() == ".h5") fs::resize_file(entry.path(), entry.file_size() / 2);
  return run;
}

}  // namespace

TEST_CASE("Whatever a hand does at random, the window stays, and answers when it is left alone", "[gui]") {
  const TempDir folder;
  const ProgramOnPath onPath;  // questions are answered
  fs::create_directory(folder / "damaged");
  RunningRecording recording(folder / "live.msdbg");
  recording.recordIteration();
  Window w;
  w.open(copyOf(nanRun(), folder.path()));
  const Impatient impatient;
  const std::uint64_t seed = drawnSeed("actions in the window");
  Hand hand(w,
            {copyOf(cleanRun(), folder.path()), damaged(copyOf(nanRun(), folder / "damaged")),
             strangeRun(folder / "strange.msdbg"), unevenRun(folder / "uneven.msdbg"), folder / "live.msdbg",
             copyOf(replayableRun(), folder.path()), folder / "absent.msdbg"},
            recording, seed);
  const int actions = testAll() ? kActions : kDrawnActions;
  for (int i = 1; i <= actions; ++i) {
    hand.act();
    if (i % kBetweenRests != 0) continue;
    CAPTURE(seed, i, hand.last());
    while (QWidget* popup = QApplication::activePopupWidget()) popup->close();
    REQUIRE(eventually([&] { return w.window.settled(); }, 60));
  }
}

}  // namespace msdbg::test
