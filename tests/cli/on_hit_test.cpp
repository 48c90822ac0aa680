// --on-hit and --stop-on-hit as a user meets them: which values stay, what is told, how the run ends; and
// that what is found while training goes on is what `check` finds afterwards.
#include <catch2/catch.hpp>
#include <fstream>
#include <regex>
#include <set>

#include "core_engine/base/mpirun.h"
#include "tests/cli/recorded_run.h"

namespace msdbg::test {

namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;
using Json = nlohmann::ordered_json;
using Numbers = std::set<std::int64_t>;

// What of the recommended set can be asked while training goes on.
const Words kRecommended = {"nonfinite_propagation",   "tensor_overflow",    "weight_not_changed",
                            "tensor_all_zero",         "gradient_vanishing", "weight_initialization",
                            "weight_change_too_large", "dead_relu"};

Words dumpMlp(const std::string& run, int ranks, const Words& extra) {
  Words words = {"dump", "mlp", "-n", std::to_string(ranks), "--threads", "1", "--steps", "8", "--batch",
                 "16",   "-o",  run};
  words.insert(words.end(), extra.begin(), extra.end());
  return words;
}

/// Iterations in which this rank has the value of some weight.
Numbers valuesOf(const std::string& run, int rank) {
  Numbers full;
  for (int i = 0; i < 8; ++i)
    if (msdbg({"show", run, "--tensor", "fc1/weight", "--rank", std::to_string(rank), "--iteration",
               std::to_string(i)})
            .exitStatus == 0)
      full.insert(i);
  return full;
}

std::size_t countOf(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// The 128-bit hashes of every weight after the last iteration: equal when training was.
Json finalWeights(const std::string& run, int rank) {
  Json hashes = Json::array();
  const Json statistics = msdbgJson({"stats", run, "--tensor", "next(*)"});
  for (const Json& tensor : statistics["tensors"])
    for (const Json& row : tensor["rows"])
      if (row["iteration"] == 7 && row["rank"] == rank) hashes.push_back(row["statistics"]["hash"]);
  return hashes;
}

/// Where it is first wrong, as (condition, tensor, rank, iteration); null where nothing is.
Json placeOf(const Json& hit) {
  if (hit.is_null()) return hit;
  const std::string condition = hit["condition"];
  return {condition.substr(0, condition.find(':')), hit["tensor"], hit["rank"], hit["iteration"]};
}

Json firstRecorded(const std::string& run) {
  const Json hits = msdbgJson({"info", run})["hits"];
  return hits.empty() ? Json() : placeOf(hits[0]);
}

Json firstChecked(const std::string& run) {
  Words words = {"check", run, "--json"};
  for (const std::string& id : kRecommended) words.insert(words.end(), {"-w", id + ":recommended"});
  return placeOf(Json::parse(msdbg(words).out)["first"]);
}

/// Whether there was a hit at all.
bool checkSameFirst(const std::string& model, const std::string& fault) {
  const TempDir folder;
  const std::string run = folder / "run.msdbg";
  CAPTURE(model, fault);
  const RunResult dumped = msdbg({"dump", model, "-n", "2", "--threads", "1", "--steps", "8", "--batch", "16",
                                  "-o", run, "--fault", fault, "--on-hit", "recommended"});
  INFO(dumped.out << dumped.err);
  REQUIRE(dumped.exitStatus == 0);
  const Json found = firstRecorded(run);
  CHECK(found == firstChecked(run));
  return !found.is_null();
}

}  // namespace

TEST_CASE("On a hit of one rank all ranks keep the values around it, and nothing else", "[cli]") {
  const TempDir folder;
  const std::string run = folder / "run.msdbg";
  const RunResult dumped = msdbg(dumpMlp(run, 2,
                                         {"--fault", "nan@iteration=4,rank=1,node=*fc2/Gemm-op1", "--on-hit",
                                          "nonfinite_propagation", "--after", "2"}));
  INFO(dumped.out << dumped.err);
  CHECK(dumped.exitStatus == 0);
  for (const int rank : {0, 1}) CHECK(valuesOf(run, rank) == Numbers{3, 4, 5, 6});
  CHECK_THAT(dumped.err, Catch::Matches("(.|\n)*hit: nonfinite_propagation at network/fc2/Gemm-op1:0 "
                                        "\\(mlp.cpp:[0-9]+\\), rank 1, iteration 4: its inputs are all "
                                        "finite(.|\n)*"));
  CHECK(countOf(dumped.err, "rank 1, iteration 4") == 1);
  const Json hits = msdbgJson({"info", run})["hits"];
  CHECK(hits[0]["tensor"] == "network/fc2/Gemm-op1:0");
  CHECK(hits[0]["rank"] == 1);
  CHECK(hits[0]["iteration"] == 4);
  CHECK(hits[1]["rank"] == 0);
  CHECK(hits[1]["iteration"] == 4);
  checkGolden("info_hits.txt", shapeOf(msdbg({"info", run}).out));
  checkGolden("info_hits.keys", keysOf(msdbgJson({"info", run})));
  CHECK(msdbg({"verify", run}).exitStatus == 0);
  const RunResult shown = msdbg({"show", run, "--tensor", "fc1/weight", "--iteration", "1"});
  CHECK(shown.exitStatus == 4);
  CHECK_THAT(shown.err, Catch::Contains("--on-hit"));
}

TEST_CASE("Where nothing hits no values stay, and training is bit for bit the same", "[cli]") {
  const TempDir folder;
  const std::string with = folder / "with.msdbg", without = folder / "without.msdbg";
  for (const int ranks : {1, 2}) {
    REQUIRE(msdbg(dumpMlp(with, ranks, {"--force", "--on-hit", "recommended", "--stop-on-hit"})).exitStatus ==
            0);
    REQUIRE(msdbg(dumpMlp(without, ranks, {"--force", "--policy", "stats"})).exitStatus == 0);
    for (int rank = 0; rank < ranks; ++rank) {
      CHECK(valuesOf(with, rank).empty());
      CHECK_FALSE(finalWeights(with, rank).empty());
      CHECK(finalWeights(with, rank) == finalWeights(without, rank));
    }
    const Json info = msdbgJson({"info", with});
    CHECK(info["storage"]["raw_bytes"] == 0);
    CHECK(info["hits"].empty());
    CHECK(info["end"]["state"] == "finished");
  }
}

TEST_CASE("--stop-on-hit ends training on all ranks after the same iteration, with status 3", "[cli]") {
  const auto [ranks, iteration, after, last] =
      GENERATE(table<int, int, int, int>({{1, 2, 1, 3}, {2, 2, 0, 2}, {2, 3, 2, 5}, {2, 7, 1, 7}}));
  CAPTURE(ranks, iteration, after);
  const TempDir folder;
  const std::string run = folder / "run.msdbg";
  const std::string fault = "nan@iteration=" + std::to_string(iteration) +
                            ",rank=" + std::to_string(ranks - 1) + ",node=*fc2/Gemm-op1";
  const RunResult dumped = msdbg(dumpMlp(
      run, ranks,
      {"--fault", fault, "--on-hit", "tensor_overflow", "--after", std::to_string(after), "--stop-on-hit"}));
  INFO(dumped.out << dumped.err);
  CHECK(dumped.exitStatus == 3);
  CHECK_THAT(dumped.err, !Catch::Contains("error"));
  const Json info = msdbgJson({"info", run});
  for (const Json& rank : info["ranks"]) CHECK(rank["count"] == last + 1);
  const Json& end = info["end"];
  CHECK(end["state"] == (iteration + after < 7 ? "stopped" : "finished"));
  CHECK(end["condition"] == "tensor_overflow");
  CHECK(end["tensor"] == "network/fc2/Gemm-op1:0");
  CHECK(end["rank"] == ranks - 1);
  CHECK(end["iteration"] == iteration);
  CHECK_THAT(dumped.out, Catch::Contains("tensor_overflow hit at network/fc2/Gemm-op1:0"));
}

TEST_CASE("A program started by hand stops in good order on a hit, on every rank", "[cli]") {
  const TempDir folder;
  const std::string run = folder / "run.msdbg";
  Words words = {buildDir() / "tests" / "session_probe", "ok"};
  std::vector<std::pair<std::string, std::string>> environment = {
      {"MSDBG_DUMP", run},
      {"MSDBG_FAULTS", "nan@iteration=2,rank=1,node=*Gemm-op1"},
      {"MSDBG_DUMP_OPTIONS", R"({"on_hit": {"conditions": "tensor_overflow", "before": 0, "stop": true}})"}};
  for (const auto& variable : core::mpirunEnvironment()) environment.push_back(variable);
  const RunResult trained = runCommand(core::mpirunCommand(2, words), {.environment = environment});
  INFO(trained.out << trained.err);
  CHECK(trained.exitStatus == 0);
  const Json info = msdbgJson({"info", run});
  CHECK(info["end"]["state"] == "stopped");
  CHECK(info["end"]["rank"] == 1);
  CHECK(info["end"]["iteration"] == 2);
  for (const Json& rank : info["ranks"]) CHECK(rank["iterations"] == "0-3");
  CHECK(info["policy"]["on_hit"] ==
        Json::parse(R"({"conditions": ["tensor_overflow"], "before": 0, "after": 1, "stop": true})"));
}

TEST_CASE("What cannot be asked while training goes on is refused, with what can", "[cli]") {
  const auto refused = [](const Words& extra) {
    Words words = dumpMlp("never.msdbg", 1, extra);
    words.push_back("--dry-run");
    const RunResult result = msdbg(words);
    CHECK(result.exitStatus == 2);
    CHECK(countOf(result.err, "\n") == 1);
    return result.err;
  };
  CHECK_THAT(refused({"--on-hit", "rank_divergence"}),
             Catch::Contains("--on-hit: rank_divergence cannot be asked while training goes on: needs the "
                             "statistics of all ranks in one place (ask msdbg check afterwards); these can: "
                             "nonfinite_propagation, tensor_overflow"));
  CHECK_THAT(refused({"--on-hit", "weight_not_changed:rtol=0.5"}), Catch::Contains("need the values"));
  CHECK_THAT(refused({"--on-hit", "tensor_overflw"}), Catch::Contains("did you mean tensor_overflow"));
  CHECK_THAT(refused({"--before", "2"}), Catch::Contains("need --on-hit"));
  CHECK_THAT(refused({"--stop-on-hit"}), Catch::Contains("need --on-hit"));
  CHECK_THAT(refused({"--on-hit", "dead_relu", "--after", "-1"}),
             Catch::Contains("--after must be at least 0"));
  const TempDir folder;
  const std::string file = folder / "recording.json";
  const auto config = [&](const std::string& text) {
    std::ofstream(file) << text;
    return refused({"--config", file});
  };
  CHECK_THAT(config("{\"on_hit\": {\n\"befor\": 2}}"),
             Catch::Contains("line 2: on_hit.befor: there is no such key"));
  CHECK_THAT(config("{\"on_hit\": {\"conditions\": [\"tensor_overflow\",\n\"rank_divergence\"]}}"),
             Catch::Contains("rank_divergence cannot be asked"));
  CHECK_THAT(config("{\"on_hit\": {\"before\": -1}}"), Catch::Contains("whole number from 0"));
  CHECK_THAT(config("{\"on_hit\": {\"stop\": 1}}"), Catch::Contains("true or false"));
}

TEST_CASE("--dry-run says what will be asked and what only check can tell", "[cli]") {
  const Json plan =
      msdbgJson(dumpMlp("never.msdbg", 2, {"--on-hit", "recommended", "--before", "3", "--dry-run"}));
  CHECK(plan["on_hit"]["before"] == 3);
  CHECK(plan["on_hit"]["left_out"] ==
        Json({"run_failed", "rank_divergence", "collective_mismatch", "activation_exploding", "same_batch",
              "batch_content", "target_leak", "mask_reversed", "right_answer", "evaluation_mode",
              "result_unused", "clipping_too_tight", "saturated_start", "rank_loss_gap", "table_lookup",
              "loss_diverging", "weight_overwritten", "no_activation"}));
  checkGolden("dump_on_hit.txt",
              shapeOf(msdbg(dumpMlp("never.msdbg", 2, {"--on-hit", "recommended", "--dry-run"})).out));
}

TEST_CASE("The first hit while training is check's first, for a fault on one rank", "[cli]") {
  CHECK(checkSameFirst("mlp", "nan@iteration=4,rank=1,node=*fc2/Gemm-op1"));
  CHECK(checkSameFirst("mlp", "lr@iteration=5"));
}

TEST_CASE("The first hit while training is check's first, for every kind of fault", "[slow]") {
  int hits = 0, runs = 0;
  for (const std::string model : {"mlp", "lenet5"})
    for (const char* kind :
         {"nan", "inf", "bitflip", "zero_grad", "skip_allreduce", "stale_weight", "lr", "dead_relu"})
      for (const std::string place : {"0", "3,rank=1", "7,rank=0"})
        ++runs, hits += checkSameFirst(model, kind + ("@iteration=" + place));
  CHECK(hits > runs / 2);
}

}  // namespace msdbg::test
