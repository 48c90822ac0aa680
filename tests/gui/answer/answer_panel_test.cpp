// Questions are asked and answered in the window.
#include <QApplication>
#include <QClipboard>
#include <QElapsedTimer>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QTableView>
#include <QTest>
#include <QTextBrowser>
#include <QToolButton>
#include <QUrl>
#include <catch2/catch.hpp>

#include "app/panels/tensor/tensor_panel.h"
#include "app/presenters/answer/questions.h"
#include "tests/gui/answer/fake_program.h"
#include "tests/gui/support/runs.h"
#include "tests/gui/support/window.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

namespace msdbg::test {
namespace {

namespace fs = std::filesystem;
using app::Ask;
using app::Questions;
using Asked = Questions::Asked;

constexpr auto kSlow = "echo 'computing iteration 1 of 9' >&2\nexec sleep 60";

struct Asking : Window {
  explicit Asking(const fs::path& run) {
    open(run);
    waitForCheck();
  }
  Questions& questions() { return window.document()->questions(); }
  template <typename T>
  T* find(const char* name) {
    T* child = window.findChild<T*>(name);
    REQUIRE(child);
    return child;
  }
  void go(const char* tensor, std::int64_t rank, std::int64_t iteration) {
    app::Place place = window.document()->cursor().place();
    place.rank = core::Rank(rank);
    place.iteration = core::Iteration(iteration);
    place.tensor = replay::resolveTensor(window.document()->graph(), tensor).value();
    window.document()->cursor().moveTo(place);
    REQUIRE(eventually([&] { return window.settled(); }));
  }
  void askIteration(Ask ask) {
    questions().ask(questions().offerAtCursor(ask));
    settle();
  }
  void settle() {
    REQUIRE(eventually([&] { return !questions().running() && window.settled(); }, 60));
  }
  const Asked& shown() {
    REQUIRE(questions().shown());
    return *questions().shown();
  }
  QString text() { return find<QTextBrowser>("answerText")->toPlainText(); }
  QString state() { return find<QLabel>("answerState")->text(); }
};

/// What the command prints in a terminal.
std::string printed(const QString& command) {
  const std::string path = (buildDir() / "bin").string() + ":" + std::getenv("PATH");
  return runCommand({"sh", "-c", command.toStdString()}, {.environment = {{"PATH", path}}}).out;
}

}  // namespace

TEST_CASE("W in a cell asks why it is so; a name in the answer leads there", "[gui]") {
  const ProgramOnPath onPath;
  Asking w(nanRun());
  w.go("network/conv2/Conv-op1", 1, 4);
  auto* table = w.find<QTableView>("valuesA");
  table->setFocus();
  table->setCurrentIndex(table->model()->index(1, 1));
  QTest::keyClick(table, Qt::Key_W);
  w.settle();
  CHECK(w.window.panel("answer")->isVisible());
  CHECK(w.find<QLineEdit>("answerCommand")->text().contains("--index 0,0,1,1 --iteration 4 --rank 1"));
  CHECK(w.shown().text.toStdString() == printed(w.shown().command));
  CHECK(w.text().trimmed() == w.shown().text.trimmed());
  CHECK_THAT(w.text().toStdString(), Catch::Contains("WHY: "));
  const auto& links = w.shown().links;
  const auto link = std::ranges::find_if(
      links, [](const app::PlacedLink& l) { return l.link.target.contains("conv1/MaxPool-op1"); });
  const auto named = link != links.end() ? link : std::ranges::find_if(links, [](const app::PlacedLink& l) {
    return l.link.target.startsWith("node:");
  });
  REQUIRE(named != links.end());
  emit w.find<QTextBrowser>("answerText")->anchorClicked(QUrl(QString::number(named - links.begin())));
  CHECK(w.window.document()->graph().node(w.place().nodes.front()).name ==
        named->link.target.section(':', 1).toStdString());
}

TEST_CASE("H asks for the history of the cell, its menu for everything", "[gui]") {
  const ProgramOnPath onPath;
  Asking w(nanRun());
  w.go("fc1/weight", 0, 3);
  auto* table = w.find<QTableView>("valuesA");
  table->setFocus();
  table->setCurrentIndex(table->model()->index(2, 5));
  QTest::keyClick(table, Qt::Key_H);
  w.settle();
  CHECK(w.shown().command.contains("history"));
  CHECK(w.shown().command.contains("--index 2,5"));
  CHECK(w.shown().reply.exitStatus == 0);
  CHECK(w.shown().text.toStdString() == printed(w.shown().command));
  emit table->customContextMenuRequested({20, 20});
  auto* menu = w.find<QMenu>("cellMenu");
  CHECK(menu->actions().size() > 8);
  CHECK(menu->actions().front()->text() == "Why this value?");
  CHECK(menu->actions().front()->isEnabled());
  menu->actions().front()->trigger();
  menu->close();
  w.settle();
  CHECK(w.shown().name == "Why this value?");
}

TEST_CASE("A cell of what a tensor is compared with is asked about at its own place", "[gui]") {
  Asking w(nanRun());
  w.go("fc1/weight", 1, 3);
  app::TensorPresenter& tensor = *static_cast<app::TensorPanel*>(w.window.panel("tensor"))->presenter();
  tensor.setComparison({app::Comparison::With::kRank, 0});
  tensor.setCell(2, 5);
  REQUIRE(
      eventually([&] { return w.window.settled() && tensor.offer(Ask::kWhy, app::Side::kB).possible(); }));
  for (const auto& [side, rank] :
       {std::pair(app::Side::kA, "1"), {app::Side::kB, "0"}, {app::Side::kDifference, "1"}})
    CHECK(tensor.offer(Ask::kWhy, side).words == QStringList{"why", "--tensor", "network/fc1/weight",
                                                             "--index", "2,5", "--iteration", "3", "--rank",
                                                             rank});
}

TEST_CASE("An iteration is proved, compared and rechecked from the menu", "[gui]") {
  const ProgramOnPath onPath;
  Asking w(replayableRun());
  w.go("network/conv2/Conv-op1", 1, 4);
  REQUIRE(eventually([&] { return w.find<QAction>("proveIteration")->isEnabled(); }));
  CHECK(w.find<QAction>("proveIteration")->toolTip().contains("from the checkpoint of iteration 3"));
  w.trigger("proveIteration");
  CHECK(w.find<QToolButton>("answerCancel")->text() == "Cancel");
  w.settle();
  CHECK(w.shown().reply.exitStatus == 0);
  CHECK_THAT(w.text().toStdString(), Catch::Contains("every byte is the recorded one"));
  CHECK(w.find<QToolButton>("answerCancel")->text() == "Ask again");
  CHECK_THAT(w.state().toStdString(), Catch::StartsWith("Prove this iteration · answered in"));
  w.trigger("compareFloat64");
  w.settle();
  CHECK(w.shown().command.endsWith("--iteration 4 --dtype float64"));
  CHECK(w.shown().reply.exitStatus == 0);
  CHECK_THAT(w.text().toStdString(), Catch::Contains("in float64"));
  // Nothing of it is stored: msdbg says so, and what to do.
  w.trigger("recheckIteration");
  w.settle();
  CHECK(w.shown().reply.exitStatus == 4);
  CHECK(w.find<QLabel>("answerProblem")->isVisible());
  CHECK_THAT(w.find<QLabel>("answerProblem")->text().toStdString(), Catch::Contains("record with"));
  w.find<QToolButton>("answerBack")->click();
  w.find<QToolButton>("answerBack")->click();
  CHECK(w.shown().name == "Prove this iteration");
  CHECK_FALSE(w.find<QLabel>("answerProblem")->isVisible());
  w.find<QToolButton>("answerCopy")->click();
  CHECK(QApplication::clipboard()->text() == w.shown().command);
}

TEST_CASE("What a planted fault did is found by proving, and its places are links", "[gui]") {
  const ProgramOnPath onPath;
  Asking w(plantedReplayableRun());
  w.go("network/fc1/weight", 0, 4);
  w.askIteration(Ask::kProve);
  CHECK(w.shown().reply.exitStatus == 3);
  CHECK(w.state().endsWith("something is different or wrong"));
  const auto& links = w.shown().links;
  const auto conv = std::ranges::find_if(
      links, [](const app::PlacedLink& l) { return l.link.target == "node:network/conv2/Conv-op1"; });
  REQUIRE(conv != links.end());
  CHECK(w.questions().follow(static_cast<std::size_t>(conv - links.begin())));
  CHECK(w.place().rank == core::Rank(1));
  CHECK(w.place().iteration == core::Iteration(4));
}

TEST_CASE("A question is cancelled by Esc and by its button, and asked again", "[gui]") {
  const FakeProgram slow(kSlow);
  Asking w(replayableRun());
  REQUIRE(eventually([&] { return w.find<QAction>("proveIteration")->isEnabled(); }));
  w.trigger("proveIteration");
  REQUIRE(eventually([&] { return w.state().endsWith("computing iteration 1 of 9"); }));
  CHECK_FALSE(w.window.settled());
  QApplication::setActiveWindow(&w.window);
  w.window.panel("answer")->takeFocus();
  QTest::keyClick(w.find<QTextBrowser>("answerText"), Qt::Key_Escape);
  CHECK_FALSE(w.questions().running());
  CHECK_THAT(w.state().toStdString(), Catch::Contains("cancelled after"));
  w.find<QToolButton>("answerCancel")->click();
  CHECK(w.questions().running());
  CHECK(w.questions().count() == 2);
  w.find<QToolButton>("answerCancel")->click();
  CHECK(w.shown().state == Asked::State::kCancelled);
  // A newer question takes the place of one that runs; so does another run.
  w.trigger("proveIteration");
  w.trigger("compareFloat64");
  CHECK(w.questions().running());
  w.questions().goBack();
  CHECK(w.shown().state == Asked::State::kCancelled);
  w.open(cleanRun());
  CHECK(w.questions().count() == 0);
}

TEST_CASE("A run that is gone, and a program that is not there, are the answer", "[gui]") {
  const TempDir folder;
  const fs::path run = copyOf(replayableRun(), folder.path());
  Asking w(run);
  REQUIRE(eventually([&] { return w.find<QAction>("proveIteration")->isEnabled(); }));
  {
    const FakeProgram none("");
    w.askIteration(Ask::kProve);
    CHECK_THAT(w.state().toStdString(), Catch::EndsWith("no answer"));
    CHECK_THAT(w.shown().reply.problem.toStdString(), Catch::Contains("nor on PATH"));
  }
  const ProgramOnPath onPath;
  fs::remove_all(run);
  w.askIteration(Ask::kProve);
  CHECK(w.shown().reply.exitStatus == 1);
  CHECK_THAT(w.find<QLabel>("answerProblem")->text().toStdString(), Catch::Contains("there is no run"));
}

TEST_CASE("The last twenty questions are kept", "[gui]") {
  const FakeProgram program("echo \"$@\"");
  Asking w(replayableRun());
  REQUIRE(eventually([&] { return w.find<QAction>("proveIteration")->isEnabled(); }));
  for (int i = 0; i < 25; ++i) {
    w.window.document()->cursor().setIteration(core::Iteration(i % 8));
    w.askIteration(Ask::kProve);
  }
  CHECK(w.questions().count() == Questions::kMost);
  while (w.questions().canGoBack()) w.questions().goBack();
  CHECK(w.text().contains("--iteration 5 --prove"));
  CHECK_FALSE(w.find<QToolButton>("answerBack")->isEnabled());
}

TEST_CASE("A long answer is shown without a wait, and says where it is cut", "[gui]") {
  const FakeProgram program(
      "yes '  network/conv2/weight   iteration 4, rank 1   lenet5.cpp:20   x = relu(conv(x))' | head -c "
      "900000");
  Asking w(replayableRun());
  REQUIRE(eventually([&] { return w.find<QAction>("proveIteration")->isEnabled(); }));
  QElapsedTimer timer;
  qint64 longest = 0;
  w.trigger("proveIteration");
  while (w.questions().running()) {
    timer.start();
    QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents, 50);
    longest = std::max(longest, timer.elapsed());
  }
  CAPTURE(longest);
  CHECK(longest < 5000);  // ms, on a machine that is busy
  CHECK(w.shown().links.size() > 10'000);
  CHECK_THAT(w.text().toStdString(), Catch::Contains("run the command in a terminal to see it all"));
}

TEST_CASE("Where a run cannot be computed again, what would compute it is greyed and says why", "[gui]") {
  Asking w(cleanRun());
  REQUIRE(eventually([&] { return w.find<QAction>("recheckIteration")->isEnabled(); }));
  for (const char* action : {"proveIteration", "compareFloat64"}) {
    CHECK_FALSE(w.find<QAction>(action)->isEnabled());
    CHECK_THAT(w.find<QAction>(action)->toolTip().toStdString(),
               Catch::Contains("neither checkpoints nor batches"));
  }
  auto* button = w.find<QToolButton>("tensorAsk");
  emit button->menu()->aboutToShow();
  CHECK(button->menu()->actions().size() == 6);
  CHECK(w.window.panel("answer")->command().isEmpty());
}

TEST_CASE("Links can be read in the dark too", "[gui]") {
  const ProgramOnPath onPath;
  Asking w(nanRun());
  w.askIteration(Ask::kProve);
  for (const app::Theme theme : {app::Theme::kDark, app::Theme::kLight}) {
    w.theme.setTheme(theme);
    for (const char* name : {"answerText", "findingAnswer"}) {
      CAPTURE(name);
      const auto* view = w.find<QTextBrowser>(name);
      CHECK(view->toHtml().contains("color:" + view->palette().color(QPalette::Link).name()));
    }
  }
}

}  // namespace msdbg::test
