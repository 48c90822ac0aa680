#include "app/panels/tensor/tensor_panel.h"

#include <QComboBox>
#include <QCompleter>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMouseEvent>
#include <QPushButton>
#include <QSpinBox>
#include <QTabWidget>
#include <QTableView>
#include <catch2/catch.hpp>

#include "app/panels/builtin_panels.h"
#include "app/panels/tensor/picture_view.h"
#include "tests/gui/support/gui.h"
#include "tests/gui/support/runs.h"
#include "tests/support/temp_dir.h"

using namespace msdbg;
using namespace msdbg::app;

namespace {

struct Fixture {
  explicit Fixture(const std::filesystem::path& run) : document(test::openDocument(run)) {
    panel.resize(380, 640);
    panel.show();
    panel.setDocument(document.get());
    settle();
  }
  ~Fixture() { panel.setDocument(nullptr); }
  void go(const std::string& name, std::int64_t rank, std::int64_t iteration) {
    Place place = document->cursor().place();
    place.rank = core::Rank(rank);
    place.iteration = core::Iteration(iteration);
    place.tensor = replay::resolveTensor(document->graph(), name).value();
    place.nodes.clear();
    if (document->graph().tensor(place.tensor).producer.valid())
      place.nodes = {document->graph().tensor(place.tensor).producer};
    document->cursor().moveTo(place);
    settle();
  }
  void settle() {
    REQUIRE(test::eventually([&] { return panel.settled() && document->replay().idle(); }));
  }
  template <typename T>
  T* find(const char* name) {
    T* child = panel.findChild<T*>(name);
    REQUIRE(child);
    return child;
  }
  std::unique_ptr<Document> document;
  TensorPanel panel;
};

void click(QWidget* widget, QPoint at) {
  for (const QEvent::Type type : {QEvent::MouseButtonPress, QEvent::MouseButtonRelease}) {
    QMouseEvent event(type, at, widget->mapToGlobal(at), Qt::LeftButton,
                      type == QEvent::MouseButtonPress ? Qt::LeftButton : Qt::NoButton, Qt::NoModifier);
    QApplication::sendEvent(widget, &event);
  }
}

}  // namespace

TEST_CASE("TensorPanel without a document or a tensor gives a hint") {
  test::gui();
  TensorPanel panel;
  panel.show();
  CHECK(panel.settled());
  CHECK(panel.command().isEmpty());
  CHECK(panel.findChild<QLabel*>("tensorHint")->isVisible());
  Fixture f(test::nanRun());
  CHECK(!f.find<QTabWidget>("tensorTabs")->isVisible());
  CHECK(f.panel.command().isEmpty());
}

TEST_CASE("TensorPanel lists what is not finite, and a click on one goes to its cell") {
  Fixture f(test::nanRun());
  f.go("conv2/Conv-op1", 1, 4);
  auto* list = f.find<QListWidget>("nonFinite");
  REQUIRE(list->isVisible());
  REQUIRE(list->count() > 0);
  click(list->viewport(), list->visualItemRect(list->item(0)).center());
  f.settle();
  auto* table = f.find<QTableView>("valuesA");
  REQUIRE(table->currentIndex().isValid());
  CHECK(table->currentIndex().data().toString() == "nan");
  CHECK(f.find<QWidget>("cellValue")->accessibleName().contains("nan"));
  f.document->cursor().setRank(core::Rank(0));
  f.settle();
  CHECK(!list->isVisible());
  CHECK(table->currentIndex().isValid());
  CHECK(table->currentIndex().data().toString() != "nan");
}

TEST_CASE("TensorPanel's spin boxes choose the slice that is shown and copied as a command") {
  Fixture f(test::nanRun());
  f.go("conv2/Conv-op1", 0, 2);
  auto* spin = f.find<QSpinBox>("sliceIndex1");
  CHECK(spin->isVisible());
  spin->setValue(5);
  f.settle();
  CHECK(f.panel.command().contains("--slice 0,5,:,:"));
  auto* rows = f.find<QComboBox>("sliceRows");
  rows->setCurrentIndex(0);
  emit rows->activated(0);
  f.settle();
  CHECK(f.panel.command().contains("--slice :,5,0,:"));
  CHECK(f.find<QTableView>("valuesA")->model()->rowCount() == f.panel.presenter()->plane().shape()[0]);
}

