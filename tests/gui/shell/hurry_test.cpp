// A user in a hurry: runs opened over one another, keys held down, windows closed in the middle of work.
#include <QApplication>
#include <QComboBox>
#include <QDropEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QSpinBox>
#include <QTabBar>
#include <QTableView>
#include <QToolTip>
#include <QTreeView>
#include <catch2/catch.hpp>

#include "app/gui/actions.h"
#include "tests/gui/support/runs.h"
#include "tests/gui/support/window.h"
#include "tests/support/temp_dir.h"

namespace msdbg::test {
namespace {

// Whether the widget keeps the key from the window's shortcuts.
bool keeps(QWidget* widget, Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
  REQUIRE(widget);
  QKeyEvent event(QEvent::ShortcutOverride, key, modifiers);
  event.ignore();
  QApplication::sendEvent(widget, &event);
  return event.isAccepted();
}

bool takesDrop(app::MainWindow& window, const QList<QUrl>& urls) {
  QMimeData data;
  data.setUrls(urls);
  QDragEnterEvent enter({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  enter.ignore();
  QApplication::sendEvent(&window, &enter);
  QDropEvent drop({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  drop.ignore();
  QApplication::sendEvent(&window, &drop);
  CHECK(enter.isAccepted() == drop.isAccepted());
  return drop.isAccepted();
}

}  // namespace

TEST_CASE("Of many runs opened over one another the last one is shown", "[gui]") {
  Window w;
  w.open(nanRun());
  for (int i = 0; i < 50; ++i) {
    w.window.openRun(QString::fromStdString((i % 2 ? nanRun() : cleanRun()).string()));
    QCoreApplication::processEvents();
  }
  w.open(cleanRun());
  w.waitForCheck();
  CHECK(w.window.document()->path() == cleanRun());
  CHECK(w.failure.isEmpty());
}

TEST_CASE("A window can be closed while it opens, checks and lays out", "[gui]") {
  for (const int rounds : {0, 1, 5, 20, 100}) {
    Window w;
    w.window.openRun(QString::fromStdString(nanRun().string()));
    for (int i = 0; i < rounds; ++i) QCoreApplication::processEvents(QEventLoop::AllEvents, 2);
    w.window.close();
    CHECK(w.window.document() == nullptr);
    for (const app::WindowAction& action : app::windowActions())
      if (action.needs == app::WindowAction::Needs::kRun)
        CHECK_FALSE(w.window.findChild<QAction*>(action.id)->isEnabled());
    QCoreApplication::processEvents();
    CHECK(w.window.document() == nullptr);
  }
}

TEST_CASE("A step key held down ends at the right values", "[gui]") {
  Window w;
  w.open(cleanRun());
  w.waitForCheck();
  app::Document& document = *w.window.document();
  document.cursor().selectTensor(core::TensorId(0));
  for (int i = 0; i < 200; ++i) {
    w.trigger(i % 20 < 10 ? "nextIteration" : "previousIteration");
    QCoreApplication::processEvents();
  }
  w.trigger("lastIteration");
  REQUIRE(eventually([&] { return w.window.settled(); }));
  const QString last = QString::number(document.facts().allIterations.back().value);
  CHECK(w.window.findChild<QSpinBox*>("iterationSpin")->text() == last);
  CHECK(w.window.panel("tensor")->command().contains("--iteration " + last));
}

TEST_CASE("What is typed in belongs to its field, the rest to the window", "[gui]") {
  Window w;
  w.open(nanRun());
  w.waitForCheck();
  auto* name = w.window.findChild<QComboBox*>("tensorName")->lineEdit();
  auto* table = w.window.findChild<QTableView*>("valuesA");
  for (const Qt::Key key : {Qt::Key_Left, Qt::Key_Right}) {
    CAPTURE(key);
    for (QWidget* widget : {static_cast<QWidget*>(name), static_cast<QWidget*>(table),
                            static_cast<QWidget*>(w.window.findChild<QLineEdit*>("searchField")),
                            static_cast<QWidget*>(w.window.findChild<QSpinBox*>("iterationSpin")),
                            static_cast<QWidget*>(w.window.findChild<QTabBar*>())})
      CHECK(keeps(widget, key));
    for (const char* other : {"graphCanvas", "hitView", "searchResults"})
      CHECK_FALSE(keeps(w.window.findChild<QWidget*>(other), key));
    CHECK(keeps(name, key, Qt::ControlModifier));
    CHECK_FALSE(keeps(table, key, Qt::ControlModifier));
  }
}

TEST_CASE("A run can be dropped as its folder or as a file in it, nothing else can", "[gui]") {
  const TempDir folder;
  Window w;
  const auto url = [](const std::filesystem::path& p) {
    return QUrl::fromLocalFile(QString::fromStdString(p.string()));
  };
  CHECK_FALSE(takesDrop(w.window, {url(nanRun()), url(cleanRun())}));
  CHECK_FALSE(takesDrop(w.window, {QUrl("https://example.org/run.msdbg")}));
  CHECK_FALSE(takesDrop(w.window, {}));
  CHECK(takesDrop(w.window, {url(nanRun() / "rank_1/journal")}));
  REQUIRE(eventually([&] { return w.window.document() && w.window.settled(); }));
  CHECK(w.window.document()->path() == nanRun());
  CHECK(takesDrop(w.window, {url(folder.path())}));
  REQUIRE(eventually([&] { return !w.failure.isEmpty(); }));
  CHECK_THAT(w.failure.toStdString(), Catch::Contains("run.json"));
}

TEST_CASE("Tool tips show names as they are", "[gui]") {
  Window w;
  QToolTip::showText({10, 10}, "<b>bold</b>", &w.window);
  const QLabel* shown = nullptr;
  for (const QWidget* widget : QApplication::topLevelWidgets())
    if (widget->inherits("QTipLabel")) shown = static_cast<const QLabel*>(widget);
  REQUIRE(shown);
  CHECK(shown->textFormat() == Qt::PlainText);
  QToolTip::hideText();
}

}  // namespace msdbg::test
