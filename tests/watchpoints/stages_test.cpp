// A training in which ranks compute different things: two stages of a pipeline, two replicas of each, all of
// whose nodes are another framework's.
#include "tests/watchpoints/stages.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "watchpoints/blame/blame.h"
#include "watchpoints/check.h"
#include "watchpoints/meaning/translated_source.h"

namespace msdbg::test {

using namespace core;
using watch::CheckReport;

namespace {

CheckReport checked(Stages& stages) { return watch::check(stages.source, watch::recommendedSet(), {}); }

std::string placeOf(const Stages& stages, const watch::Hit& hit) {
  return "rank " + std::to_string(hit.rank.value) + " iteration " + std::to_string(hit.iteration.value) +
         " " +
         (hit.node.valid() ? stages.source.graph().node(hit.node).name
                           : stages.source.graph().tensor(hit.tensor).name) +
         " " + std::string(hit.condition->id);
}

}  // namespace

TEST_CASE("Healthy stages have no fault, and nothing is missed that a rank does not have") {
  Stages stages(4);
  const CheckReport report = checked(stages);
  CHECK(report.hits.empty());
  for (const watch::NotEvaluable& entry : report.notEvaluable) {
    const std::string name =
        entry.tensor.valid() ? stages.source.graph().tensor(entry.tensor).name : std::string();
    CAPTURE(entry.condition, entry.detail, name);
    CHECK(entry.reason != "no_value");
    CHECK(entry.reason != "absent");
  }
  // The weights of the stages have one name, line and dtype, and are nobody's replicas but their own stage's.
  CHECK(stages.source.graph().findTensor("net/w").has_value());
  CHECK_FALSE(stages.source.graph().findTensor("net/w@2").has_value());
}

TEST_CASE("NaN is named on the stage that made it, not on the one that received it") {
  Stages stages(4);
  stages.record(Rank(2), Iteration(1), "net/b", {0, 1});
  stages.record(Rank(2), Iteration(1), "net/div.Tensor-op1", {INFINITY, 1});
  stages.record(Rank(2), Iteration(1), "net/mean-op1", {INFINITY});
  stages.record(Rank(2), Iteration(1), "grad/net/div_backward-op1", {NAN, 1});
  stages.record(Rank(0), Iteration(1), "grad/net/recv_-op1", {NAN, 1});
  stages.record(Rank(0), Iteration(1), "grad/net/mul_backward-op1", {NAN, 1});
  for (const int rank : {0, 1}) stages.record(Rank(rank), Iteration(1), "grad/net/allreduce_-op1", {NAN, 1});
  const CheckReport report = checked(stages);
  REQUIRE(report.first);
  CHECK(placeOf(stages, *report.first) == "rank 2 iteration 1 net/div.Tensor-op1 nonfinite_propagation");
  CHECK_THAT(report.first->detail, Catch::Contains("net/b") && Catch::Contains("0"));
  std::map<std::int64_t, std::string> details;
  for (const watch::Hit& hit : report.hits)
    if (hit.condition->id == "nonfinite_propagation") details.emplace(hit.rank.value, hit.detail);
  CHECK_THAT(details.at(0), Catch::Contains("received from rank 2 through grad/net/recv_-op1"));
  CHECK_THAT(details.at(1), Catch::Contains("received from rank 0 through grad/net/allreduce_-op1"));
  CHECK(details.size() == 3);  // nobody else got any

  // The way back from what a stage received leads to the sender.
  const watch::TranslatedSource read(stages.source);
  const Graph& graph = (*read).graph();
  const Node& received = graph.node(graph.findNode("grad/net/recv_-op1").value());
  const auto blame = watch::blameInput(*read, Rank(0), Iteration(1), received, received.outputs[0],
                                       watch::Wrong::kNonFinite);
  REQUIRE(blame);
  CHECK(blame->rank == Rank(2));
  CHECK(graph.tensor(blame->tensor).name == "grad/net/div_backward-op1");
  CHECK_THAT(blame->sentence(), Catch::Contains("rank 2") && Catch::Contains("send"));
}

TEST_CASE("Replicas are compared within their stage") {
  Stages stages(4);
  const auto hits = [&] {
    std::vector<std::string> places;
    for (const watch::Hit& hit : checked(stages).hits)
      if (hit.condition->id == "rank_divergence") places.push_back(placeOf(stages, hit));
    return places;
  };
  CHECK(hits().empty());  // though net/w of the two stages differ
  stages.record(Rank(3), Iteration(0), "net/w", {9, 9});
  const auto found = hits();
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0], Catch::Contains("net/w") && (Catch::Contains("rank 2") || Catch::Contains("rank 3")));
}

TEST_CASE("What arrives is compared with what was sent, and a group's sum with its ranks'") {
  Stages stages(2);
  const auto mismatches = [&] {
    std::vector<std::string> places;
    const auto all = watch::check(stages.source, {watch::parseWatchpoint("collective_mismatch").value()}, {});
    for (const watch::Hit& hit : all.hits) places.push_back(placeOf(stages, hit) + ": " + hit.detail);
    return places;
  };
  CHECK(mismatches().empty());
  stages.record(Rank(3), Iteration(1), "net/recv_-op1", {7, 7});
  stages.record(Rank(1), Iteration(0), "grad/net/allreduce_-op1", {0.1F, 0.2F});
  const auto found = mismatches();
  CAPTURE(found);
  REQUIRE(found.size() == 2);
  CHECK(found[0] ==
        "rank 1 iteration 0 grad/net/allreduce_-op1 collective_mismatch: its result is not the "
        "rank-ordered sum of the recorded inputs");
  CHECK(found[1] == "rank 3 iteration 1 net/recv_-op1 collective_mismatch: it is not what rank 1 sent");
  stages.source.loseValues();  // hashes are left
  CHECK_FALSE(mismatches().empty());
}

TEST_CASE("A graph that changes is judged as it is in each iteration") {
  Stages stages(5, 3);  // from iteration 3 on stage 1 takes a logarithm first
  const Graph& graph = stages.source.graph();
  REQUIRE(graph.findNode("net/log-op1"));
  CHECK(checked(stages).hits.empty());
  stages.record(Rank(2), Iteration(4), "net/log-op1", {NAN, 1});
  stages.record(Rank(2), Iteration(4), "net/recv_-op1", {-1, 1});
  stages.record(Rank(0), Iteration(4), "net/mul.Tensor-op1", {-1, 1});
  stages.record(Rank(2), Iteration(4), "net/div.Tensor-op1", {NAN, 1});
  stages.record(Rank(2), Iteration(4), "net/mean-op1", {NAN});
  const CheckReport report = checked(stages);
  REQUIRE(report.first);
  CHECK(placeOf(stages, *report.first) == "rank 2 iteration 4 net/log-op1 nonfinite_propagation");
  // Div reads the logarithm there, and is a consequence; before, it read what was received.
  const NodeId div = graph.findNode("net/div.Tensor-op1").value();
  const auto input = [&](int iteration) {
    return graph.tensor(watch::inputsOf(stages.source, Rank(2), Iteration(iteration), graph.node(div))[0])
        .name;
  };
  CHECK(input(2) == "net/recv_-op1");
  CHECK(input(3) == "net/log-op1");
}

}  // namespace msdbg::test
