// The window on a run that is being recorded: it grows in sight, and its end is told.
#include <QComboBox>
#include <QLabel>
#include <QSlider>
#include <catch2/catch.hpp>
#include <thread>

#include "app/panels/timeline/timeline_plot.h"
#include "app/presenters/timeline/timeline.h"
#include "dump/reader/run_reader.h"
#include "tests/dump/recorded_run.h"
#include "tests/gui/support/runs.h"
#include "tests/gui/support/strange_runs.h"
#include "tests/gui/support/window.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

namespace msdbg::test {

namespace fs = std::filesystem;
using core::Iteration;
using core::Rank;

namespace {

std::string stateOf(Window& w) { return w.window.findChild<QLabel*>("runState")->text().toStdString(); }

std::size_t iterationsIn(Window& w) { return w.window.document()->facts().allIterations.size(); }

bool grows(Window& w, std::size_t iterations) {
  return eventually([&] { return iterationsIn(w) == iterations && w.window.settled(); });
}

}  // namespace

TEST_CASE("The window sees each iteration that is recorded; the cursor at the last one follows", "[gui]") {
  const TempDir folder;
  RunningRecording recording(folder / "running.msdbg");
  recording.recordIteration();
  Window w;
  w.open(folder / "running.msdbg");
  w.waitForCheck();
  const app::Document* document = w.window.document();
  CHECK(stateOf(w) == "recording… iteration 0 · 1 rank");
  recording.recordIteration();
  recording.recordIteration();
  REQUIRE(grows(w, 3));
  CHECK(w.window.document() == document);  // nothing was opened again
  CHECK(stateOf(w) == "recording… iteration 2 · 1 rank");
  CHECK(w.place().iteration == Iteration(2));
  CHECK(w.window.findChild<QSlider*>("iterationSlider")->maximum() == 2);
  CHECK(w.window.findChild<QLabel*>("placeLabel")->text() == "iteration 2 of 0 – 2   ·   rank 0");

  w.trigger("previousIteration");
  recording.recordIteration();
  REQUIRE(grows(w, 4));
  CHECK(w.place().iteration == Iteration(1));  // somebody looks at it
  w.trigger("lastIteration");
  recording.recordIteration();
  REQUIRE(grows(w, 5));
  CHECK(w.place().iteration == Iteration(4));

  w.trigger("followRecording");  // off
  recording.recordIteration();
  REQUIRE(grows(w, 6));
  CHECK(w.place().iteration == Iteration(4));
  w.trigger("followRecording");  // on again: to where it is now
  CHECK(w.place().iteration == Iteration(5));
  w.trigger("back");
  CHECK(w.place().iteration != Iteration(5));
}

TEST_CASE("A run is opened before its first iteration is there, and fills", "[gui]") {
  const TempDir folder;
  RunningRecording recording(folder / "running.msdbg");
  Window w;
  w.open(folder / "running.msdbg");
  w.waitForCheck();
  CHECK(stateOf(w) == "recording… no iteration yet · 1 rank");
  const auto* quantity = w.window.findChild<QComboBox*>("quantityCombo");
  CHECK(quantity->currentData() != "scalar:loss");
  recording.recordIteration();
  recording.recordIteration();
  REQUIRE(grows(w, 2));
  CHECK(w.place().iteration == Iteration(1));
  REQUIRE(eventually([&] { return quantity->currentData() == "scalar:loss" && w.window.settled(); }));
  REQUIRE(eventually([&] {
    const watch::CheckReport* report = w.window.document()->findings().report();
    return report && report->evaluated > 0;
  }));
}

TEST_CASE("A run whose graph is not there yet is opened as soon as it is", "[gui]") {
  const TempDir folder;
  const fs::path run = folder / "running.msdbg";
  writeInfo(run);
  Window w;
  QString waiting;
  QObject::connect(&w.window, &app::MainWindow::runAwaited, &w.window,
                   [&](const QString& m) { waiting = m; });
  w.window.openRun(QString::fromStdString(run.string()));
  REQUIRE(eventually([&] { return !waiting.isEmpty(); }));
  CHECK_FALSE(w.window.settled());
  CHECK(w.window.message().startsWith("waiting for the graph of "));
  RunningRecording recording(run);
  REQUIRE(eventually([&] { return w.window.document() && w.window.settled(); }));
  CHECK(w.failure.isEmpty());
}

TEST_CASE("Lines, marks and findings of a run that grew are those of the run opened anew", "[gui]") {
  const TempDir folder;
  const fs::path run = folder / "running.msdbg";
  auto recording = std::make_unique<RunningRecording>(run);
  recording->recordIteration();
  const auto document = openDocument(run);
  app::Timeline timeline(*document);
  document->cursor().selectTensor(*document->graph().findTensor("network/a/weight:0"));
  timeline.setQuantity("statistic:mean_abs");
  check(*document);
  for (int i = 0; i < 6; ++i) recording->recordIteration();
  recording.reset();  // the end: the last check comes at once
  REQUIRE(eventually([&] { return !document->facts().recording && !timeline.reading(); }));
  const auto fresh = openDocument(run);
  fresh->cursor().moveTo(document->cursor().place());
  app::Timeline freshLine(*fresh);
  freshLine.setQuantity("statistic:mean_abs");
  REQUIRE(eventually([&] { return !freshLine.reading(); }));
  check(*fresh);
  REQUIRE(eventually(
      [&] { return document->findings().report()->evaluated == fresh->findings().report()->evaluated; }));
  REQUIRE(timeline.lines().size() == 1);
  REQUIRE(timeline.lines()[0].points.size() == 7);
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK(timeline.lines()[0].points[i].iteration == freshLine.lines()[0].points[i].iteration);
    CHECK(timeline.lines()[0].points[i].value == freshLine.lines()[0].points[i].value);
  }
  const auto& grown = document->findings().hits();
  const auto& expected = fresh->findings().hits();
  REQUIRE(grown.size() == expected.size());
  for (std::size_t i = 0; i < grown.size(); ++i) {
    CHECK(grown[i].condition == expected[i].condition);
    CHECK(grown[i].iteration == expected[i].iteration);
    CHECK(grown[i].tensor == expected[i].tensor);
    CHECK(grown[i].detail == expected[i].detail);
  }
}

