#include <QAbstractItemModelTester>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QTreeView>
#include <catch2/catch.hpp>
#include <cmath>

#include "app/panels/modules/modules_panel.h"
#include "tests/gui/support/fake_document.h"
#include "tests/support/module_graph.h"

namespace msdbg::app {
namespace {

using Fatal = QAbstractItemModelTester::FailureReportingMode;

struct Shown : test::FakeDocument {
  test::ModuleGraph made;
  ModulesPanel panel{nullptr};
  QTreeView* tree = panel.findChild<QTreeView*>("moduleTree");
  QLineEdit* field = panel.findChild<QLineEdit*>("moduleFilter");

  explicit Shown(const std::string& wrong = {})
      : FakeDocument(test::filledRun(test::ModuleGraph().graph, 3, {}, wrong)) {
    panel.resize(700, 500);
    panel.show();
    panel.setDocument(document.get());
  }
  Cursor& cursor() { return document->cursor(); }
  ModuleModel& model() { return panel.presenter()->model(); }
  /// "Net", "layers", "0" … of what is seen, in the order of the rows.
  QStringList names() const {
    QStringList all;
    for (QModelIndex at = tree->model()->index(0, 0); at.isValid(); at = tree->indexBelow(at))
      all << at.data().toString();
    return all;
  }
  QModelIndex row(const QString& name) const {
    for (QModelIndex at = tree->model()->index(0, 0); at.isValid(); at = tree->indexBelow(at))
      if (at.data().toString() == name) return at;
    return {};
  }
  QString cell(const QString& name, int column) const {
    return row(name).siblingAtColumn(column).data().toString();
  }
  QString current() const { return tree->currentIndex().siblingAtColumn(0).data().toString(); }
  static void press(QWidget* widget, int key) {
    QKeyEvent down(QEvent::KeyPress, key, Qt::NoModifier);
    QCoreApplication::sendEvent(widget, &down);
  }
};

TEST_CASE("The module tree shows classes, types, devices and totals") {
  Shown shown;
  const QAbstractItemModelTester tester(&shown.model(), Fatal::Fatal);
  CHECK(shown.names() ==
        QStringList{"Net", "layers", "0", "weight", "bias", "1", "2", "weight", "running_mean", "10"});
  CHECK(shown.cell("layers", ModuleModel::kClass) == "Sequential");
  CHECK(shown.cell("layers", ModuleModel::kElements) == "99");
  CHECK(shown.cell("layers", ModuleModel::kDevice) == "cuda:0, cuda:1");
  CHECK(shown.cell("0", ModuleModel::kType) == "float32");
  CHECK(shown.cell("bias", ModuleModel::kType) == "float32 [8]");
  CHECK(shown.cell("bias", ModuleModel::kElements) == "8");
  CHECK(shown.cell("bias", ModuleModel::kDevice) == "cuda:0");
  CHECK(shown.row("running_mean").data(Qt::ToolTipRole).toString().contains("not trained"));
  CHECK(shown.panel.findChild<QLabel*>("moduleSummary")->toolTip().contains("6 modules, 96 trainable"));
  CHECK(shown.panel.command() == "msdbg info fake.msdbg --modules");
}

TEST_CASE("The module tree follows the cursor, and the cursor the tree") {
  Shown shown;
  shown.cursor().selectNode(shown.made.named("grad/Net/layers/0/aten.mm-op1"));
  CHECK(shown.current() == "0");
  shown.cursor().selectTensor(shown.made.weight());
  CHECK(shown.current() == "weight");
  shown.cursor().clearSelection();
  CHECK_FALSE(shown.tree->currentIndex().isValid());

  shown.tree->setCurrentIndex(shown.row("bias"));
  CHECK(shown.cursor().tensor() == shown.document->graph().findTensor("Net/layers/0/bias:0"));
  shown.tree->setCurrentIndex(shown.row("layers"));
  CHECK(shown.cursor().place().nodes.size() == 4);
  CHECK(shown.current() == "layers");  // though the first operator is one of layers/0
  shown.cursor().selectNode(shown.cursor().place().nodes.front());
  CHECK(shown.current() == "0");
}

TEST_CASE("A module in which something was found is marked, and so is what it is in") {
  Shown shown("Net/layers/2/aten.addmm-op1:0");
  const auto mark = [&](const char* name) { return shown.row(name).data(ModuleModel::kMarkRole).toInt(); };
  CHECK(mark("Net") == 0);
  test::check(*shown.document);
  CHECK(mark("2") == 3);  // what went wrong first
  CHECK(mark("layers") == 3);
  CHECK(mark("Net") == 3);
  CHECK(mark("1") == 0);
  CHECK(shown.row("2").data(Qt::ToolTipRole).toString().contains("fault"));
}

TEST_CASE("The filter shows what has all words, what is around it and in it, and walks there by keys") {
  Shown shown;
  shown.field->setText("linear");
  CHECK(shown.names() == QStringList{"Net", "layers", "0", "weight", "bias"});
  shown.press(shown.field, Qt::Key_Return);
  CHECK(shown.current() == "0");
  shown.field->setText("layers weight cuda:1");
  CHECK(shown.names() == QStringList{"Net", "layers", "2", "weight"});
  shown.press(shown.field, Qt::Key_Down);
  CHECK(shown.cursor().tensor() == shown.document->graph().findTensor("Net/layers/2/weight:0"));
  shown.field->setText("nothing of the kind");
  CHECK(shown.names().isEmpty());
  CHECK(shown.cursor().tensor() == shown.document->graph().findTensor("Net/layers/2/weight:0"));
  shown.press(shown.field, Qt::Key_Escape);
  CHECK(shown.field->text().isEmpty());
  CHECK(shown.names().size() == 10);
  CHECK(shown.current() == "weight");
}

TEST_CASE("A narrow module tree keeps names and numbers; a closed run leaves a hint") {
  Shown shown;
  CHECK_FALSE(shown.tree->isColumnHidden(ModuleModel::kDevice));
  shown.panel.resize(230, 400);
  QCoreApplication::processEvents();
  CHECK(shown.tree->isColumnHidden(ModuleModel::kDevice));
  CHECK_FALSE(shown.tree->isColumnHidden(ModuleModel::kElements));
  shown.panel.setDocument(nullptr);
  CHECK(shown.panel.findChild<QLabel*>("moduleHint")->isVisible());
  CHECK(shown.panel.command().isEmpty());
}

}  // namespace
}  // namespace msdbg::app
