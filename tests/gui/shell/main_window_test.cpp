#include "app/gui/main_window.h"

#include <QClipboard>
#include <QLabel>
#include <QTextBrowser>
#include <QToolButton>
#include <QTreeView>
#include <QTreeWidget>
#include <catch2/catch.hpp>
#include <fstream>

#include "app/gui/actions.h"
#include "app/gui/keys_dialog.h"
#include "app/panels/builtin_panels.h"
#include "app/presenters/findings/finding_text.h"
#include "app/presenters/findings/hit_model.h"
#include "tests/gui/support/runs.h"
#include "tests/gui/support/window.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

namespace msdbg::test {
TEST_CASE("The window opens a run at the first finding", "[gui]") {
  Window w;
  w.open(nanRun());
  w.waitForCheck();
  const core::Graph& graph = w.window.document()->graph();
  CHECK(w.place().iteration == core::Iteration(4));
  CHECK(w.place().rank == core::Rank(1));
  CHECK(w.place().nodes == std::vector{*graph.findNode("network/conv2/Conv-op1")});
  CHECK(w.window.message().isEmpty());
}

TEST_CASE("All parts of the window count and name the hits alike", "[gui]") {
  Window w;
  w.open(nanRun());
  w.waitForCheck();
  const app::Findings& findings = w.window.document()->findings();
  const auto [faults, hints] = findings.counts();
  REQUIRE(faults > 1);
  CHECK(faults + hints == static_cast<std::int64_t>(findings.hits().size()));
  const QString counts = app::countsText(findings.counts());
  CHECK(counts.startsWith(QString("%1 faults").arg(faults)));
  CHECK(w.window.findChild<QLabel*>("checkState")->text() == counts);
  CHECK(w.window.findChild<QLabel*>("hitLabel")->text() == counts);
  CHECK(w.window.findChild<QToolButton*>("faultsButton")->text() == QString("Faults %1").arg(faults));
  CHECK(w.window.findChild<QToolButton*>("hintsButton")->text() == QString("Hints %1").arg(hints));
  const QAbstractItemModel* list = w.window.findChild<QTreeView*>("hitView")->model();
  const QString title = list->index(0, app::HitModel::kCondition).data().toString();
  CHECK(title == app::titleOf(*findings.report()->first));
  CHECK(
      w.window.findChild<QTextBrowser*>("findingAnswer")->toPlainText().startsWith("FIRST WRONG: " + title));
}

TEST_CASE("Counts of hits are written as people say them") {
  CHECK(app::countsText({0, 0}) == "no hits");
  CHECK(app::countsText({1, 0}) == "1 fault");
  CHECK(app::countsText({0, 2}) == "2 hints");
  CHECK(app::countsText({1234, 1}) == "1,234 faults, 1 hint");
}

TEST_CASE("Keys walk iterations, ranks, hits and back", "[gui]") {
  Window w;
  w.open(nanRun());
  w.waitForCheck();
  const app::Place first = w.place();
  w.trigger("nextIteration");
  CHECK(w.place().iteration == core::Iteration(5));
  w.trigger("previousRank");
  CHECK(w.place().rank == core::Rank(0));
  w.trigger("lastIteration");
  CHECK(w.place().iteration == core::Iteration(9));
  w.trigger("backTen");
  CHECK(w.place().iteration == core::Iteration(0));
  w.trigger("firstFinding");
  CHECK(w.place() == first);
  w.trigger("nextHit");
  const app::Place second = w.place();
  CHECK(second != first);
  w.trigger("previousHit");
  CHECK(w.place().nodes == first.nodes);
  w.trigger("back");
  CHECK(w.place() == second);
}

TEST_CASE("A folder that is no run leaves the open run as it is and says why", "[gui]") {
  const TempDir folder;
  Window w;
  w.open(folder.path());
  CHECK_THAT(w.window.message().toStdString(), Catch::Contains("run.json"));
  CHECK(w.window.document() == nullptr);
  w.open(nanRun());
  app::Document* document = w.window.document();
  REQUIRE(document);
  w.open(folder.path());
  CHECK(w.window.document() == document);
  CHECK_THAT(w.window.message().toStdString(), Catch::Contains("run.json"));
}

TEST_CASE("A run that vanishes while it is open leaves a window that works", "[gui]") {
  const TempDir folder;
  const auto copy = copyOf(nanRun(), folder.path());
  Window w;
  w.open(copy);
  w.waitForCheck();
  std::filesystem::remove_all(copy);
  for (const char* step :
       {"previousIteration", "nextRank", "previousRank", "nextHit", "lastIteration", "recheck"}) {
    w.trigger(step);
    CHECK(eventually([&] { return w.window.settled(); }));
  }
  w.open(nanRun());
  CHECK(w.window.document()->isOpen());
}

TEST_CASE("A run with a damaged segment opens, says what is damaged, and shows the rest", "[gui]") {
  const TempDir folder;
  const auto copy = copyOf(nanRun(), folder.path());
  std::filesystem::path segment;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(copy))
    if (entry.path().extension() == ".h5" && (segment.empty() || entry.path() < segment)) segment = entry;
  REQUIRE_FALSE(segment.empty());
  std::filesystem::resize_file(segment, std::filesystem::file_size(segment) / 2);
  Window w;
  w.open(copy);
  w.waitForCheck();
  w.trigger("lastIteration");
  CHECK(eventually([&] { return w.window.settled(); }));
  CHECK(w.place().iteration == core::Iteration(9));
}

