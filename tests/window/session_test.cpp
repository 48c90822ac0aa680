// One session of a user with the real window on a real display: clicks, keys, a drag of the slider, a form,
// an export, closing and coming back. What the window shows is compared with what the command line prints.
#include <Qsci/qsciscintilla.h>

#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QDockWidget>
#include <QElapsedTimer>
#include <QFile>
#include <QFileDialog>
#include <QJsonDocument>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QSlider>
#include <QSpinBox>
#include <QTableView>
#include <QTest>
#include <QTimer>
#include <QToolButton>
#include <QTreeView>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "app/gui/main_window.h"
#include "app/presenters/findings/hit_model.h"
#include "app/presenters/place_json.h"
#include "tests/gui/support/runs.h"
#include "tests/gui/support/source_margin.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"
#include "tests/window/display.h"

namespace Catch {
template <>
struct StringMaker<QJsonObject> {
  static std::string convert(const QJsonObject& json) { return QJsonDocument(json).toJson().toStdString(); }
};
}  // namespace Catch

namespace msdbg::test {
namespace {

using Json = nlohmann::json;
using Names = std::set<std::string>;

// 1.0 is printed like any double: the values of both faces are floats that are written to be read back.
double number(const Json& value) {
  return value.is_number() ? value.get<double>() : std::strtod(value.get<std::string>().c_str(), nullptr);
}

class Session {
 public:
  explicit Session(std::filesystem::path run) : m_run(std::move(run)), m_window(m_theme, keep()) {
    m_theme.setTheme(app::Theme::kLight);
    m_window.resize(1500, 950);
    m_window.show();
    m_window.activateWindow();
    REQUIRE(QTest::qWaitForWindowActive(&m_window));
    m_window.openRun(QString::fromStdString(m_run.string()));
    waitFor([this] { return m_window.document() != nullptr; });
    settle();
  }

  app::MainWindow& window() { return m_window; }
  app::Document& document() { return *m_window.document(); }
  const app::Place& place() { return document().cursor().place(); }
  app::Panel& panel(const char* id) { return *m_window.panel(id); }
  template <typename T>
  T* find(const char* panelId, const char* name) {
    T* found = panel(panelId).findChild<T*>(name);
    CAPTURE(panelId, name);
    REQUIRE(found);
    return found;
  }

  void waitFor(const std::function<bool()>& condition) {
    REQUIRE(QTest::qWaitFor(condition, 30000));
    QCoreApplication::processEvents();
  }
  /// Everything is shown and the check has ended.
  void settle() {
    waitFor([this] {
      return document().findings().state() != app::Findings::State::kChecking && m_window.settled();
    });
  }
  void key(int key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QWidget* focus = QApplication::focusWidget();
    QTest::keyClick(focus ? focus : &m_window, static_cast<Qt::Key>(key), modifiers);
    settle();
  }
  void click(QWidget* widget) {
    QTest::mouseClick(widget, Qt::LeftButton);
    settle();
  }
  Json cli(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin() + 1, m_run.string());
    arguments.push_back("--json");
    return Json::parse(runMsdbg(arguments).out);
  }
  Names selected() {
    Names names;
    for (const core::NodeId node : place().nodes) names.insert(document().graph().node(node).name);
    return names;
  }
  Names searched(const std::string& query) {
    Names names;
    const Json found = cli({"search", query});
    for (const Json& node : found.at("nodes")) names.insert(node.at("name"));
    return names;
  }
  void select(const char* node) {
    document().cursor().selectNode(*document().graph().findNode(node));
    settle();
  }

 private:
  static app::MainWindow::Keep keep() {
    displayedGui();
    return app::MainWindow::Keep::kSessions;
  }
  std::filesystem::path m_run;
  app::ThemeController m_theme;
  app::MainWindow m_window;
};

// The rows of the values table against `msdbg show`'s slice of the same plane.
void compareTable(Session& s, const std::string& tensor) {
  auto* table = s.find<QTableView>("tensor", "valuesA");
  const QAbstractItemModel& model = *table->model();
  const app::Place place = s.place();
  // conv2's weights: the plane [0, 0, :, :].
  const Json shown = s.cli({"show", "--tensor", tensor, "--iteration", std::to_string(place.iteration.value),
                            "--rank", std::to_string(place.rank.value), "--slice", "0,0"});
  const Json& rows = shown.at("values");
  REQUIRE(model.rowCount() == static_cast<int>(rows.size()));
  s.waitFor([&] { return model.index(0, 0).data().toString() != "…"; });
  for (int r = 0; r < model.rowCount(); ++r)
    for (int c = 0; c < model.columnCount(); ++c) {
      const double window = model.index(r, c).data().toString().toDouble();
      const double printed = number(rows[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)]);
      CHECK((std::isnan(printed) ? std::isnan(window) : window == Approx(printed).epsilon(1e-5)));
    }
}

