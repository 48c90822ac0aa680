#include "app/panels/source/source_panel.h"

#include <Qsci/qscilexer.h>

#include <QAbstractButton>
#include <QComboBox>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMouseEvent>
#include <QShortcut>
#include <QTreeView>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "app/panels/builtin_panels.h"
#include "app/panels/source/source_view.h"
#include "tests/gui/support/gui.h"
#include "tests/gui/support/runs.h"
#include "tests/gui/support/source_margin.h"
#include "tests/support/run_command.h"

using namespace msdbg;
using app::SourcePanel;
using app::SourceView;
using Json = nlohmann::json;

namespace {

struct Shown {
  std::unique_ptr<app::Document> document;
  std::unique_ptr<SourcePanel> panel;
  SourceView* view;
  explicit Shown(const std::filesystem::path& run)
      : document(test::openDocument(run)), panel(new SourcePanel(nullptr)) {
    panel->resize(420, 600);
    panel->show();
    panel->setDocument(document.get());
    view = panel->findChild<SourceView*>("sourceView");
    QCoreApplication::processEvents();
  }
};

void press(QWidget& widget, int key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
  QKeyEvent down(QEvent::KeyPress, key, modifiers);
  QCoreApplication::sendEvent(&widget, &down);
}

// In the middle of a margin, beside a line that can be seen.
void clickMargin(SourceView& view, int margin, int line) {
  const QPointF at = test::marginAt(view, margin, line);
  for (const auto type : {QEvent::MouseButtonPress, QEvent::MouseButtonRelease}) {
    QMouseEvent event(type, at, view.viewport()->mapToGlobal(at), Qt::LeftButton, Qt::LeftButton,
                      Qt::NoModifier);
    QCoreApplication::sendEvent(view.viewport(), &event);
  }
}

std::vector<std::string> selected(app::Document& document) {
  std::vector<std::string> names;
  for (const core::NodeId id : document.cursor().place().nodes)
    names.push_back(document.graph().node(id).name);
  return names;
}

std::vector<std::string> searched(const std::filesystem::path& run, const std::string& query) {
  const Json json = Json::parse(test::runMsdbg({"search", run.string(), query, "--json"}).out);
  std::vector<std::string> names;
  for (const Json& node : json.at("nodes")) names.push_back(node.at("name"));
  return names;
}

std::uint32_t markersOf(SourceView& view, int line) { return view.markersAtLine(line - 1); }

}  // namespace

TEST_CASE("A click in any margin selects exactly the nodes that search gives", "[gui]") {
  Shown shown(test::nanRun());
  const int margin = GENERATE(0, 1, 2);
  const int line = shown.panel->presenter()->nodeCounts().rbegin()->first;
  shown.view->goTo(line);
  clickMargin(*shown.view, margin, line);
  const std::string query = "core_engine/models/lenet5.cpp:" + std::to_string(line);
  const auto expected = searched(shown.document->path(), query);
  REQUIRE_FALSE(expected.empty());
  CHECK(selected(*shown.document) == expected);
  CHECK(shown.view->line() == line);
  CHECK(shown.panel->command() == "msdbg search " + shown.document->runArgument() + " " + query.c_str());
}

TEST_CASE("A click beside a line without nodes names the nearest lines in the status bar", "[gui]") {
  Shown shown(test::nanRun());
  QString said;
  QObject::connect(shown.panel.get(), &app::Panel::status, [&](const QString& text) { said = text; });
  clickMargin(*shown.view, 0, 2);
  CHECK(said.startsWith("Line 2 made no node"));
  CHECK(selected(*shown.document).empty());
}

TEST_CASE("Selecting a node brings its line into view and highlights it and its frame", "[gui]") {
  Shown shown(test::nanRun());
  const auto node = shown.document->graph().findNode("network/fc3/Gemm-op1");
  REQUIRE(node);
  shown.document->cursor().selectNode(*node);
  const int line = shown.document->cursor().place().line->line;
  CHECK(shown.view->line() == line);
  CHECK(shown.view->caretLine() == line);
  const long top = shown.view->SendScintilla(QsciScintilla::SCI_GETFIRSTVISIBLELINE);
  const long seen = shown.view->SendScintilla(QsciScintilla::SCI_LINESONSCREEN);
  CHECK(top < line - 1);
  CHECK(line - 1 < top + seen);
  auto* frames = shown.panel->findChild<QTreeView*>("sourceFrames");
  CHECK(frames->isVisible());
  CHECK(frames->currentIndex().row() == shown.panel->presenter()->currentFrame());
}

TEST_CASE("A click on a frame inside the engine shows that file; the nodes stay selected", "[gui]") {
  Shown shown(test::nanRun());
  const auto node = shown.document->graph().findNode("network/fc3/Gemm-op1");
  shown.document->cursor().selectNode(*node);
  auto* frames = shown.panel->findChild<QTreeView*>("sourceFrames");
  const QModelIndex innermost = frames->model()->index(0, 0);
  REQUIRE(innermost.data(app::FrameModel::kEngineRole).toBool());
  emit frames->clicked(innermost);
  CHECK(selected(*shown.document) == std::vector<std::string>{"network/fc3/Gemm-op1"});
  CHECK(shown.panel->findChild<QComboBox*>("sourceFiles")->currentText() == "layers.cpp");
  CHECK(shown.view->text() == shown.panel->presenter()->text());
  CHECK(shown.view->line() == shown.panel->presenter()->frames().frames().front().line);
}

