#include "app/panels/search/search_panel.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QHeaderView>
#include <QJsonArray>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTreeView>
#include <catch2/catch.hpp>

#include "tests/gui/support/gui.h"
#include "tests/gui/support/runs.h"
#include "tests/support/run_command.h"

using namespace msdbg;
using app::SearchPanel;

namespace {

struct Shown {
  std::unique_ptr<app::Document> document;
  std::unique_ptr<SearchPanel> panel;
  QLineEdit* field;
  QTreeView* results;
  explicit Shown(const std::filesystem::path& run)
      : document(test::openDocument(run)), panel(new SearchPanel(nullptr)) {
    panel->resize(360, 400);
    panel->show();
    panel->setDocument(document.get());
    field = panel->findChild<QLineEdit*>("searchField");
    results = panel->findChild<QTreeView*>("searchResults");
  }
  void settle() const {
    REQUIRE(test::eventually([&] { return panel->settled(); }));
  }
  QString message() const { return panel->findChild<QLabel*>("searchMessage")->text(); }
  std::vector<core::NodeId> selected() const { return document->cursor().place().nodes; }
  std::vector<core::NodeId> found() const { return panel->presenter()->results().nodes(); }
};

void press(QWidget& widget, int key, const QString& text = {}) {
  QKeyEvent down(QEvent::KeyPress, key, Qt::NoModifier, text);
  QCoreApplication::sendEvent(&widget, &down);
}

void type(QLineEdit& field, const QString& text) {
  for (const QChar c : text) press(field, 0, QString(c));
}

}  // namespace

TEST_CASE("A narrow panel shows names and lines without scrolling sideways", "[gui]") {
  const Shown shown(test::nanRun());
  CHECK_FALSE(shown.results->isVisible());
  type(*shown.field, "lenet5.cpp:20");
  shown.settle();
  REQUIRE(shown.results->isVisible());
  CHECK(shown.results->header()->length() <= shown.results->viewport()->width());
  CHECK_FALSE(shown.results->isColumnHidden(app::SearchModel::kLine));
  CHECK(shown.results->isColumnHidden(app::SearchModel::kOutput));
  shown.panel->resize(1000, 400);
  CHECK_FALSE(shown.results->isColumnHidden(app::SearchModel::kOutput));
}

TEST_CASE("Typing searches, Enter selects the first result even before it is there", "[gui]") {
  const Shown shown(test::nanRun());
  type(*shown.field, "ConvGradWeight");
  CHECK_FALSE(shown.panel->settled());
  press(*shown.field, Qt::Key_Return);
  shown.settle();
  REQUIRE(shown.found().size() == 2);
  CHECK(shown.message() == "2 nodes");
  CHECK(shown.selected() == std::vector{shown.found().front()});
  press(*shown.field, Qt::Key_Down);
  press(*shown.results, Qt::Key_Down);
  CHECK(shown.selected() == std::vector{shown.found().back()});
}

TEST_CASE("Select all selects every result and the table does not take it back", "[gui]") {
  const Shown shown(test::nanRun());
  const auto conv = shown.document->graph().findNode("network/conv1/Conv-op1");
  REQUIRE(conv);
  const auto line = app::lineOf(shown.document->graph(), shown.document->graph().node(*conv).frames);
  REQUIRE(line);
  shown.panel->search(QString("lenet5.cpp:%1").arg(line->line));
  shown.settle();
  REQUIRE(shown.found().size() > 1);
  emit shown.panel->findChild<QPushButton*>("searchSelectAll")->clicked();
  CHECK(shown.selected() == shown.found());
  CHECK(shown.document->cursor().place().line == line);
  CHECK(shown.results->currentIndex().row() == 0);
}

TEST_CASE("The result that is selected elsewhere is highlighted, and only highlighted", "[gui]") {
  const Shown shown(test::nanRun());
  shown.panel->search("conv1");
  shown.settle();
  REQUIRE(shown.found().size() > 3);
  const std::vector both{shown.found()[2], shown.found()[0]};
  shown.document->cursor().selectNodes(both);
  CHECK(shown.results->currentIndex().row() == 2);
  CHECK(shown.selected() == both);
  shown.document->cursor().clearSelection();
  CHECK_FALSE(shown.results->currentIndex().isValid());
  CHECK(shown.selected().empty());
}

TEST_CASE("Esc clears the search; a mistake is said with the nearest names", "[gui]") {
  const Shown shown(test::nanRun());
  shown.panel->search("network/conv9");
  shown.settle();
  CHECK(shown.message().startsWith("nothing in the graph is named 'network/conv9'"));
  CHECK_FALSE(shown.panel->findChild<QPushButton*>("searchSelectAll")->isVisible());
  press(*shown.field, Qt::Key_Escape);
  CHECK(shown.field->text().isEmpty());
  CHECK(shown.panel->settled());
  CHECK(shown.panel->command().isEmpty());
  CHECK_FALSE(shown.message().contains("conv9"));
}

TEST_CASE("The command of a search prints the same nodes", "[gui]") {
  const Shown shown(test::nanRun());
  shown.panel->search("*conv2*");
  shown.settle();
  CHECK(shown.panel->command() == "msdbg search " + shown.document->runArgument() + " '*conv2*'");
  const auto result = test::runMsdbg({"search", shown.document->path().string(), "*conv2*"});
  CHECK(result.exitStatus == 0);
  CHECK_THAT(result.out, Catch::Contains(shown.document->graph().node(shown.found().back()).name));
}

TEST_CASE("Queries that led somewhere are remembered, newest first, each once", "[gui]") {
  Shown shown(test::nanRun());
  for (const char* query : {"conv1", "conv2", "conv9", "conv1"}) {
    shown.panel->search(query);
    shown.settle();
    press(*shown.field, Qt::Key_Return);
  }
  const QJsonObject state = shown.panel->state();
  CHECK(state["history"].toArray() == QJsonArray{"conv1", "conv2"});
  press(*shown.field, Qt::Key_Escape);
  press(*shown.field, Qt::Key_Down);
  const auto* popup = shown.panel->findChild<QCompleter*>()->popup();
  CHECK(popup->isVisible());
  CHECK(popup->model()->rowCount() == 2);
  SearchPanel other(nullptr);
  other.restore(state);
  CHECK(other.state() == state);
  other.restore({{"history", 7}});
  CHECK(other.state()["history"].toArray().isEmpty());
}

TEST_CASE("Without a document the search panel forgets everything and says what to do", "[gui]") {
  const Shown shown(test::nanRun());
  shown.panel->search("conv1");
  shown.panel->setDocument(nullptr);
  CHECK(shown.field->text().isEmpty());
  CHECK_FALSE(shown.field->isEnabled());
  CHECK(shown.results->model() == nullptr);
  CHECK(shown.message() == "Open a run to search in it.");
  CHECK(shown.panel->command().isEmpty());
  CHECK(shown.panel->settled());
  shown.panel->search("conv1");
  CHECK(shown.panel->settled());
}
