// What the window is made of, over a run that no file holds: nothing of it may ask who wrote the run.
#include <catch2/catch.hpp>
#include <cmath>

#include "app/presenters/graph/badges.h"
#include "app/presenters/source/source_files.h"
#include "app/presenters/tensor/tensor_presenter.h"
#include "app/presenters/timeline/timeline.h"
#include "tests/gui/support/fake_document.h"
#include "tests/watchpoints/small_graph.h"
#include "tests/watchpoints/stages.h"

namespace msdbg::app {
namespace {

using core::Iteration;
using core::Rank;

// All tensors of an iteration, healthy but for the wrong one: a reduced gradient is the sum over both ranks,
// each of which reads its own share of the data.
void recordAll(test::FakeRun& run, Rank rank, Iteration iteration, const std::string& wrong = "") {
  for (const core::TensorInfo& tensor : run.graph().tensors()) {
    const float scale = tensor.alias == "grad(network/fc/weight)" ? 2
                        : tensor.role == core::TensorRole::kInput ? 1 + static_cast<float>(rank.value)
                                                                  : 1;
    core::Tensor value(tensor.dtype, tensor.shape), previous(tensor.dtype, tensor.shape);
    for (std::int64_t i = 0; i < value.elements(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      value.data<float>()[at] =
          scale * (1 + 0.1F * static_cast<float>(i) + 0.01F * static_cast<float>(iteration.value));
      previous.data<float>()[at] = value.data<float>()[at] - 0.01F;
    }
    if (!wrong.empty() && tensor.fullName() == wrong) value.data<float>()[1] = NAN;
    run.rows.record(rank, iteration, tensor.id, value, tensor.updateOf.valid() ? &previous : nullptr);
  }
  run.scalars["loss"][{rank, iteration}] = 1 + static_cast<double>(iteration.value);
}

std::unique_ptr<test::FakeRun> makeRun() {
  auto run = std::make_unique<test::FakeRun>(test::modelGraph(), 2, 3);
  for (std::int64_t rank = 0; rank < 2; ++rank)
    for (std::int64_t iteration = 0; iteration < 3; ++iteration)
      recordAll(*run, Rank(rank), Iteration(iteration),
                rank == 1 && iteration == 1 ? "network/fc/Gemm-op1:0" : "");
  run->sources["train.py"] = "x = 1\n";
  return run;
}

using Opened = test::FakeDocument;

TEST_CASE("A run without files opens: facts, cursor, sources and the first fault") {
  Opened opened(makeRun());
  Document& document = *opened.document;
  CHECK(document.facts().ranks == std::vector{Rank(0), Rank(1)});
  CHECK(document.facts().scalars == std::vector<std::string>{"loss"});
  CHECK(document.facts().sources.at("train.py") == "x = 1\n");
  document.cursor().setRank(Rank(1));
  document.cursor().stepIteration(10);
  CHECK(document.cursor().iteration() == Iteration(2));

  test::check(document);
  REQUIRE(document.findings().report());
  REQUIRE(document.findings().report()->first);
  const watch::Hit& first = *document.findings().report()->first;
  CAPTURE(first.detail);
  CHECK(first.rank == Rank(1));
  CHECK(first.iteration == Iteration(1));
  CHECK(document.graph().node(first.node).name == "network/fc/Gemm-op1");
  CHECK(document.findings().runState().endedWell());
}

TEST_CASE("Values, statistics and scalars of a run without files are shown") {
  Opened opened(makeRun());
  Document& document = *opened.document;
  TensorPresenter tensor(document);
  document.cursor().moveTo(
      {Rank(1), Iteration(1), {}, *document.graph().findTensor("network/fc/Gemm-op1"), {}});
  REQUIRE(test::eventually([&] { return tensor.answer() != nullptr; }));
  CHECK(tensor.available(Side::kA));
  tensor.showElement(1);
  REQUIRE(test::eventually([&] { return tensor.cellText(Side::kA) == "nan"; }));

  Timeline timeline(document);
  REQUIRE(test::eventually([&] { return !timeline.reading() && timeline.lines().size() == 2; }));
  CHECK(timeline.valueAt(Rank(0), Iteration(2)) == 3.0);
}

TEST_CASE("Ranks and iterations with graphs of their own are shown in one, and what is absent is marked") {
  test::Stages stages(5, 3);
  stages.record(Rank(0), Iteration(4), "net/mul.Tensor-op1", {-1, 1});
  stages.record(Rank(2), Iteration(4), "net/recv_-op1", {-1, 1});
  stages.record(Rank(2), Iteration(4), "net/log-op1", {NAN, 0});
  auto made = std::make_unique<test::FakeRun>(test::stageGraph(0, false), 4, 0);
  made->rows = std::move(stages.source);
  Opened opened(std::move(made));
  Document& document = *opened.document;
  const core::NodeId log = document.graph().findNode("net/log-op1").value(),
                     receives = document.graph().findNode("net/recv_-op1").value();
  Badges badges(document);
  const auto at = [&](std::int64_t rank, std::int64_t iteration, core::NodeId node) {
    document.cursor().moveTo({Rank(rank), Iteration(iteration), {}, {}, {}});
    REQUIRE(test::eventually([&] {
      const BadgeSet* now = badges.current();
      return now && now->rank == Rank(rank) && now->iteration == Iteration(iteration);
    }));
    return badges.current()->nodes[node.index()];
  };
  using graphview::Health;
  CHECK(at(0, 4, log) == Health::kAbsent);
  CHECK(badges.current()->problem.isEmpty());
  CHECK(at(2, 2, log) == Health::kAbsent);  // its rank has it from iteration 3 on
  CHECK(at(2, 3, log) == Health::kFinite);
  CHECK(at(2, 4, log) == Health::kNan);
  CHECK(at(3, 4, receives) == Health::kFinite);

  test::check(document);
  REQUIRE(document.findings().report()->first);
  const watch::Hit& first = *document.findings().report()->first;
  CHECK(first.node == log);
  CHECK(first.rank == Rank(2));
}

TEST_CASE("What a run without files cannot show, it says in its own words") {
  auto made = makeRun();
  made->rows.loseIteration(0, 2);
  made->rows.loseValues();
  made->lost.push_back({"a.pt: /x", "is cut short", Rank(0), {2}});
  Opened opened(std::move(made));
  Document& document = *opened.document;
  TensorPresenter tensor(document);
  document.cursor().moveTo(
      {Rank(0), Iteration(1), {}, *document.graph().findTensor("network/fc/Gemm-op1"), {}});
  REQUIRE(test::eventually([&] { return tensor.answer() != nullptr; }));
  CHECK_FALSE(tensor.available(Side::kA));
  CHECK(tensor.message(Side::kA).contains("is not stored"));
  test::check(document);
  CHECK(document.findings().verdict().unread == "a.pt is damaged");
}

TEST_CASE("A run without files that goes on is followed to its end") {
  auto made = makeRun();
  made->goesOn = true;
  made->ended = {};
  Opened opened(std::move(made));
  Document& document = *opened.document;
  document.cursor().stepIteration(10);
  opened.run->will([](test::FakeRun& run) { recordAll(run, Rank(0), Iteration(3)); });
  REQUIRE(test::eventually([&] { return document.cursor().iteration() == Iteration(3); }));
  CHECK(document.facts().recording);
  opened.run->will([](test::FakeRun& run) {
    run.goesOn = false;
    run.ended = {.state = "failed", .message = "out of memory"};
  });
  REQUIRE(test::eventually(
      [&] { return document.facts().end.state == "failed" && !document.facts().recording; }));
}

}  // namespace
}  // namespace msdbg::app
