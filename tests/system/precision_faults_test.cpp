// What a node computes slightly wrong: planted into real runs at drawn places (shared specs, faults.md:
// "later"), it must rank first by the local error of `replay --dtype float64`. A few places of each model by
// a fresh seed, which is printed; five times as many by `./dev test all`.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/support/run_command.h"
#include "tests/support/sampling.h"
#include "tests/support/temp_dir.h"

using namespace msdbg;
using namespace msdbg::test;
using nlohmann::json;

namespace {

constexpr int kSteps = 3;
constexpr double kFound = 0.95;  // of the drawn places

using Words = std::vector<std::string>;

RunOptions options() {
  RunOptions o;
  o.timeout = std::chrono::seconds(300);
  return o;
}

RunResult dump(const Words& model, const std::string& run, Words more) {
  Words command = {"dump"};
  command.insert(command.end(), model.begin(), model.end());
  command.insert(command.end(), {"-o", run, "--force"});
  command.insert(command.end(), more.begin(), more.end());
  return runMsdbg(command, options());
}

struct Place {
  std::string node, phase;
};

/// Nodes with a floating-point output, by a run of the model.
std::vector<Place> placesOf(const Words& model, const TempDir& folder) {
  const std::string run = (folder / "graph.msdbg").string();
  const RunResult dumped = dump(model, run, {"--steps", "1", "--policy", "stats"});
  INFO(dumped.err);
  REQUIRE(dumped.exitStatus == 0);
  const json found = json::parse(runMsdbg({"search", run, "*", "--json"}, options()).out);
  std::vector<Place> places;
  for (const json& node : found["nodes"])
    if (node["tensors"][0]["dtype"] == "float32") places.push_back({node["name"], node["phase"]});
  REQUIRE_FALSE(places.empty());
  return places;
}

json bisect(const std::string& run, int iteration) {
  const RunResult result = runMsdbg(
      {"replay", run, "--iteration", std::to_string(iteration), "--dtype", "float64", "--json"}, options());
  INFO(result.err);
  REQUIRE((result.exitStatus == 0 || result.exitStatus == 3));
  json document = json::parse(result.out);
  CHECK(document["suspicious"] == (result.exitStatus == 3));
  CHECK(document["not_compared"].empty());
  return document;
}

double unitsOf(const json& row) {
  return row["local"]["units"].is_number() ? row["local"]["units"].get<double>() : INFINITY;
}

enum class Outcome { kFirst, kMissed, kUnchanged };

Outcome plant(const Words& model, const std::string& kind, const Place& place, int iteration,
              const TempDir& folder) {
  const std::string run = (folder / "faulty.msdbg").string();
  const std::string fault = kind + "@iteration=" + std::to_string(iteration) + ",node=" + place.node;
  const RunResult dumped =
      dump(model, run, {"--steps", std::to_string(kSteps), "--policy", "full", "--fault", fault});
  INFO(fault << "\n" << dumped.err);
  REQUIRE(dumped.exitStatus == 0);
  const json found = bisect(run, iteration);
  const json& rows = found["rows"];
  const std::string output = place.node + ":0";
  const auto mine = std::ranges::find_if(rows, [&](const json& row) { return row["tensor"] == output; });
  REQUIRE(mine != rows.end());
  if (unitsOf(*mine) < 1) return Outcome::kUnchanged;  // zeros, or numbers that bfloat16 has
  const json& first = rows[found["by_local"][0].get<std::size_t>()];
  if (first["tensor"] == output && found["suspicious"] == true) return Outcome::kFirst;
  WARN(model[0] << ", " << fault << ": " << unitsOf(*mine) << " units, but first is " << first["tensor"]
                << " with " << unitsOf(first));
  return Outcome::kMissed;
}

void checkPlaces(const std::vector<Words>& models, int each) {
  std::mt19937_64 random(drawnSeed("places of slightly wrong nodes"));
  int drawn = 0, missed = 0;
  const TempDir folder;
  for (const Words& model : models) {
    const std::vector<Place> places = placesOf(model, folder);
    for (const std::string kind : {"wrong_kernel", "truncate_dtype", "wrong_backward"})
      for (int tried = 0; tried < each;) {
        const Place& place = places[random() % places.size()];
        if (kind == "wrong_backward" && place.phase != "backward") continue;
        const Outcome outcome = plant(model, kind, place, static_cast<int>(random() % kSteps), folder);
        if (outcome == Outcome::kUnchanged) continue;
        ++tried;
        ++drawn;
        missed += outcome == Outcome::kMissed;
      }
  }
  INFO(missed << " of " << drawn << " drawn places do not rank first");
  CHECK(missed <= (1 - kFound) * drawn);
}

const std::vector<Words> kModels = {
    {"mlp"},
    {"lenet5"},
    {"resnet20", "--batch", "16"},
    {"alexnet", "--batch", "4"},
    {"gpt", "--layers", "2", "--width", "64", "--heads", "4", "--context", "32", "--batch", "4"}};

}  // namespace

TEST_CASE("Slightly wrong nodes of small models rank first by their local error", "[slow]") {
  checkPlaces({kModels[0], kModels[1]}, testAll() ? 10 : 3);
}

TEST_CASE("Slightly wrong nodes of large models rank first by their local error", "[slow]") {
  checkPlaces({kModels[2], kModels[3], kModels[4]}, testAll() ? 5 : 1);
}

TEST_CASE("No node of a healthy model is suspicious, on one rank or two", "[slow]") {
  const TempDir folder;
  for (Words model : kModels) {
    for (const bool two : {false, true}) {
      if (two && model[0] != "lenet5") continue;
      if (two) model.insert(model.end(), {"-n", "2"});
      const std::string run = (folder / "healthy.msdbg").string();
      const RunResult dumped = dump(model, run, {"--steps", std::to_string(kSteps), "--policy", "full"});
      INFO(model[0] << "\n" << dumped.err);
      REQUIRE(dumped.exitStatus == 0);
      const json found = bisect(run, kSteps - 1);
      CHECK(found["suspicious"] == false);
      CHECK(found["rows"].size() > 20);
    }
  }
}