TEST_CASE("Keys: next line with nodes, Enter selects, ctrl+G goes to a line", "[gui]") {
  Shown shown(test::nanRun());
  const auto& counts = shown.panel->presenter()->nodeCounts();
  shown.view->goTo(1);
  shown.panel->findChild<QWidget*>("sourceNext")->setFocus();
  emit shown.panel->findChild<QAbstractButton*>("sourceNext")->clicked();
  CHECK(shown.view->caretLine() == counts.begin()->first);
  emit shown.panel->findChild<QAbstractButton*>("sourceNext")->clicked();
  CHECK(shown.view->caretLine() == std::next(counts.begin())->first);
  emit shown.panel->findChild<QAbstractButton*>("sourcePrevious")->clicked();
  CHECK(shown.view->caretLine() == counts.begin()->first);
  CHECK(selected(*shown.document).empty());
  press(*shown.view, Qt::Key_Return);
  CHECK(selected(*shown.document).size() == static_cast<std::size_t>(counts.begin()->second));
  const auto shortcut = [&](const QKeySequence& keys) {
    for (QShortcut* candidate : shown.panel->findChildren<QShortcut*>())
      if (candidate->key() == keys) emit candidate->activated();
  };
  shortcut(Qt::ALT | Qt::Key_Down);
  CHECK(shown.view->caretLine() == std::next(counts.begin())->first);
  shortcut(Qt::ALT | Qt::Key_Up);
  CHECK(shown.view->caretLine() == counts.begin()->first);
  auto* field = shown.panel->findChild<QLineEdit*>("sourceGoToLine");
  CHECK_FALSE(field->isVisible());
  shortcut(Qt::CTRL | Qt::Key_G);
  CHECK(field->isVisible());
  field->setText("3");
  press(*field, Qt::Key_Return);
  CHECK(shown.view->caretLine() == 3);
  CHECK_FALSE(field->isVisible());
}

TEST_CASE("The editor leaves the window its shortcuts", "[gui]") {
  Shown shown(test::nanRun());
  for (const auto& [key, modifiers] : {std::pair<int, Qt::KeyboardModifiers>(Qt::Key_F8, Qt::NoModifier),
                                       {Qt::Key_Left, Qt::AltModifier},
                                       {Qt::Key_Up, Qt::ControlModifier},
                                       {Qt::Key_F, Qt::ControlModifier},
                                       {Qt::Key_Left, Qt::NoModifier}}) {
    QKeyEvent event(QEvent::ShortcutOverride, key, modifiers);
    event.ignore();
    QCoreApplication::sendEvent(shown.view, &event);
    CAPTURE(key);
    CHECK_FALSE(event.isAccepted());
  }
}

TEST_CASE("Lines where something was found carry a mark after the check", "[gui]") {
  Shown shown(test::nanRun());
  const auto marked = [&] {
    std::vector<int> lines;
    for (int line = 1; line <= shown.view->lines(); ++line)
      if (markersOf(*shown.view, line) & 0b11100u) lines.push_back(line);
    return lines;
  };
  CHECK(marked().empty());
  test::check(*shown.document);
  std::vector<int> expected;
  for (const auto& [line, mark] : shown.panel->presenter()->marks()) expected.push_back(line);
  REQUIRE_FALSE(expected.empty());
  CHECK(marked() == expected);
}

TEST_CASE("Without a document the source panel forgets everything and says what to do", "[gui]") {
  Shown shown(test::nanRun());
  shown.panel->setDocument(nullptr);
  CHECK(shown.view->text().isEmpty());
  CHECK(shown.panel->command().isEmpty());
  CHECK(shown.panel->findChild<QLabel*>("sourceHint")->isVisible());
  CHECK_FALSE(shown.panel->findChild<QComboBox*>("sourceFiles")->isEnabled());
  CHECK_FALSE(shown.panel->findChild<QTreeView*>("sourceFrames")->isVisible());
  press(*shown.view, Qt::Key_Return);
  shown.panel->setDocument(shown.document.get());
  CHECK(shown.view->text() == shown.panel->presenter()->text());
}

TEST_CASE("The source follows a change from light to dark", "[gui]") {
  Shown shown(test::nanRun());
  QPalette dark = shown.panel->palette();
  dark.setColor(QPalette::Base, QColor("#1e1f22"));
  dark.setColor(QPalette::Text, QColor("#dfe1e5"));
  shown.panel->setPalette(dark);
  constexpr int kIdentifier = 11;
  CHECK(shown.view->lexer()->paper(kIdentifier) == QColor("#1e1f22"));
  CHECK(shown.view->lexer()->color(kIdentifier) == QColor("#dfe1e5"));
}