TEST_CASE("TensorPanel offers the tensors of the node and takes any name, or says the nearest ones") {
  Fixture f(test::nanRun());
  const core::NodeId node = replay::resolveNodes(f.document->graph(), "conv2/Conv-op1").value().front();
  f.document->cursor().selectNode(node);
  f.settle();
  auto* name = f.find<QComboBox>("tensorName");
  const int weight = name->findText("conv2/weight", Qt::MatchStartsWith);
  REQUIRE(weight >= 0);
  name->setCurrentIndex(weight);
  emit name->activated(weight);
  f.settle();
  CHECK(f.panel.command().contains("network/conv2/weight"));
  CHECK(f.document->cursor().node() == node);  // stays selected
  const auto type = [&](const QString& text) {
    name->lineEdit()->setText(text);
    QKeyEvent enter(QEvent::KeyPress, Qt::Key_Return, Qt::NoModifier);
    QApplication::sendEvent(name->lineEdit(), &enter);
    f.settle();
  };
  type("conv1/wieght");
  CHECK(f.find<QLabel>("tensorProblem")->isVisible());
  CHECK(f.find<QLabel>("tensorProblem")->text().contains("conv1/weight"));
  type("grad(conv1/weight)");
  CHECK(!f.find<QLabel>("tensorProblem")->isVisible());
  CHECK(f.panel.presenter()->info().alias == "grad(network/conv1/weight)");
}

TEST_CASE("TensorPanel shows both sides and their difference, and their links go to the element") {
  Fixture f(test::nanRun());
  f.go("conv1/weight", 0, 4);
  auto* with = f.find<QComboBox>("compareWith");
  CHECK(!f.find<QTableView>("valuesB")->isVisible());
  with->setCurrentIndex(1);
  emit with->activated(1);
  f.settle();
  CHECK(f.find<QTableView>("valuesB")->isVisible());
  CHECK(f.find<QTableView>("valuesDifference")->isVisible());
  auto* summary = f.find<QLabel>("compareSummary");
  CHECK(summary->text().contains("differ"));
  const std::int64_t last = f.panel.presenter()->plane().shape().elements() - 1;
  emit summary->linkActivated(QString::number(last));
  f.settle();
  CHECK(f.panel.presenter()->cell() == last);
  CHECK(f.find<QTableView>("valuesDifference")->currentIndex() ==
        f.find<QTableView>("valuesDifference")
            ->model()
            ->index(f.find<QTableView>("valuesA")->currentIndex().row(),
                    f.find<QTableView>("valuesA")->currentIndex().column()));
  f.document->cursor().setIteration(core::Iteration(0));
  f.settle();
  CHECK(f.find<QLabel>("messageB")->isVisible());
}

TEST_CASE("TensorPanel's picture makes the clicked element the current cell, and its tabs are remembered") {
  Fixture f(test::nanRun());
  f.go("conv2/Conv-op1", 1, 4);
  f.find<QTabWidget>("tensorTabs")->setCurrentIndex(1);
  f.settle();
  auto* picture = f.find<PictureView>("pictureA");
  const QRect drawn = picture->pictureRect();
  click(picture, drawn.bottomRight() - QPoint(1, 1));
  f.settle();
  const SlicePlane& plane = f.panel.presenter()->plane();
  REQUIRE(f.panel.presenter()->cell());
  CHECK(plane.rowOf(*f.panel.presenter()->cell()) == plane.rows() - 1);
  CHECK(plane.columnOf(*f.panel.presenter()->cell()) == plane.columns() - 1);
  TensorPanel other;
  other.restore(f.panel.state());
  CHECK(other.findChild<QTabWidget*>("tensorTabs")->currentIndex() == 1);
  other.restore({{"tab", 99}, {"colours", -3}});
  CHECK(other.findChild<QTabWidget*>("tensorTabs")->currentIndex() == 3);
}

TEST_CASE("TensorPanel asks nothing while it is hidden and catches up when it is shown") {
  Fixture f(test::nanRun());
  f.go("conv1/weight", 0, 1);
  f.panel.hide();
  f.document->cursor().setIteration(core::Iteration(6));
  CHECK(f.panel.settled());
  CHECK(!f.panel.presenter()->answer());
  f.panel.show();
  f.settle();
  REQUIRE(f.panel.presenter()->answer());
  CHECK(f.panel.presenter()->available(Side::kA));
  f.panel.setDocument(nullptr);
  CHECK(f.panel.command().isEmpty());
  CHECK(f.panel.settled());
}

TEST_CASE("Where a value is gone, the nearest one and the statistics are one click away") {
  Fixture f(test::cleanRun());  // values of the newest iterations only
  const core::TensorId tensor = replay::resolveTensor(f.document->graph(), "fc2/weight").value();
  f.go("fc2/weight", 0, 0);
  REQUIRE(f.find<QLabel>("messageA")->isVisible());
  auto* nearest = f.find<QPushButton>("nearestA");
  REQUIRE(nearest->isVisible());
  f.find<QPushButton>("statisticsA")->click();
  CHECK(f.find<QTableView>("tensorStatistics")->isVisible());
  f.find<QTabWidget>("tensorTabs")->setCurrentIndex(0);
  nearest->click();
  f.settle();
  const core::Iteration there = f.document->cursor().iteration();
  CHECK(there > core::Iteration(0));
  CHECK(f.find<QTableView>("valuesA")->isVisible());
  CHECK(f.document->cursor().tensor() == tensor);
  Place place = f.document->cursor().place();
  place.iteration = core::Iteration(there.value - 1);
  f.document->cursor().moveTo(place);
  f.settle();
  CHECK(f.find<QLabel>("messageA")->isVisible());  // it was the nearest
}