TEST_CASE("Every panel copies a command that works", "[gui]") {
  Window w;
  w.open(nanRun());
  w.waitForCheck();
  REQUIRE_FALSE(app::builtinPanels().empty());
  for (const app::PanelFactory factory : app::builtinPanels()) {
    const app::PanelDef def = factory();
    const std::string command = w.window.panel(def.id)->command().toStdString();
    CAPTURE(def.id, command);
    const bool waits = std::string_view(def.id) == "search" || std::string_view(def.id) == "answer";
    if (waits && command.empty()) continue;  // nothing was searched, no question was asked
    REQUIRE_THAT(command, Catch::StartsWith("msdbg "));
    const std::string path = (buildDir() / "bin").string() + ":" + std::getenv("PATH");
    const RunResult result = runCommand({"sh", "-c", command}, {.environment = {{"PATH", path}}});
    CAPTURE(result.err);
    CHECK((result.exitStatus == 0 || result.exitStatus == 3));
  }
}

TEST_CASE("F1 lists every key of the window and of its panels", "[gui]") {
  gui();
  app::KeysDialog dialog(nullptr);
  const auto* tree = dialog.findChild<QTreeWidget*>("keys");
  QStringList keys;
  for (int g = 0; g < tree->topLevelItemCount(); ++g)
    for (int i = 0; i < tree->topLevelItem(g)->childCount(); ++i)
      keys << tree->topLevelItem(g)->child(i)->text(0);
  for (const app::WindowAction& action : app::windowActions())
    for (const QKeySequence& key : action.keys) {
      CAPTURE(action.id);
      CHECK(keys.filter(key.toString(QKeySequence::NativeText)).size() >= 1);
    }
  for (const app::PanelFactory factory : app::builtinPanels())
    CHECK(keys.contains(QKeySequence(factory().shortcut).toString(QKeySequence::NativeText)));
}

TEST_CASE("No two actions of the window share a key", "[gui]") {
  std::map<QString, std::string> users;
  const auto claim = [&](const QKeySequence& key, const std::string& user) {
    const auto [entry, added] = users.emplace(key.toString(), user);
    CAPTURE(key.toString().toStdString(), user, entry->second);
    CHECK(added);
  };
  for (const app::WindowAction& action : app::windowActions())
    for (const QKeySequence& key : action.keys) claim(key, action.id);
  for (const app::PanelFactory factory : app::builtinPanels())
    claim(QKeySequence(factory().shortcut), factory().id);
}

}  // namespace msdbg::test
