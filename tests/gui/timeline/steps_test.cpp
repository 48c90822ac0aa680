// The program's own numbers of its steps, in the window.
#include <QLabel>
#include <QLineEdit>
#include <QTreeView>
#include <catch2/catch.hpp>
#include <cmath>

#include "app/gui/run_status.h"
#include "app/panels/findings/findings_panel.h"
#include "app/panels/timeline/step_edit.h"
#include "app/panels/timeline/timeline_panel.h"
#include "app/panels/timeline/timeline_plot.h"
#include "app/presenters/findings/hit_model.h"
#include "app/presenters/start_place.h"
#include "app/presenters/tensor/tensor_presenter.h"
#include "tests/gui/support/fake_document.h"
#include "tests/support/module_graph.h"

namespace msdbg::app {
namespace {

using core::Iteration;

constexpr const char* kWrong = "Net/layers/2/aten.addmm-op1:0";

struct Shown : test::FakeDocument {
  TimelinePanel panel{nullptr};
  TimelinePlot* plot = panel.findChild<TimelinePlot*>("timelinePlot");
  StepEdit* step = panel.findChild<StepEdit*>("stepEdit");
  QLineEdit* field = step->findChild<QLineEdit*>();

  explicit Shown(std::optional<std::int64_t> firstStep)
      : FakeDocument(test::filledRun(test::ModuleGraph().graph, 5, firstStep, kWrong)) {
    panel.resize(800, 300);
    panel.show();
    panel.setDocument(document.get());
    REQUIRE(test::eventually([this] { return panel.settled(); }));
  }
  void type(const QString& text) {
    field->setText(text);
    emit step->editingFinished();
  }
};

TEST_CASE("Where a program numbers its steps the timeline shows the number, and typing one goes there") {
  Shown shown(3'000'000'000);
  REQUIRE(shown.step->isVisible());
  CHECK(shown.field->text() == "3000000000");
  shown.document->cursor().setIteration(Iteration(2));
  CHECK(shown.field->text() == "3000000002");
  CHECK(shown.plot->accessibleDescription().startsWith("iteration 2 (step 3000000002), rank 0: "));
  shown.type("3000000004");
  CHECK(shown.document->cursor().iteration() == Iteration(4));
  shown.type("7");  // the nearest one that there is
  CHECK(shown.document->cursor().iteration() == Iteration(0));
  CHECK(shown.field->text() == "3000000000");
  shown.step->stepUp();
  CHECK(shown.document->cursor().iteration() == Iteration(1));
}

TEST_CASE("A program that numbers nothing has no field for it") {
  const Shown shown(std::nullopt);
  CHECK_FALSE(shown.step->isVisible());
  CHECK(shown.plot->accessibleDescription().startsWith("iteration 0, rank 0: "));
}

TEST_CASE("Findings, places and the status say the step") {
  Shown shown(41000);
  Document& document = *shown.document;
  test::check(document);
  REQUIRE(document.findings().report()->first);
  HitModel model(document.findings(), document.sharedFacts());
  CHECK(model.index(0, HitModel::kStep).data(Qt::DisplayRole).toString() == "41001");
  CHECK(model.index(0, 0).data(Qt::ToolTipRole).toString().contains("iteration 1 (step 41001), rank 0"));
  FindingsPanel findings(nullptr);
  findings.resize(700, 500);
  findings.show();
  findings.setDocument(&document);
  CHECK_FALSE(findings.findChild<QTreeView*>("hitView")->isColumnHidden(HitModel::kStep));

  TensorPresenter tensor(document);
  document.cursor().moveTo({core::Rank(0), Iteration(3), {}, *document.graph().findTensor(kWrong), {}});
  CHECK(tensor.placeText(Side::kA) == "rank 0, iteration 3 (step 41003)");
}

TEST_CASE("The window starts at a step; one that is not there is said") {
  const Shown shown(41000);
  StartPlace start;
  start.step = 41003;
  const auto place = resolveStart(shown.document->facts(), start);
  REQUIRE(place.ok());
  CHECK(place->iteration == Iteration(3));
  start.step = 9;
  CHECK(resolveStart(shown.document->facts(), start).error().message() ==
        "step 9 is not recorded: there are steps from 41000 to 41004");
  const Shown none(std::nullopt);
  CHECK_THAT(resolveStart(none.document->facts(), start).error().message(), Catch::Contains("no numbers"));
}

}  // namespace
}  // namespace msdbg::app
