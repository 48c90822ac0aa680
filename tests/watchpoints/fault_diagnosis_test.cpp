// The table of shared/specs/faults.md on a small network: what was planted must be what `first` names, with
// values recorded and with statistics only.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/watchpoints/recorded_training.h"
#include "watchpoints/check.h"

using namespace msdbg::core;
using namespace msdbg::watch;
using msdbg::test::FakeSource;
using msdbg::test::recordTraining;

namespace {

std::string nameOf(const FakeSource& source, const Hit& hit) {
  return hit.node.valid() ? source.graph().node(hit.node).name : source.graph().tensor(hit.tensor).name;
}

struct Expected {
  std::string node;
  int iteration = 0, rank = 0;
  std::vector<std::string> conditions;
};

void checkFirst(FakeSource& source, const Expected& expected) {
  const CheckReport report = check(source, recommendedSet(), {});
  REQUIRE(report.first);
  const Hit& first = *report.first;
  CAPTURE(first.condition->id, first.detail);
  CHECK(nameOf(source, first) == expected.node);
  CHECK(first.iteration.value == expected.iteration);
  CHECK(first.rank.value == expected.rank);
  CHECK_THAT(expected.conditions, Catch::Matchers::VectorContains(std::string(first.condition->id)));
}

/// `kind` planted at a node, on one rank or all, in the first, a middle and the last iteration.
void checkFault(const std::string& kind, const std::string& node, const std::vector<std::string>& conditions,
                const std::string& more = "", const std::string& expectedNode = "",
                bool alsoAllRanks = true) {
  for (const int iteration : {0, 5, 8}) {
    for (const int rank : {0, 1, -1}) {
      if (rank < 0 && !alsoAllRanks) continue;
      std::string fault =
          kind + "@iteration=" + std::to_string(iteration) + (node.empty() ? "" : ",node=" + node) + more;
      if (rank >= 0) fault += ",rank=" + std::to_string(rank);
      CAPTURE(fault);
      const auto source = recordTraining({.faults = {fault}});
      const Expected expected{expectedNode.empty() ? node : expectedNode, iteration, std::max(rank, 0),
                              conditions};
      checkFirst(*source, expected);
      source->loseValues();
      INFO("statistics only");
      checkFirst(*source, expected);
    }
  }
}

std::string updateOf(const FakeSource& source, const std::string& parameter) {
  return source.graph().node(source.graph().tensor(source.id("next(" + parameter + ")")).producer).name;
}

std::string producerOf(const FakeSource& source, const std::string& tensor) {
  return source.graph().node(source.graph().tensor(source.id(tensor)).producer).name;
}

std::string firstNode(const FakeSource& source, Phase phase) {
  for (const Node& node : source.graph().nodes())
    if (node.phase == phase) return node.name;
  return "";
}

}  // namespace

TEST_CASE("A clean run has no fault, with one, two and three ranks, with and without momentum") {
  for (const int ranks : {1, 2, 3}) {
    for (const double momentum : {0.0, 0.9}) {
      const auto source = recordTraining({.ranks = ranks, .iterations = 40, .momentum = momentum});
      const CheckReport report = check(*source, recommendedSet(), {});
      CAPTURE(ranks, momentum);
      if (report.first)
        FAIL(report.first->condition->id << " at " << nameOf(*source, *report.first) << ": "
                                         << report.first->detail);
      CHECK(report.hits.empty());
      CHECK(report.evaluated > 1000);
    }
  }
}

TEST_CASE("NaN and Inf are traced to the node that made them: forward, backward, collective and update") {
  const auto clean = recordTraining({.iterations = 1});
  const std::vector<std::string> places = {"network/conv1/Conv-op1",
                                           "network/fc1/Relu-op1",
                                           "network/SoftmaxCrossEntropyLoss-op1",
                                           producerOf(*clean, "local_grad(network/conv1/weight)"),
                                           producerOf(*clean, "grad(network/fc1/weight)"),
                                           updateOf(*clean, "network/fc2/bias"),
                                           updateOf(*clean, "network/conv1/weight")};
  for (const std::string& node : places) {
    checkFault("nan", node, {"nonfinite_propagation"});
    checkFault("inf", node, {"nonfinite_propagation"}, ",element=0");
  }
}

TEST_CASE("A rank that receives NaN through a collective says from which rank") {
  const auto source =
      recordTraining({.faults = {"nan@iteration=4,rank=1,node=network/conv1/Conv-op1,element=3"}});
  const CheckReport report = check(*source, recommendedSet(), {});
  REQUIRE(report.firstPerRank.size() == 2);
  const Hit &receiver = report.firstPerRank[0], &origin = report.firstPerRank[1];
  CHECK(receiver.rank == Rank(0));
  CHECK(nameOf(*source, receiver) == firstNode(*source, Phase::kCollective));
  CHECK(receiver.iteration == Iteration(4));
  CHECK(receiver.detail.find("received from rank 1 through " + nameOf(*source, receiver)) == 0);
  CHECK(nameOf(*source, origin) == "network/conv1/Conv-op1");
  CHECK(origin.element == 3);
  CHECK(origin.count == 1);
  CHECK(report.first->rank == Rank(1));
}

