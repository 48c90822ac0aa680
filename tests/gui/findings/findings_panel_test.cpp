#include "app/panels/findings/findings_panel.h"

#include <QAction>
#include <QClipboard>
#include <QComboBox>
#include <QDialog>
#include <QHeaderView>
#include <QJsonArray>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QRegularExpression>
#include <QTextBlock>
#include <QTextBrowser>
#include <QTextCursor>
#include <QToolButton>
#include <QTreeView>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/panels/findings/hit_list.h"
#include "dump/run_info.h"
#include "tests/gui/support/gui.h"
#include "tests/gui/support/runs.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

namespace msdbg::app {
namespace {

struct Shown {
  test::TempDir folder;
  std::filesystem::path run;
  std::unique_ptr<Document> document;
  FindingsPanel panel;

  explicit Shown(const std::filesystem::path& original)
      : run(test::copyOf(original, folder.path())), document(test::openDocument(run)) {
    panel.resize(360, 760);
    panel.show();
    panel.setDocument(document.get());
  }
  template <typename T>
  T* child(const char* name) {
    T* found = panel.findChild<T*>(name);
    REQUIRE(found);
    return found;
  }
  void press(const char* name) { child<QToolButton>(name)->click(); }
  void choose(const char* condition) {
    auto* combo = child<QComboBox>("conditionCombo");
    const int index = combo->findData(condition);
    combo->setCurrentIndex(index);
    emit combo->activated(index);
  }
  void waitForReport() {
    REQUIRE(test::eventually([this] { return panel.settled(); }, 60));
    REQUIRE(document->findings().state() == Findings::State::kDone);
  }
  QString answer() { return child<QTextBrowser>("findingAnswer")->toPlainText(); }
  QString answerLine() { return answer().section('\n', 0, 0); }
  Findings& findings() { return document->findings(); }
};

// The colour of the first words and of the last ones in the headline.
std::pair<QColor, QColor> headlineColours(QTextBrowser& answer) {
  const QTextBlock line = answer.document()->firstBlock();
  QTextCursor at(line);
  at.movePosition(QTextCursor::NextCharacter);
  const QColor first = at.charFormat().foreground().color();
  at.movePosition(QTextCursor::EndOfBlock);
  return {first, at.charFormat().foreground().color()};
}

void endAs(const std::filesystem::path& run, const std::string& state) {
  dump::RunInfo info = dump::readRunInfo(run).value();
  info.end.state = state;
  info.end.iteration = 9;
  REQUIRE(dump::writeRunInfo(run, info).ok());
}

TEST_CASE("Only a run that ended well and was read in whole is green") {
  const test::TempDir folder;
  const auto run = test::copyOf(test::cleanRun(), folder.path());
  const auto [how, said] =
      GENERATE(table<std::string, std::string>({{"finished", "no fault found; the run is complete"},
                                                {"killed",
                                                 "no fault found in what was recorded; the run was killed at "
                                                 "iteration 9"},
                                                {"failed",
                                                 "no fault found in what was recorded; the run failed at "
                                                 "iteration 9"}}));
  endAs(run, how);
  Shown shown(run);
  shown.findings().setEntries({{*watch::parseWatchpoint("tensor_overflow")}});
  test::check(*shown.document);
  CHECK(shown.answerLine().toStdString() == said);
  const QColor good = graphview::lookOf(shown.panel.palette()).good;
  const auto colours = headlineColours(*shown.child<QTextBrowser>("findingAnswer"));
  CHECK((colours.first == good) == (how == "finished"));
  CHECK((colours.second == good) == (how == "finished"));
}

TEST_CASE("What is worth a look is no green answer") {
  Shown shown(test::cleanRun());
  shown.findings().setEntries(
      {{*watch::parseWatchpoint("weight_change_too_small:abs_mean_update_ratio_lt=10")}});
  test::check(*shown.document);
  CHECK(shown.answerLine() == "no fault found; worth a look: Weight change too small; the run is complete");
  const auto colours = headlineColours(*shown.child<QTextBrowser>("findingAnswer"));
  CHECK(colours.first == graphview::lookOf(shown.panel.palette()).hint);
}

TEST_CASE("A run with lost segments says how many in its headline, and names them in words of ours") {
  const test::TempDir folder;
  const auto run = test::copyOf(test::cleanRun(), folder.path());
  std::vector<std::filesystem::path> segments;
  for (const auto& file : std::filesystem::directory_iterator(run / "rank_0"))
    if (file.path().extension() == ".h5") segments.push_back(file.path());
  std::ranges::sort(segments);
  std::ofstream(segments.front(), std::ios::in | std::ios::binary) << "no HDF5 any more";
  Shown shown(run);
  test::check(*shown.document);
  CHECK(shown.answerLine().toStdString() ==
        "no fault found in what could be read; 1 of " + std::to_string(segments.size()) +
            (segments.size() == 1 ? " segment" : " segments") + " is damaged; the run is complete");
  const auto colours = headlineColours(*shown.child<QTextBrowser>("findingAnswer"));
  CHECK(colours.first != graphview::lookOf(shown.panel.palette()).good);
  const std::string file = "rank_0/" + segments.front().filename().string();
  CHECK_THAT(shown.answer().toStdString(),
             Catch::Contains(file + " is damaged: iteration") && Catch::Contains("of rank 0") &&
                 Catch::Contains("Copy these files again") && Catch::Contains("(H5Fopen failed"));
}

TEST_CASE("A click on a place in the answer goes there") {
  Shown shown(test::nanRun());
  test::check(*shown.document);
  QString panel;
  QObject::connect(&shown.panel, &Panel::panelWanted, [&](const QString& id) { panel = id; });
  auto* answer = shown.child<QTextBrowser>("findingAnswer");
  const auto click = [&](const char* target) { emit answer->anchorClicked(QUrl(QLatin1String(target))); };
  const QString html = answer->toHtml();
  for (const char* target : {"iteration:4", "rank:1", "line:lenet5.cpp:", "node:grad/network/"})
    CHECK_THAT(html.toStdString(), Catch::Contains("href=\"" + std::string(target)));
  click("first");
  const core::NodeId first = shown.document->cursor().node();
  click("iteration:2");
  click("rank:0");
  CHECK(shown.document->cursor().iteration() == core::Iteration(2));
  CHECK(shown.document->cursor().rank() == core::Rank(0));
  CHECK(shown.document->cursor().node() == first);
  CHECK(panel.isEmpty());
  const QRegularExpressionMatch line =
      QRegularExpression(QStringLiteral("href=\"(line:lenet5.cpp:(\\d+))\"")).match(html);
  REQUIRE(line.hasMatch());
  click(line.captured(1).toLatin1().constData());
  CHECK(shown.document->cursor().place().line->line == line.captured(2).toInt());
  CHECK(shown.document->cursor().node() == first);  // it is of that line
  CHECK(panel == "source");
  click("node:network/conv1/Conv-op1");
  CHECK(shown.document->graph().node(shown.document->cursor().node()).name == "network/conv1/Conv-op1");
}

TEST_CASE("The menu of a hit goes to its place, copies its names, and watches its tensor") {
  Shown shown(test::nanRun());
  test::check(*shown.document);
  QString panel;
  QObject::connect(&shown.panel, &Panel::panelWanted, [&](const QString& id) { panel = id; });
  auto* view = shown.child<QTreeView>("hitView");
  view->setCurrentIndex(view->model()->index(0, 0));
  const auto choose = [&](const char* name) {
    emit view->customContextMenuRequested({-1, -1});  // as the Menu key does where the hit is out of sight
    auto* menu = shown.child<QMenu>("hitMenu");
    menu->findChild<QAction*>(name)->trigger();
    delete menu;
  };
  const Place place = shown.findings().placeOf(shown.findings().hits().front());
  choose("showValues");
  CHECK(shown.document->cursor().place() == place);
  CHECK(panel == "tensor");
  choose("goToSource");
  CHECK(panel == "source");
  choose("copyNode");
  CHECK(QGuiApplication::clipboard()->text() == "network/conv2/Conv-op1");
  choose("copyCommand");
  CHECK(QGuiApplication::clipboard()->text().endsWith(
      "--tensor network/conv2/Conv-op1 --iteration 4 --rank 1"));
  choose("watchTensor");
  CHECK(panel == "findings");
  CHECK(shown.child<QDialog>("watchpointDialog")->isVisible());
  CHECK(shown.child<QLineEdit>("tensors")->text() == "network/conv2/Conv-op1");
  shown.choose("tensor_overflow");
  CHECK(shown.child<QLineEdit>("tensors")->text() == "network/conv2/Conv-op1");
  shown.child<QPushButton>("conditionOk")->click();
  CHECK(shown.findings().entries().back().watchpoint.text() ==
        "tensor_overflow:tensors=network/conv2/Conv-op1");
  CHECK_FALSE(shown.child<QDialog>("watchpointDialog")->isVisible());
}

TEST_CASE("A small panel shows what has room in it, and all of it again when it is large") {
  Shown shown(test::nanRun());
  shown.findings().recheck();
  shown.waitForReport();
  auto* view = shown.child<QTreeView>("hitView");
  shown.panel.resize(360, 300);
  REQUIRE(view->isVisible());
  CHECK(view->header()->length() <= view->viewport()->width());
  CHECK(view->isColumnHidden(HitModel::kLine));
  CHECK_FALSE(view->isColumnHidden(HitModel::kWhere));
  CHECK(view->viewport()->height() >= 3 * view->visualRect(view->model()->index(0, 0)).height());
  shown.press("watchpointsTitle");
  shown.press("addWatchpoint");
  auto* form = shown.child<QDialog>("watchpointDialog");
  CHECK((form->isVisible() && !form->isModal()));
  CHECK(view->isVisible());
  CHECK(view->viewport()->height() >= view->visualRect(view->model()->index(0, 0)).height());
  CHECK(shown.child<QTextBrowser>("findingAnswer")->isVisible());
  shown.panel.resize(700, 800);
  CHECK_FALSE(view->isColumnHidden(HitModel::kLine));
  CHECK_FALSE(view->isColumnHidden(HitModel::kActual));
}

TEST_CASE("The findings panel says what is first wrong and a click on a hit goes there") {
  Shown shown(test::nanRun());
  CHECK(shown.child<QLabel>("findingsStatus")->text() == "not checked yet");
  shown.child<QPushButton>("recheckButton")->click();
  CHECK(shown.child<QPushButton>("cancelCheckButton")->isVisible());
  CHECK(shown.child<QLabel>("findingsStatus")->text().startsWith("checking"));
  shown.waitForReport();
  CHECK(shown.answerLine() ==
        "FIRST WRONG: Origin of NaN or Inf at network/conv2/Conv-op1, rank 1, iteration 4; the run is "
        "complete");
  CHECK(shown.answer().contains("the loss of rank 1 is nan from iteration 4 on"));
  CHECK_FALSE(shown.child<QPushButton>("recheckButton")->isEnabled());

  auto* view = shown.child<QTreeView>("hitView");
  CHECK(view->model()->rowCount() == static_cast<int>(shown.findings().hits().size()));
  emit view->clicked(view->model()->index(0, 2));
  CHECK(shown.document->cursor().place() == shown.findings().placeOf(*shown.findings().report()->first));
  CHECK(view->currentIndex().row() == 0);
  view->setCurrentIndex(view->model()->index(3, 0));
  QKeyEvent enter(QEvent::KeyPress, Qt::Key_Return, Qt::NoModifier);
  QCoreApplication::sendEvent(view, &enter);
  CHECK(shown.document->cursor().place() == shown.findings().placeOf(shown.findings().hits()[3]));
  emit shown.child<QTextBrowser>("findingAnswer")->anchorClicked(QUrl("first"));
  CHECK(shown.document->cursor().place() == shown.findings().placeOf(*shown.findings().report()->first));
  CHECK(view->currentIndex().row() == 0);
}

TEST_CASE("Faults and hints are shown or not") {
  Shown shown(test::nanRun());
  test::check(*shown.document);
  auto* view = shown.child<QTreeView>("hitView");
  const int all = view->model()->rowCount();
  const auto faults =
      std::ranges::count(shown.findings().hits(), watch::Severity::kFault, &watch::Hit::effectiveSeverity);
  shown.child<QToolButton>("faultsButton")->click();
  CHECK(view->model()->rowCount() == all - faults);
  shown.child<QToolButton>("faultsButton")->click();
  CHECK(view->model()->rowCount() == all);
  CHECK(shown.child<QToolButton>("faultsButton")->text() == QString("Faults %1").arg(faults));
}

TEST_CASE("A watchpoint is added through its form, checked, and the command finds the same") {
  Shown shown(test::cleanRun());
  test::check(*shown.document);
  CHECK(shown.answerLine() == "no fault found; the run is complete");
  shown.press("watchpointsTitle");
  shown.press("addWatchpoint");
  shown.choose("gradient_vanishing");
  auto* ok = shown.child<QPushButton>("conditionOk");
  auto* error = shown.child<QLabel>("conditionError");
  CHECK_FALSE(ok->isEnabled());
  CHECK(error->text().contains("needs at least one of"));
  auto* field = shown.child<QLineEdit>("abs_mean_lt");
  field->setText("-3");
  CHECK_FALSE(ok->isEnabled());
  CHECK(error->text().contains("[0, inf)"));
  field->setText("10");
  CHECK(ok->isEnabled());
  CHECK_FALSE(error->isVisible());
  ok->click();

  auto* view = shown.child<QTreeView>("watchpointView");
  CHECK(view->isVisible());
  CHECK(view->model()->index(view->model()->rowCount() - 1, 1).data() == "abs_mean_lt = 10");
  CHECK(shown.child<QLabel>("findingsNotice")->text().contains("have changed"));
  shown.child<QPushButton>("recheckButton")->click();
  shown.waitForReport();
  CHECK(shown.answerLine().startsWith("FIRST WRONG: Gradient vanishing"));
  CHECK_FALSE(shown.child<QLabel>("findingsNotice")->isVisible());

  // The whole set and one more; one of the set left out; one alone.
  const int left = GENERATE(0, 1, 13);
  for (int i = 0; i < left; ++i) shown.findings().remove(0);
  test::check(*shown.document);
  const auto result = test::runCommand({"sh", "-c",
                                        "PATH=" + (test::buildDir() / "bin").string() + ":$PATH " +
                                            shown.panel.command().toStdString() + " --json"});
  CHECK(result.exitStatus == 3);
  const auto json = nlohmann::json::parse(result.out);
  CHECK(json["watchpoints"].size() == shown.findings().entries().size());
  CHECK(json["hits_in_all"] == shown.findings().report()->hits.size());
  CHECK(json["evaluated"] == shown.findings().report()->evaluated);
}

TEST_CASE("A watchpoint is changed, removed, and the recommended set comes back") {
  Shown shown(test::cleanRun());
  shown.press("watchpointsTitle");
  auto* view = shown.child<QTreeView>("watchpointView");
  CHECK_FALSE(shown.child<QToolButton>("editWatchpoint")->isEnabled());
  int row = 0;
  while (shown.findings().entries()[std::size_t(row)].watchpoint.condition->id != "gradient_vanishing") ++row;
  view->setCurrentIndex(view->model()->index(row, 0));
  shown.press("editWatchpoint");
  CHECK(shown.child<QLineEdit>("abs_mean_lt")->text() == "1e-09");
  CHECK(shown.child<QComboBox>("conditionCombo")->currentData() == "gradient_vanishing");
  shown.child<QLineEdit>("abs_mean_lt")->setText("0.5");
  shown.child<QPushButton>("conditionOk")->click();
  CHECK(shown.findings().entries()[std::size_t(row)].watchpoint.text() ==
        "gradient_vanishing:abs_mean_lt=0.5");
  CHECK_FALSE(shown.findings().isRecommendedSet());

  const std::size_t before = shown.findings().entries().size();
  view->setCurrentIndex(view->model()->index(0, 0));
  shown.press("removeWatchpoint");
  CHECK(shown.findings().entries().size() == before - 1);
  shown.press("addWatchpoint");
  QKeyEvent escape(QEvent::KeyPress, Qt::Key_Escape, Qt::NoModifier);
  QCoreApplication::sendEvent(shown.child<QComboBox>("conditionCombo")->parentWidget(), &escape);
  CHECK(shown.findings().entries().size() == before - 1);
  CHECK(view->isVisible());
  shown.press("resetWatchpoints");
  CHECK(shown.findings().isRecommendedSet());
  CHECK_FALSE(shown.child<QToolButton>("resetWatchpoints")->isEnabled());
}

TEST_CASE("Cancelling a check is said, and the report before it stays") {
  Shown shown(test::nanRun());
  test::check(*shown.document);
  const QString before = shown.answer();
  shown.findings().setEnabled(0, false);
  shown.child<QPushButton>("recheckButton")->click();
  shown.child<QPushButton>("cancelCheckButton")->click();
  CHECK(shown.child<QLabel>("findingsStatus")->text() == "cancelled");
  CHECK(shown.answer() == before);
  CHECK(shown.child<QPushButton>("recheckButton")->isEnabled());
}

TEST_CASE("Damage that a check came across is named in its answer") {
  test::TempDir folder;
  const auto run = test::copyOf(test::nanRun(), folder.path());
  for (const auto& file : std::filesystem::directory_iterator(run / "rank_0"))
    if (file.path().extension() == ".h5") std::filesystem::resize_file(file.path(), 1000);
  Shown shown(run);
  test::check(*shown.document);
  CHECK(shown.answer().contains("rank_0/segment_"));
  CHECK(shown.answer().contains("the file is damaged"));
}

TEST_CASE("Without a document the findings panel forgets everything; any state can be restored") {
  Shown shown(test::nanRun());
  test::check(*shown.document);
  const QJsonObject state = shown.panel.state();
  shown.panel.restore({{"watchpoints_open", "x"}, {"splitter", 7}, {"faults", QJsonArray{}}});
  shown.panel.restore(state);
  CHECK(shown.panel.state()["faults"] == state["faults"]);
  shown.panel.setDocument(nullptr);
  shown.document.reset();
  CHECK(shown.panel.command().isEmpty());
  CHECK(shown.panel.settled());
  CHECK(shown.answer().startsWith("Open a run"));
  CHECK_FALSE(shown.child<QTreeView>("hitView")->isVisible());
  shown.panel.grab();
}

}  // namespace
}  // namespace msdbg::app