// Answers the file dialog that the next action opens.
void answerFileDialog(const QString& path) {
  auto* timer = new QTimer(qApp);
  QObject::connect(timer, &QTimer::timeout, qApp, [timer, path] {
    auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
    if (!dialog) return;
    timer->deleteLater();
    dialog->findChild<QLineEdit*>("fileNameEdit")->setText(path);
    QTest::keyClick(dialog->findChild<QLineEdit*>("fileNameEdit"), Qt::Key_Return);
  });
  timer->start(50);
}

std::string bytesOf(const std::filesystem::path& path) {
  QFile file(QString::fromStdString(path.string()));
  REQUIRE(file.open(QIODevice::ReadOnly));
  return file.readAll().toStdString();
}

}  // namespace

TEST_CASE("A session: line to nodes, node to line, values, findings, a watchpoint, an export, and back again",
          "[window]") {
  displayedGui();
  const TempDir folder;
  const std::filesystem::path run = copyOf(nanRun(), folder.path());
  QJsonObject kept;
  {
    Session s(run);
    INFO("the window opens at what went wrong first");
    const Json first = s.cli({"check"}).at("first");
    CHECK(s.place().iteration.value == first.at("iteration").get<std::int64_t>());
    CHECK(s.place().rank.value == first.at("rank").get<std::int64_t>());
    CHECK(s.selected() == Names{first.at("node").get<std::string>()});

    INFO("a click in the margin selects exactly what search gives");
    auto* source = s.find<QsciScintilla>("source", "sourceView");
    const int line = s.place().line->line;
    const Names before = s.selected();
    for (const int clicked : {line + 1, line}) {
      QTest::mouseClick(source->viewport(), Qt::LeftButton, {}, marginAt(*source, 1, clicked));
      s.settle();
      CHECK(s.selected() == s.searched("lenet5.cpp:" + std::to_string(clicked)));
    }
    CHECK(s.selected() != before);

    INFO("selecting a node moves the source");
    s.select("network/fc1/Gemm-op1");
    const core::Graph& graph = s.document().graph();
    const core::Frame* frame = graph.userFrame(graph.node(s.place().nodes.front()).frames);
    int caret = 0, column = 0;
    source->getCursorPosition(&caret, &column);
    CHECK(caret + 1 == frame->line);

    INFO("slider, rank and keys change the table to the values of show");
    s.document().cursor().selectTensor(*graph.findTensor("network/conv2/weight"));
    s.settle();
    compareTable(s, "network/conv2/weight");
    auto* slider = s.find<QSlider>("timeline", "iterationSlider");
    slider->setValue(slider->minimum());
    s.settle();
    CHECK(s.place().iteration == core::Iteration(0));
    compareTable(s, "network/conv2/weight");
    QTest::keyClick(slider, Qt::Key_PageUp);
    s.settle();
    CHECK(s.place().iteration > core::Iteration(0));
    auto* rank = s.find<QComboBox>("timeline", "rankCombo");
    QTest::keyClick(rank, rank->currentIndex() == 0 ? Qt::Key_Down : Qt::Key_Up);
    s.settle();
    compareTable(s, "network/conv2/weight");
    s.panel("graph").takeFocus();
    const core::Iteration at = s.place().iteration;
    s.key(Qt::Key_Left);
    CHECK(s.place().iteration.value == at.value - 1);
    s.key(Qt::Key_Right);
    CHECK(s.place().iteration == at);
    compareTable(s, "network/conv2/weight");

    INFO("a click on a finding moves all panels");
    auto* hits = s.find<QTreeView>("findings", "hitView");
    const QModelIndex row = hits->model()->index(3, 0);
    hits->scrollTo(row);
    QTest::mouseClick(hits->viewport(), Qt::LeftButton, {}, hits->visualRect(row).center());
    s.settle();
    CHECK(QString::number(s.place().iteration.value) == hits->model()->index(row.row(), 1).data().toString());
    CHECK(QString::number(s.place().rank.value) ==
          hits->model()->index(row.row(), app::HitModel::kRank).data().toString());
    CHECK(s.find<QSpinBox>("timeline", "iterationSpin")->value() == s.place().iteration.value);
    source->getCursorPosition(&caret, &column);
    CHECK(caret + 1 == s.place().line->line);
    const Json shown = Json::parse(
        runCommand({"sh", "-c", (s.panel("tensor").command() + " --json").toStdString()},
                   {.environment = {{"PATH", (buildDir() / "bin").string() + ":" + std::getenv("PATH")}}})
            .out);
    CHECK(shown.at("iteration") == s.place().iteration.value);
    CHECK(shown.at("rank") == s.place().rank.value);

    INFO("a watchpoint is added through its form and checked");
    const std::size_t entries = s.document().findings().entries().size();
    auto* section = s.find<QToolButton>("findings", "watchpointsTitle");
    if (!section->isChecked()) s.click(section);
    s.click(s.find<QToolButton>("findings", "addWatchpoint"));
    auto* condition = s.find<QComboBox>("findings", "conditionCombo");
    QTest::keyClicks(condition, "gradient");
    REQUIRE(condition->currentData().toString() == "gradient_vanishing");
    auto* accept = s.find<QPushButton>("findings", "conditionOk");
    CHECK_FALSE(accept->isEnabled());  // one of its parameters is needed
    QTest::keyClicks(s.find<QLineEdit>("findings", "abs_mean_lt"), "0.5");
    REQUIRE(accept->isEnabled());
    s.click(accept);
    REQUIRE(s.document().findings().entries().size() == entries + 1);
    CHECK(s.document().findings().entries().back().watchpoint.text() == "gradient_vanishing:abs_mean_lt=0.5");
    CHECK(s.document().findings().stale());
    s.key(Qt::Key_F5);
    CHECK_FALSE(s.document().findings().stale());
    std::vector<std::string> check = {"check"};
    for (const auto& entry : s.document().findings().entries())
      if (entry.enabled) check.insert(check.end(), {"-w", entry.watchpoint.argument()});
    CHECK(s.document().findings().report()->hits.size() == s.cli(check).at("hits").size());

    INFO("an export is what show --npy writes");
    s.document().cursor().selectTensor(*graph.findTensor("network/conv2/weight"));
    s.document().cursor().setIteration(core::Iteration(2));
    s.settle();
    const std::filesystem::path exported = folder / "w.npy", printed = folder / "cli.npy";
    auto* menu = s.find<QToolButton>("tensor", "tensorExport")->menu();
    emit menu->aboutToShow();
    QAction* npy = nullptr;
    for (QAction* action : menu->actions())
      if (action->text().contains("npy", Qt::CaseInsensitive)) npy = action;
    REQUIRE(npy);
    answerFileDialog(QString::fromStdString(exported.string()));
    npy->trigger();
    s.waitFor([&] { return std::filesystem::exists(exported); });
    s.cli({"show", "--tensor", "network/conv2/weight", "--iteration", "2", "--rank",
           std::to_string(s.place().rank.value), "--npy", printed.string()});
    CHECK(bytesOf(exported) == bytesOf(printed));

    INFO("close: a hidden panel, the place and the watchpoint are kept");
    s.window().findChild<QDockWidget*>("searchDock")->hide();
    kept = app::placeJson(graph, s.place());
    s.window().close();
  }
  {
    Session s(run);
    CHECK(app::placeJson(s.document().graph(), s.place()) == kept);
    CHECK(s.document().findings().entries().size() == watch::recommendedSet().size() + 1);
    CHECK_FALSE(s.window().findChild<QDockWidget*>("searchDock")->isVisible());
    CHECK(s.window().size() == QSize(1500, 950));
    s.key(Qt::Key_F7);  // the added watchpoint finds something earlier than the NaN
    CHECK(s.place().iteration == s.document().findings().report()->first->iteration);
    CHECK(app::placeJson(s.document().graph(), s.place()) != kept);
    s.key(Qt::Key_Left, Qt::AltModifier);
    CHECK(app::placeJson(s.document().graph(), s.place()) == kept);
  }
}

}  // namespace msdbg::test