TEST_CASE("How a recording ended is told: by its ranks, by run.json, or that nobody says it", "[gui]") {
  const TempDir folder;
  const fs::path run = folder / "running.msdbg";
  Window w;
  SECTION("the ranks, then run.json") {
    auto recording = std::make_unique<RunningRecording>(run);
    recording->recordIteration();
    w.open(run);
    CHECK(w.window.findChild<QAction*>("followRecording")->isEnabled());
    recording.reset();
    REQUIRE(eventually([&] { return stateOf(w) == "finished · 1 iteration · 1 rank"; }));
    CHECK_FALSE(w.window.findChild<QAction*>("followRecording")->isEnabled());
    writeInfo(run, 1, "killed");
    REQUIRE(eventually([&] { return stateOf(w) == "killed · 1 iteration · 1 rank"; }));
  }
  SECTION("nobody") {
    record(run, smallGraph(), {}, {.iterations = 2});
    const std::string journal = readText(run / "rank_0" / "journal");
    writeText(run / "rank_0" / "journal", journal.substr(0, journal.find("{\"end\"")));
    writeInfo(run);
    w.open(run);
    CHECK(stateOf(w) == "interrupted · 2 iterations · 1 rank");
    CHECK(w.window.findChild<QLabel*>("runState")->toolTip().contains("the recorder was killed"));
  }
  SECTION("another run takes its place") {
    auto recording = std::make_unique<RunningRecording>(run);
    recording->recordIteration();
    w.open(run);
    fs::remove_all(run);
    REQUIRE(eventually([&] { return w.window.message().contains("moved or removed"); }));
    CHECK(iterationsIn(w) == 1);
  }
}

TEST_CASE("Two windows and a check on a run that msdbg dump records at that moment", "[gui]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  RunResult dumped;
  std::thread dump([&] {
    dumped = runMsdbg({"dump", "lenet5", "-o", run.string(), "-n", "2", "--threads", "1", "--steps", "60",
                       "--batch", "8", "--max-size", "3MB", "--fault",
                       "nan@iteration=40,rank=1,node=*conv2/Conv-op1"});
  });
  Window first, second;
  REQUIRE(eventually([&] { return fs::exists(run / "run.json"); }));
  first.open(run);
  second.open(run);
  const RunResult checked = runMsdbg({"check", run.string()});
  INFO(checked.err);
  CHECK((checked.exitStatus == 0 || checked.exitStatus == 3 || checked.exitStatus == 4));
  // Within the first second nothing may be recorded yet: 4, and said.
  CHECK((checked.exitStatus == 4 || checked.err.find("error") == std::string::npos));
  dump.join();
  CHECK(dumped.exitStatus == 0);
  for (Window* w : {&first, &second}) {
    REQUIRE(eventually([&] { return stateOf(*w) == "finished · 60 iterations · 2 ranks"; }));
    REQUIRE(eventually([&] {
      const watch::CheckReport* report = w->window.document()->findings().report();
      return report && report->first && report->first->iteration == Iteration(40);
    }));
    const watch::Hit& hit = *w->window.document()->findings().report()->first;
    CHECK(hit.rank == Rank(1));
    CHECK(w->window.document()->graph().node(hit.node).name == "network/conv2/Conv-op1");
    CHECK(w->window.message().isEmpty());
    CHECK(w->window.document()->facts().damage.empty());
  }
}

TEST_CASE("A newer graph is opened by itself, and the place stays", "[gui]") {
  const TempDir folder;
  const fs::path run = folder / "running.msdbg";
  RunningRecording recording(run);
  recording.recordIteration();
  Window w;
  w.open(run);
  w.waitForCheck();
  const app::Document* before = w.window.document();
  recording.changeGraph();
  recording.recordIteration();
  REQUIRE(eventually(
      [&] { return w.window.document() != before && w.window.settled() && iterationsIn(w) == 2; }));
  CHECK(w.window.document()->graph().findNode("network/Big-op1").has_value());
}

TEST_CASE("A timeline that somebody has zoomed stays so while the run grows; a fitted one shows it all",
          "[gui]") {
  const TempDir folder;
  RunningRecording recording(folder / "running.msdbg");
  for (int i = 0; i < 3; ++i) recording.recordIteration();
  Window w;
  w.open(folder / "running.msdbg");
  w.waitForCheck();
  auto* plot = w.window.findChild<app::TimelinePlot*>("timelinePlot");
  recording.recordIteration();
  REQUIRE(grows(w, 4));
  REQUIRE(eventually([&] { return plot->xAxis->range().upper > 3; }));
  plot->xAxis->setRange(0.5, 1.5);
  recording.recordIteration();
  REQUIRE(grows(w, 5));
  settle(*w.window.document());
  CHECK(plot->xAxis->range().upper == 1.5);
}

}  // namespace msdbg::test
