// Every kind of fault at every node that it can hit, elements drawn by a fixed seed.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <stdexcept>

#include "tests/watchpoints/recorded_training.h"
#include "watchpoints/check.h"

using namespace msdbg::core;
using namespace msdbg::watch;
using msdbg::test::FakeSource;
using msdbg::test::recordTraining;

namespace {

using Names = std::vector<std::string>;

const std::map<std::string, Names> kKinds = {
    {"nan", {"nonfinite_propagation"}},
    {"inf", {"nonfinite_propagation"}},
    // A flip of bit 30 in a number of [1, 2) gives Inf or NaN.
    {"bitflip", {"rank_divergence", "nonfinite_propagation"}},
    {"zero_grad", {"tensor_all_zero", "gradient_vanishing"}},
    {"skip_allreduce", {"rank_divergence", "collective_mismatch"}},
    {"stale_weight", {"weight_not_changed"}},
    {"dead_relu", {"weight_change_too_large"}},
};

bool right(FakeSource& source, const Node& node, int iteration, int rank, const Names& conditions) {
  const CheckReport report = check(source, recommendedSet(), {});
  if (!report.first) return false;
  const Hit& first = *report.first;
  UNSCOPED_INFO(first.condition->id << " at order " << first.order << " (expected " << node.id.value
                                    << "), iteration " << first.iteration.value << ", rank "
                                    << first.rank.value << ": " << first.detail);
  return first.node == node.id && first.iteration.value == iteration &&
         first.rank.value == std::max(rank, 0) &&
         std::ranges::find(conditions, first.condition->id) != conditions.end();
}

/// nullptr where the kind cannot hit the node.
std::unique_ptr<FakeSource> tryRecord(const std::string& fault, int ranks) {
  try {
    return recordTraining({.ranks = ranks, .iterations = 6, .faults = {fault}});
  } catch (const std::runtime_error&) {
    return nullptr;
  }
}

int checkEverywhere(const std::string& kind, const Names& conditions, int ranks, int rank) {
  const auto clean = recordTraining({.ranks = ranks, .iterations = 1});
  std::mt19937 random(2026);
  int hit = 0;
  for (const Node& node : clean->graph().nodes()) {
    // Elsewhere it contradicts nothing that is recorded: tests/replay/recheck_test.
    if (kind == "bitflip" && node.phase != Phase::kCollective && node.phase != Phase::kUpdate) continue;
    const int iteration = std::array{0, 3, 5}[static_cast<std::size_t>(node.id.value) % 3];
    const auto elements = static_cast<unsigned>(clean->graph().tensor(node.outputs.front()).shape.elements());
    std::string fault = kind + "@iteration=" + std::to_string(iteration) + ",node=" + node.name +
                        ",element=" + std::to_string(random() % elements);
    if (rank >= 0) fault += ",rank=" + std::to_string(rank);
    const auto source = tryRecord(fault, ranks);
    if (!source) continue;
    ++hit;
    CAPTURE(fault);
    CHECK(right(*source, node, iteration, rank, conditions));
    source->loseValues();
    INFO("statistics only");
    CHECK(right(*source, node, iteration, rank, conditions));
  }
  return hit;
}

}  // namespace

TEST_CASE("Every fault at every node it can hit is what `first` names", "[slow]") {
  for (const auto& [kind, conditions] : kKinds) {
    for (const int rank : {0, 1}) CHECK(checkEverywhere(kind, conditions, 2, rank) >= 2);
    if (kind != "bitflip") CHECK(checkEverywhere(kind, conditions, 2, -1) >= 2);
    CHECK(checkEverywhere(kind, conditions, 3, 2) >= 2);
  }
}
