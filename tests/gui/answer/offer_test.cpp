#include "app/presenters/answer/offer.h"

#include <catch2/catch.hpp>

#include "replay/search.h"
#include "tests/gui/support/gui.h"
#include "tests/gui/support/runs.h"

namespace msdbg::app {
namespace {

struct Graph {
  Graph() : document(test::openDocument(test::replayableRun())) {}
  const core::Graph& operator*() const { return document->graph(); }
  Subject subject(const char* tensor, std::optional<std::int64_t> element) const {
    return {core::Rank(1), core::Iteration(4), replay::resolveTensor(document->graph(), tensor).value(),
            element};
  }
  std::unique_ptr<Document> document;
};

const ReplayCost kCost{.way = replay::RecomputeWay{core::Iteration(3), 2, 2.4}, .secondsAnIteration = 1.2};
const ReplayCost kNoWay{.whyNone = "rank 0 has no batches"};

}  // namespace

TEST_CASE("What can be asked of an element is a command, with what it costs") {
  const Graph graph;
  const Subject subject = graph.subject("fc1/weight", 403);
  const Offer why = offerOf(Ask::kWhy, subject, *graph, &kCost);
  CHECK(commandLine(why.words, "a.msdbg") ==
        "msdbg why a.msdbg --tensor network/fc1/weight --index 1,3 --iteration 4 --rank 1");
  CHECK(why.tip.contains("2 iterations, about 2 s"));
  const Offer history = offerOf(Ask::kHistory, subject, *graph, &kCost);
  CHECK(commandLine(history.words, "a.msdbg") ==
        "msdbg history a.msdbg --tensor network/fc1/weight --index 1,3");
  CHECK(commandLine(offerOf(Ask::kProve, subject, *graph, &kCost).words, "a.msdbg") ==
        "msdbg replay a.msdbg --iteration 4 --prove");
  CHECK(offerOf(Ask::kProve, subject, *graph, &kCost).tip.contains("from the checkpoint of iteration 3"));
  CHECK(commandLine(offerOf(Ask::kFloat64, subject, *graph, &kCost).words, "a.msdbg") ==
        "msdbg replay a.msdbg --iteration 4 --dtype float64");
  CHECK(commandLine(offerOf(Ask::kRecheck, subject, *graph, &kCost).words, "a.msdbg") ==
        "msdbg check a.msdbg --recheck -w kernel_mismatch --iterations 4");
}

TEST_CASE("A command that is copied is quoted for a shell") {
  CHECK(commandLine({"why", "--tensor", "grad(a b)"}, "'my run'") ==
        "msdbg why 'my run' --tensor 'grad(a b)'");
}

TEST_CASE("What cannot be asked says why") {
  const Graph graph;
  const Subject cell = graph.subject("fc1/weight", 0);
  for (const Ask ask : {Ask::kProve, Ask::kFloat64}) {
    const Offer offer = offerOf(ask, cell, *graph, &kNoWay);
    CHECK_FALSE(offer.possible());
    CHECK(offer.tip.contains("It cannot be computed again: rank 0 has no batches."));
  }
  // These answer from what is stored.
  for (const Ask ask : {Ask::kWhy, Ask::kHistory, Ask::kRecheck})
    CHECK(offerOf(ask, cell, *graph, &kNoWay).possible());
  CHECK(offerOf(Ask::kWhy, cell, *graph, &kNoWay).tip.contains("nothing can be computed again"));
  const Subject whole = graph.subject("fc1/weight", {});
  CHECK(offerOf(Ask::kWhy, whole, *graph, &kCost).possible());
  CHECK_FALSE(offerOf(Ask::kHistory, whole, *graph, &kCost).possible());
  CHECK(offerOf(Ask::kHistory, graph.subject("optimizer/learning_rate", {}), *graph, &kCost).possible());
  CHECK_FALSE(offerOf(Ask::kWhy, cell, *graph, nullptr).possible());
  for (const Ask ask : {Ask::kWhy, Ask::kHistory, Ask::kProve, Ask::kFloat64, Ask::kRecheck})
    CHECK(offerOf(ask, {}, *graph, &kCost).tip.contains("No iteration is recorded here."));
}

}  // namespace msdbg::app