TEST_CASE("A flipped bit in a reduced gradient or an update is a divergence of that rank") {
  const auto clean = recordTraining({.iterations = 1});
  for (const std::string& node :
       {producerOf(*clean, "grad(network/fc1/weight)"), producerOf(*clean, "grad(network/fc2/bias)"),
        updateOf(*clean, "network/conv1/weight"), updateOf(*clean, "network/fc1/weight"),
        updateOf(*clean, "network/fc2/bias")})
    checkFault("bitflip", node, {"rank_divergence"}, ",element=2", "", false);
}

TEST_CASE("A divergence names the element and what differs") {
  auto source =
      recordTraining({.faults = {"bitflip@iteration=5,rank=1,node=next(network/fc1/weight),element=17"}});
  const CheckReport report = check(*source, recommendedSet(), {});
  REQUIRE(report.first);
  CHECK(report.first->element == 17);
  CHECK(report.first->count == 1);
  CHECK(report.first->detail.find("rank 1") == 0);
  CHECK(report.first->detail.find("local compute") != std::string::npos);
  CHECK(report.first->detail.find("as a consequence") != std::string::npos);
  const auto divergences = std::count_if(report.hits.begin(), report.hits.end(), [](const Hit& hit) {
    return hit.condition->id == "rank_divergence";
  });
  CHECK(divergences == 1);
}

TEST_CASE("A low bit that flips is located; the rank is known from recomputation, not from statistics") {
  auto source = recordTraining(
      {.faults = {"bitflip@iteration=5,rank=1,node=next(network/fc1/weight),element=17,bit=0"}});
  CheckReport report = check(*source, recommendedSet(), {});
  REQUIRE(report.first);
  CHECK(report.first->rank == Rank(1));
  source->loseValues();
  report = check(*source, recommendedSet(), {});
  REQUIRE(report.first);
  CHECK(report.first->iteration == Iteration(5));
  CHECK(nameOf(*source, *report.first) == updateOf(*source, "network/fc1/weight"));
  CHECK(report.first->detail.find("cannot be told") != std::string::npos);
}

TEST_CASE("A zeroed gradient is traced to the node that makes it") {
  const auto clean = recordTraining({.iterations = 1});
  for (const std::string parameter : {"network/conv1/weight", "network/fc1/bias", "network/fc2/weight"})
    checkFault("zero_grad", producerOf(*clean, "local_grad(" + parameter + ")"),
               {"tensor_all_zero", "gradient_vanishing"});
}

TEST_CASE("A skipped allreduce is traced to that collective and rank") {
  const auto clean = recordTraining({.iterations = 1});
  for (const std::string parameter : {"network/conv1/weight", "network/fc2/bias"})
    checkFault("skip_allreduce", producerOf(*clean, "grad(" + parameter + ")"),
               {"rank_divergence", "collective_mismatch"});
}

TEST_CASE("A stale weight is traced to its update") {
  const auto clean = recordTraining({.iterations = 1});
  for (const std::string parameter : {"network/conv1/weight", "network/fc1/bias", "network/fc2/weight"})
    checkFault("stale_weight", updateOf(*clean, parameter), {"weight_not_changed"});
}

TEST_CASE("A wrong learning rate is traced to the first update in order") {
  const auto clean = recordTraining({.iterations = 1});
  checkFault("lr", "", {"weight_change_too_large"}, "", firstNode(*clean, Phase::kUpdate));
}

TEST_CASE("A bias that silences its Relu is traced to the bias's update, and the Relu is seen to have died") {
  const auto clean = recordTraining({.iterations = 1});
  for (const std::string parameter : {"network/conv1/bias", "network/fc1/bias"})
    checkFault("dead_relu", updateOf(*clean, parameter), {"weight_change_too_large"});

  const auto source = recordTraining({.faults = {"dead_relu@iteration=3,node=network/fc1/bias"}});
  const CheckReport report = check(*source, recommendedSet(), {});
  const auto died = std::find_if(report.hits.begin(), report.hits.end(),
                                 [](const Hit& hit) { return hit.condition->id == "dead_relu"; });
  REQUIRE(died != report.hits.end());
  CHECK(nameOf(*source, *died) == "network/fc1/Relu-op1");
  CHECK(died->iteration == Iteration(4));
  CHECK(died->detail.find("the layer was alive in iteration 3 and has died") == 0);
}

TEST_CASE("With three ranks the minority is wrong, without any stored value") {
  const auto clean = recordTraining({.ranks = 3, .iterations = 1});
  for (const std::string& node :
       {producerOf(*clean, "grad(network/fc1/weight)"), updateOf(*clean, "network/fc1/weight")}) {
    const auto source =
        recordTraining({.ranks = 3, .faults = {"bitflip@iteration=5,rank=2,bit=1,node=" + node}});
    source->loseValues();
    checkFirst(*source, {node, 5, 2, {"rank_divergence"}});
  }
}
