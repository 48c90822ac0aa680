#include <QAbstractItemModelTester>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "app/presenters/findings/condition_draft.h"
#include "app/presenters/findings/finding_text.h"
#include "app/presenters/findings/hit_model.h"
#include "app/presenters/findings/watchpoint_model.h"
#include "tests/gui/support/gui.h"
#include "tests/gui/support/runs.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

namespace msdbg::app {
namespace {

using Fatal = QAbstractItemModelTester::FailureReportingMode;
using Json = nlohmann::json;

TEST_CASE("HitModel lists what msdbg check lists, sorts by number and filters by severity") {
  const auto document = test::openDocument(test::nanRun());
  HitModel model(document->findings(), document->sharedFacts());
  const QAbstractItemModelTester tester(&model, Fatal::Fatal);
  HitFilter filter;
  filter.setSourceModel(&model);
  const QAbstractItemModelTester filterTester(&filter, Fatal::Fatal);
  CHECK(model.rowCount() == 0);
  test::check(*document);
  const Json expected = Json::parse(test::runMsdbg({"check", test::nanRun().string(), "--json"}).out);
  const int faults = static_cast<int>(expected["hits"].size()),
            hints = static_cast<int>(expected["hints"].size());
  REQUIRE(model.rowCount() == faults + hints);
  const auto text = [&](int row, int column) { return model.index(row, column).data().toString(); };
  CHECK(text(0, HitModel::kWhere).toStdString() == expected["first"]["node"]);
  CHECK(text(0, HitModel::kRank) == "1");
  CHECK(text(0, HitModel::kIteration) == "4");
  CHECK(text(0, HitModel::kLine) == "lenet5.cpp:20");

  filter.setShown(false, true);
  CHECK(filter.rowCount() == hints);
  filter.setShown(true, false);
  CHECK(filter.rowCount() == faults);
  filter.setShown(true, true);
  filter.sort(HitModel::kIteration, Qt::DescendingOrder);
  const auto iteration = [&](int row) { return filter.index(row, HitModel::kIteration).data().toInt(); };
  for (int row = 1; row < filter.rowCount(); ++row) REQUIRE(iteration(row) <= iteration(row - 1));
}

TEST_CASE("A check that starts leaves the rows of HitModel alone until its report is there") {
  const auto document = test::openDocument(test::nanRun());
  test::check(*document);
  HitModel model(document->findings(), document->sharedFacts());
  int resets = 0;
  QObject::connect(&model, &QAbstractItemModel::modelReset, [&] { ++resets; });
  document->findings().recheck();
  CHECK(resets == 0);
  REQUIRE(test::eventually([&] { return document->findings().state() == Findings::State::kDone; }));
  CHECK(resets == 1);
}

TEST_CASE("WatchpointModel shows the watchpoints and switches them with its check marks") {
  const test::TempDir folder;
  const auto document = test::openDocument(test::copyOf(test::cleanRun(), folder.path()));
  Findings& findings = document->findings();
  WatchpointModel model(findings);
  const QAbstractItemModelTester tester(&model, Fatal::Fatal);
  REQUIRE(model.rowCount() == static_cast<int>(watch::recommendedSet().size()));
  const QModelIndex second = model.index(1, WatchpointModel::kTitle);
  CHECK(second.data(Qt::CheckStateRole) == Qt::Checked);
  CHECK(model.setData(second, Qt::Unchecked, Qt::CheckStateRole));
  CHECK_FALSE(findings.entries()[1].enabled);
  CHECK(second.data(Qt::CheckStateRole) == Qt::Unchecked);
  findings.add(*watch::parseWatchpoint("gradient_vanishing:abs_mean_lt=0.5,max_lt=2"));
  const int last = model.rowCount() - 1;
  CHECK(model.index(last, WatchpointModel::kTitle).data() == "Gradient vanishing");
  CHECK(model.index(last, WatchpointModel::kParameters).data() == "abs_mean_lt = 0.5, max_lt = 2");
  findings.remove(0);
  CHECK(model.rowCount() == last);
}

TEST_CASE("A draft of every condition becomes its watchpoint, or says what msdbg check -w says") {
  for (const watch::ConditionDef& condition : watch::allConditions()) {
    CAPTURE(condition.id);
    ConditionDraft draft{&condition, {}};
    const auto bare = watch::parseWatchpoint(condition.id);
    CHECK(draft.watchpoint().ok() == bare.ok());
    if (!bare.ok()) CHECK(draft.watchpoint().error().message() == bare.error().message());
  }
  ConditionDraft draft{watch::findCondition("gradient_vanishing"),
                       {{"abs_mean_lt", " 1e-3 "}, {"max_lt", ""}}};
  REQUIRE(draft.watchpoint().ok());
  CHECK(draft.watchpoint()->text() == "gradient_vanishing:abs_mean_lt=0.001");
  CHECK(ConditionDraft::of(*draft.watchpoint()).watchpoint()->text() == draft.watchpoint()->text());
  draft.fields["abs_mean_lt"] = "-1";
  CHECK(draft.watchpoint().error().message().find("[0, inf)") != std::string::npos);
  draft.fields["abs_mean_lt"] = "0,5";
  CHECK(draft.watchpoint().error().message().find("'0,5' is not a number") != std::string::npos);

  const auto document = test::openDocument(test::nanRun());
  const core::Graph& graph = *document->facts().graph;
  draft.fields = {{"abs_mean_lt", "1e-3"}, {"tensors", "*fc2/weight|fc1/bias"}};
  REQUIRE(draft.watchpoint(&graph).ok());
  CHECK(ConditionDraft::of(*draft.watchpoint()).fields.at("tensors") == "*fc2/weight|fc1/bias");
  draft.fields["tensors"] = "fc9/weight";
  CHECK(draft.watchpoint().ok());  // of no run in particular
  CHECK(draft.watchpoint(&graph).error().message().find("did you mean") != std::string::npos);
  draft.fields["tensors"] = "fc1/weight,fc2/weight";
  CHECK(draft.watchpoint(&graph).error().message().find("holds , or =") != std::string::npos);
}

TEST_CASE("The answer has the words of msdbg check") {
  const auto document = test::openDocument(test::nanRun());
  CHECK(answerOf(document->findings(), document->facts()).kind == FindingAnswer::Kind::kNotChecked);
  test::check(*document);
  const FindingAnswer answer = answerOf(document->findings(), document->facts());
  CHECK(answer.kind == FindingAnswer::Kind::kFault);
  QString printed =
      QString::fromStdString(test::runMsdbg({"check", test::nanRun().string()}).out).simplified();
  // The window says the condition's title, as its list does; the command its id, as scripts do.
  const msdbg::watch::Hit& first = *document->findings().report()->first;
  CHECK(printed.startsWith(
      QString(answer.headline)
          .replace(titleOf(first), QString::fromUtf8(first.condition->id.data(),
                                                     static_cast<int>(first.condition->id.size())))));
  for (const FindingAnswer::Row& row : answer.rows) {
    CAPTURE(row.label.toStdString(), row.text.toStdString());
    CHECK(printed.contains(row.text.simplified()));
  }
  REQUIRE(answer.then.size() >= 2);
  for (const QString& sentence : answer.then) CHECK(printed.contains(sentence));
  CHECK(printed.contains(answer.advice));
  CHECK(printed.contains(answer.notes.front().section(' ', 0, 2)));  // "evaluated 5,094 questions"
  CHECK(answer.inputs.size() == 3);
}

TEST_CASE("A recording that holds little of what is asked is not called clean") {
  const test::TempDir folder;
  const auto run = folder / "record.msdbg";
  REQUIRE(test::runMsdbg({"dump", "mlp", "--steps", "3", "--threads", "1", "--policy", "record", "-o", run})
              .exitStatus == 0);
  const auto document = test::openDocument(run);
  test::check(*document);
  const FindingAnswer answer = answerOf(document->findings(), document->facts());
  CHECK(answer.kind == FindingAnswer::Kind::kNoAnswer);
  CHECK(answer.headline == "no fault found, but most of what was asked is not recorded");
}

TEST_CASE("The answer of a clean run, and of nothing to check, is said so") {
  const test::TempDir folder;
  const auto document = test::openDocument(test::copyOf(test::cleanRun(), folder.path()));
  test::check(*document);
  CHECK(answerOf(document->findings(), document->facts()).headline == "no fault found");
  CHECK(checkCommand("r.msdbg", document->findings()) == "msdbg check r.msdbg");
  document->findings().setEntries({{*watch::parseWatchpoint("tensor_overflow"), false}});
  CHECK(checkCommand("r.msdbg", document->findings()).isEmpty());
  test::check(*document);
  const FindingAnswer answer = answerOf(document->findings(), document->facts());
  CHECK(answer.kind == FindingAnswer::Kind::kNoAnswer);
  CHECK(answer.headline == "no watchpoint is enabled");
  document->findings().add(*watch::parseWatchpoint("gradient_vanishing:abs_mean_lt=0.5,max_lt=2"));
  CHECK(checkCommand("r.msdbg", document->findings()) ==
        "msdbg check r.msdbg -w gradient_vanishing:abs_mean_lt=0.5,max_lt=2");
}

}  // namespace
}  // namespace msdbg::app
