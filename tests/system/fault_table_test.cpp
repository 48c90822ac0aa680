// The table of planted faults (shared specs, faults.md): train for real with a fault, ask `check --json`,
// compare `first`. Nodes, elements and single ranks are drawn by a printed seed over forward, backward,
// collective and update nodes; iterations 0, 7 and the last take turns. Two places of each fault's five,
// all of them by `./dev test all`.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <random>

#include "core_engine/base/text.h"
#include "tests/dump/patched_run.h"
#include "tests/support/run_command.h"
#include "tests/support/sampling.h"
#include "tests/support/temp_dir.h"

using namespace msdbg;
using namespace msdbg::test;
using nlohmann::json;

namespace {

constexpr int kSteps = 12, kRanks = 2, kPlaces = 5;
constexpr unsigned kSeed = 20261;

/// A model, and what makes its runs small enough for the table's.
struct Trained {
  std::string model;
  std::vector<std::string> options = {};
};

std::vector<std::string> dumpCommand(const Trained& trained, const std::vector<std::string>& more) {
  std::vector<std::string> command = {"dump", trained.model, "-n", "2"};
  command.insert(command.end(), trained.options.begin(), trained.options.end());
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

struct Place {
  std::string node;
  long elements = 0;
};

struct Expectation {
  std::string kind;
  std::vector<std::string> conditions;
  bool drawsElement = false;
  int ranks = 0;  // 0: always one rank; 1: one rank and all ranks in turn
};

const std::vector<Expectation> kTable = {
    {"nan", {"nonfinite_propagation"}, true, 0},
    {"inf", {"nonfinite_propagation"}, true, 0},
    {"bitflip", {"rank_divergence"}, true, 0},
    {"zero_grad", {"tensor_all_zero", "gradient_vanishing"}, false, 1},
    {"skip_allreduce", {"rank_divergence", "collective_mismatch"}, false, 0},
    {"stale_weight", {"weight_not_changed"}, false, 1},
    {"lr", {"weight_change_too_large"}, false, 1},
    {"dead_relu", {"weight_change_too_large"}, false, 1},
};

RunOptions options() {
  RunOptions o;
  o.timeout = std::chrono::seconds(180);
  return o;
}

json checkRun(const std::string& run, int expectedStatus) {
  const RunResult result = runMsdbg({"check", run, "--json"}, options());
  INFO(result.err);
  REQUIRE(result.exitStatus == expectedStatus);
  return json::parse(result.out);
}

/// Every node of the model's training graph on two ranks, as `search` tells it.
json graphNodes(const Trained& trained, const TempDir& folder) {
  const std::string run = (folder / "graph.msdbg").string();
  const RunResult dumped =
      runMsdbg(dumpCommand(trained, {"--steps", "1", "--policy", "stats", "-o", run}), options());
  INFO(dumped.err);
  REQUIRE(dumped.exitStatus == 0);
  const RunResult found = runMsdbg({"search", run, "*", "--json"});
  REQUIRE(found.exitStatus == 0);
  return json::parse(found.out).at("nodes");
}

long elementsOf(const json& node) {
  long n = 1;
  for (const json& d : node.at("tensors").at(0).at("shape")) n *= d.get<long>();
  return n;
}

bool feedsRelu(const std::string& updateNode, const json& nodes) {
  const std::string scope =
      updateNode.substr(std::string("update/").size(), updateNode.rfind('/') - std::string("update/").size());
  for (const json& n : nodes)
    if (n.at("op_type") == "Relu" && n.at("name").get<std::string>().rfind(scope + "/", 0) == 0) return true;
  return false;
}

/// Whether an output is called like that.
bool hasAlias(const json& node, const std::string& begin, const std::string& end) {
  return std::ranges::any_of(node.at("tensors"), [&](const json& tensor) {
    const std::string alias = tensor.at("alias").is_string() ? tensor.at("alias").get<std::string>() : "";
    return alias.starts_with(begin) && alias.ends_with(end);
  });
}

/// Whether faults.md lets this kind hit the node.
bool canHit(const std::string& kind, const json& node, const json& nodes) {
  const std::string phase = node.at("phase"), type = node.at("op_type"),
                    dtype = node.at("tensors").at(0).at("dtype");
  if (dtype != "float32") return false;
  if (kind == "nan" || kind == "inf") return true;
  if (kind == "bitflip") return phase == "collective" || phase == "update";
  if (kind == "skip_allreduce") return phase == "collective";
  if (kind == "stale_weight") return phase == "update";
  if (kind == "dead_relu")
    return phase == "update" && hasAlias(node, "next(", "/bias)") && feedsRelu(node.at("name"), nodes);
  if (kind == "zero_grad") return phase == "backward" && hasAlias(node, "local_grad(", ")");
  return false;
}

std::vector<Place> places(const std::string& kind, const json& nodes, std::mt19937& random) {
  if (kind == "lr") {  // hits every update: the first one in order is the answer
    for (const json& n : nodes)
      if (n.at("phase") == "update") return std::vector<Place>(kPlaces, Place{n.at("name"), elementsOf(n)});
  }
  std::vector<Place> all;
  for (const json& n : nodes)
    if (canHit(kind, n, nodes)) all.push_back({n.at("name"), elementsOf(n)});
  REQUIRE_FALSE(all.empty());
  std::shuffle(all.begin(), all.end(), random);
  while (all.size() < kPlaces) all.push_back(all[random() % all.size()]);
  all.resize(kPlaces);
  return all;
}

bool hasRelu(const json& nodes) {
  return std::ranges::any_of(nodes, [](const json& n) { return n.at("op_type") == "Relu"; });
}

void runTable(const Trained& trained) {
  TempDir folder;
  const json nodes = graphNodes(trained, folder);
  std::mt19937 random(kSeed);
  const std::string run = (folder / "fault.msdbg").string();
  const int iterations[] = {0, 7, kSteps - 1};
  std::mt19937_64 sample(test::drawnSeed("planted faults in " + trained.model));
  for (const Expectation& row : kTable) {
    if (row.kind == "dead_relu" && !hasRelu(nodes)) continue;
    int turn = 0;
    const int drawn = static_cast<int>(sample() % kPlaces);
    for (const Place& place : places(row.kind, nodes, random)) {
      const bool asked = test::testAll() || turn == drawn || turn == (drawn + 2) % kPlaces;
      const int iteration = iterations[turn % 3], rank = turn % kRanks;
      const bool allRanks = row.ranks == 1 && turn % 2 == 0;
      const long element =
          row.drawsElement ? static_cast<long>(random() % static_cast<unsigned long>(place.elements)) : 0;
      std::string spec = row.kind + "@iteration=" + std::to_string(iteration);
      if (!allRanks) spec += ",rank=" + std::to_string(rank);
      if (row.kind != "lr") spec += ",node=" + place.node;
      if (row.drawsElement) spec += ",element=" + std::to_string(element);
      ++turn;
      if (!asked) continue;
      std::vector<std::string> command = dumpCommand(
          trained, {"--steps", "12", "--seed", std::to_string(turn), "--fault", spec, "--force", "-o", run});
      INFO("seed " << kSeed << ": msdbg " << core::join(command, " "));
      if (row.kind == "bitflip")  // naming the element takes the values of every iteration
        command.insert(command.end(), {"--max-size", "4GiB"});
      else if (turn % 2 == 1)
        command.insert(command.end(), {"--policy", "stats"});
      const RunResult dumped = runMsdbg(command, options());
      INFO(dumped.err);
      REQUIRE(dumped.exitStatus == 0);
      const json report = checkRun(run, 3);
      const json first = report.at("first");
      INFO(first.dump(1));
      CHECK(first.at("node") == place.node);
      CHECK(first.at("iteration") == iteration);
      CHECK(first.at("rank") == (allRanks ? 0 : rank));
      CHECK_THAT(row.conditions, Catch::VectorContains(first.at("condition").get<std::string>()));
      if (row.kind == "bitflip") CHECK(first.at("element") == element);
    }
  }
}

}  // namespace

TEST_CASE("check names every planted fault of lenet5", "[slow]") { runTable({"lenet5"}); }
TEST_CASE("check names every planted fault of alexnet", "[slow]") { runTable({"alexnet"}); }
TEST_CASE("check names every planted fault of resnet20", "[slow]") {
  runTable({"resnet20", {"--batch", "8"}});
}
TEST_CASE("check names every planted fault of gpt", "[slow]") {
  runTable({"gpt", {"--batch", "4", "--layers", "2", "--width", "64", "--heads", "4", "--context", "32"}});
}

TEST_CASE("check gives the same answer without the planted fault in run.json", "[slow]") {
  TempDir folder;
  const std::string run = (folder / "fault.msdbg").string();
  REQUIRE(runMsdbg({"dump", "lenet5", "-n", "2", "--steps", "4", "--fault",
                    "nan@iteration=2,rank=1,node=*conv2/Conv-op1", "-o", run},
                   options())
              .exitStatus == 0);
  const RunResult before = runMsdbg({"check", run, "--json"});
  patchRunInfo(run, [](nlohmann::ordered_json& info) {
    REQUIRE(info.erase("faults") == 1);
    info["command"] = nlohmann::ordered_json::array();
  });
  CHECK(runMsdbg({"check", run, "--json"}).out == before.out);
}