TEST_CASE("A value that is not stored is computed by one click, and is there like any other") {
  const test::ProgramOnPath onPath;
  Fixture f(test::replayableRun());
  f.go("network/conv2/Conv-op1:0", 1, 4);
  auto* compute = f.find<QPushButton>("computeA");
  REQUIRE(compute->isVisible());
  CHECK(compute->text() == "Compute again (2 iterations)");
  CHECK_FALSE(f.panel.presenter()->available(Side::kA));
  compute->click();
  CHECK(compute->text() == "Cancel");
  f.settle();
  CHECK(f.find<QTableView>("valuesA")->isVisible());
  REQUIRE(f.panel.presenter()->available(Side::kA));
  CHECK(f.panel.presenter()->answer()->nonFinite.count() == 0);
  // Somewhere else, and back: it is kept.
  f.go("network/conv2/Conv-op1:0", 1, 5);
  CHECK(compute->isVisible());
  f.go("network/conv2/Conv-op1:0", 1, 4);
  CHECK(f.panel.presenter()->available(Side::kA));
  // What it is compared with can be computed as well.
  f.panel.presenter()->setComparison({Comparison::With::kRank, 0});
  f.settle();
  auto* other = f.find<QPushButton>("computeB");
  REQUIRE(other->isVisible());
  other->click();
  f.settle();
  CHECK(f.panel.presenter()->available(Side::kDifference));
}

TEST_CASE("Computing is cancelled, by a click and by going elsewhere") {
  const test::ProgramOnPath onPath;
  Fixture f(test::replayableRun());
  f.go("network/conv2/Conv-op1:0", 0, 7);
  auto* compute = f.find<QPushButton>("computeA");
  compute->click();
  REQUIRE(f.panel.presenter()->computing());
  compute->click();
  CHECK_FALSE(f.panel.presenter()->computing());
  CHECK(compute->text() == "Compute again (2 iterations)");
  compute->click();
  f.go("network/conv2/Conv-op1:0", 0, 6);
  CHECK_FALSE(f.panel.presenter()->computing());
  CHECK_FALSE(f.panel.presenter()->available(Side::kA));
}

TEST_CASE("A computed value that training did not have is not shown as if it were") {
  const test::ProgramOnPath onPath;
  Fixture f(test::plantedReplayableRun());
  f.go("network/conv2/Conv-op1:0", 1, 4);
  f.find<QPushButton>("computeA")->click();
  f.settle();
  CHECK_FALSE(f.panel.presenter()->available(Side::kA));
  auto* progress = f.find<QLabel>("progressA");
  CHECK(progress->isVisible());
  CHECK(progress->text().contains("NOT what training had"));
}

TEST_CASE("Where nothing can be computed again there is no button for it") {
  Fixture f(test::cleanRun());
  f.go("fc2/weight", 0, 0);
  CHECK(f.find<QLabel>("messageA")->isVisible());
  CHECK_FALSE(f.find<QPushButton>("computeA")->isVisible());
}

TEST_CASE("In the panel of a window of 1280 x 800 a comparison shows columns of values side by side") {
  Fixture f(test::nanRun());
  f.panel.resize(388, 390);
  f.panel.presenter()->setComparison({Comparison::With::kPrevious, 0});
  f.go("fc1/weight", 0, 3);
  const auto cells = [&](const char* name) {
    const auto* table = f.find<QTableView>(name);
    const QSize seen = table->viewport()->size();
    return QSize(seen.width() / table->columnWidth(0), seen.height() / table->rowHeight(0));
  };
  for (const char* name : {"valuesA", "valuesB", "valuesDifference"}) {
    CAPTURE(name, cells(name).width(), cells(name).height());
    CHECK(cells(name).width() >= 1);
    CHECK(cells(name).height() >= 6);
  }
  CHECK(f.find<QTableView>("valuesA")->verticalHeader()->isVisible());
  CHECK_FALSE(f.find<QTableView>("valuesB")->verticalHeader()->isVisible());
  auto* shown = f.find<QComboBox>("compareShown");
  shown->setCurrentIndex(3);  // A - B alone has its numbers itself
  f.settle();
  CHECK(f.find<QTableView>("valuesDifference")->verticalHeader()->isVisible());
}
