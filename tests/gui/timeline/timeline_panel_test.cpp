#include "app/panels/timeline/timeline_panel.h"

#include <QComboBox>
#include <QLabel>
#include <QMouseEvent>
#include <QSlider>
#include <QSpinBox>
#include <QToolButton>
#include <catch2/catch.hpp>

#include "app/panels/builtin_panels.h"
#include "app/panels/timeline/timeline_plot.h"
#include "tests/gui/support/gui.h"
#include "tests/gui/support/runs.h"

namespace msdbg::app {
namespace {

struct Shown {
  std::unique_ptr<Document> document = test::openDocument(test::nanRun());
  TimelinePanel panel;
  TimelinePlot* plot = panel.findChild<TimelinePlot*>("timelinePlot");
  QSlider* slider = panel.findChild<QSlider*>("iterationSlider");
  QSpinBox* spin = panel.findChild<QSpinBox*>("iterationSpin");
  QComboBox* rank = panel.findChild<QComboBox*>("rankCombo");
  QComboBox* quantity = panel.findChild<QComboBox*>("quantityCombo");

  Shown() {
    panel.resize(800, 300);
    panel.show();
    panel.setDocument(document.get());
    settle();
  }
  void settle() {
    REQUIRE(test::eventually([this] { return panel.settled(); }));
    plot->replot();
  }
  Cursor& cursor() { return document->cursor(); }
  void click(const QPointF& at) {
    for (const QEvent::Type type : {QEvent::MouseButtonPress, QEvent::MouseButtonRelease}) {
      QMouseEvent event(type, at, plot->mapToGlobal(at), Qt::LeftButton,
                        type == QEvent::MouseButtonPress ? Qt::LeftButton : Qt::NoButton, Qt::NoModifier);
      QCoreApplication::sendEvent(plot, &event);
    }
  }
  QPointF pointOf(int iteration, double value) {
    return {plot->xAxis->coordToPixel(iteration), plot->yAxis->coordToPixel(value)};
  }
};

TEST_CASE("Slider, number and rank of the timeline move the cursor, and follow it") {
  Shown shown;
  CHECK(shown.rank->count() == 2);
  CHECK(shown.slider->maximum() == 9);
  shown.slider->setValue(4);
  CHECK(shown.cursor().iteration() == core::Iteration(4));
  CHECK(shown.spin->value() == 4);
  shown.spin->setValue(6);
  CHECK(shown.cursor().iteration() == core::Iteration(6));
  shown.spin->stepUp();
  CHECK(shown.cursor().iteration() == core::Iteration(7));
  shown.rank->setCurrentIndex(1);
  CHECK(shown.cursor().rank() == core::Rank(1));
  CHECK(shown.cursor().iteration() == core::Iteration(7));
  shown.cursor().stepIteration(-5);
  shown.cursor().stepRank(-1);
  CHECK(shown.slider->value() == 2);
  CHECK(shown.spin->value() == 2);
  CHECK(shown.rank->currentIndex() == 0);
}

TEST_CASE("A click in the timeline goes to the nearest iteration, near a line to its rank") {
  Shown shown;
  Timeline values(*shown.document);
  REQUIRE(test::eventually([&] { return !values.reading(); }));
  shown.click(shown.pointOf(2, *values.valueAt(core::Rank(1), core::Iteration(2))) + QPointF(3, 2));
  CHECK(shown.cursor().iteration() == core::Iteration(2));
  CHECK(shown.cursor().rank() == core::Rank(1));
  shown.click(shown.pointOf(1, *values.valueAt(core::Rank(0), core::Iteration(1))));
  CHECK(shown.cursor().iteration() == core::Iteration(1));
  CHECK(shown.cursor().rank() == core::Rank(0));
  shown.click({shown.plot->xAxis->coordToPixel(8.4), double(shown.plot->axisRect()->rect().center().y())});
  CHECK(shown.cursor().iteration() == core::Iteration(8));
  CHECK(shown.cursor().rank() == core::Rank(0));
  CHECK(shown.plot->accessibleDescription().startsWith("iteration 8, rank 0: "));
}

TEST_CASE("A click on a mark in the timeline goes to the finding") {
  Shown shown;
  test::check(*shown.document);
  shown.plot->replot();
  const watch::Hit& first = *shown.document->findings().report()->first;
  const QRect inside = shown.plot->axisRect()->rect();
  shown.click(
      {shown.plot->xAxis->coordToPixel(static_cast<double>(first.iteration.value)), inside.bottom() - 6.0});
  CHECK(shown.cursor().place() == shown.document->findings().placeOf(first));
}

TEST_CASE("The wheel zooms in on iterations, a double click shows all again") {
  Shown shown;
  const QCPRange all = shown.plot->xAxis->range();
  CHECK(all.contains(0));
  CHECK(all.contains(9));
  const QPointF at = shown.plot->axisRect()->rect().center();
  QWheelEvent wheel(at, shown.plot->mapToGlobal(at), {}, {0, 240}, Qt::NoButton, Qt::NoModifier,
                    Qt::NoScrollPhase, false);
  QCoreApplication::sendEvent(shown.plot, &wheel);
  CHECK(shown.plot->xAxis->range().size() < all.size());
  QMouseEvent twice(QEvent::MouseButtonDblClick, at, shown.plot->mapToGlobal(at), Qt::LeftButton,
                    Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(shown.plot, &twice);
  CHECK(shown.plot->xAxis->range() == all);
}

TEST_CASE("The timeline follows the selected tensor and keeps its choice between sessions") {
  Shown shown;
  shown.panel.restore({{"quantity", "statistic:max"}, {"log", true}});
  CHECK(shown.quantity->currentText() == "maximum");
  CHECK(shown.panel.findChild<QLabel*>("timelineHint")->isVisible());
  shown.cursor().selectTensor(*shown.document->graph().findTensor("network/conv1/Relu-op1"));
  shown.settle();
  CHECK(shown.plot->isVisible());
  CHECK(shown.panel.command().endsWith("--tensor network/conv1/Relu-op1:0"));
  const QJsonObject state = shown.panel.state();
  shown.panel.restore({{"quantity", 17}, {"log", "x"}, {"more", QJsonArray{1}}});  // of another version
  TimelinePanel again;
  again.restore(state);
  again.setDocument(shown.document.get());
  CHECK(again.state() == state);
  CHECK(again.findChild<TimelinePlot*>()->logarithmic());
}

TEST_CASE("Without a document the timeline forgets everything") {
  Shown shown;
  test::check(*shown.document);
  shown.panel.setDocument(nullptr);
  shown.document.reset();
  CHECK(shown.panel.command().isEmpty());
  CHECK(shown.panel.findChild<QLabel*>("timelineHint")->isVisible());
  CHECK_FALSE(shown.slider->isEnabled());
  CHECK(shown.rank->count() == 0);
  CHECK(shown.panel.settled());
}

}  // namespace
}  // namespace msdbg::app
