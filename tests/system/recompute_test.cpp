// Promise 4: what is not stored can be computed again. From a run recorded with --policy record alone, msdbg
// computes every tensor of every iteration again, and its hash is the recorded one; the program is not
// needed.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "dump/reader/run_reader.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

using namespace msdbg;
using nlohmann::json;

namespace {

using Words = std::vector<std::string>;

test::RunResult patiently(Words words) {
  test::RunOptions options;
  options.timeout = std::chrono::seconds(300);
  return test::runMsdbg(std::move(words), options);
}

void record(const std::filesystem::path& run, const std::string& model, int ranks, const Words& more) {
  Words words = {"dump",
                 model,
                 "-o",
                 run.string(),
                 "--policy",
                 "record",
                 "--checkpoint-every",
                 "3",
                 "--threads",
                 "1",
                 "-n",
                 std::to_string(ranks),
                 "--batch",
                 "8",
                 "--steps",
                 "7"};
  words.insert(words.end(), more.begin(), more.end());
  const test::RunResult result = patiently(words);
  INFO(result.err);
  REQUIRE(result.exitStatus == 0);
}

void requireProven(const std::filesystem::path& run, const std::string& iterations = "0-6") {
  const test::RunResult result = patiently({"replay", run.string(), "--prove", "--json"});
  INFO(result.out << result.err);
  REQUIRE(result.exitStatus == 0);
  const json proof = json::parse(result.out);
  CHECK(proof.at("equal") == true);
  CHECK(proof.at("iterations") == iterations);
  CHECK(proof.at("not_compared").empty());
  CHECK(proof.at("otherwise_here").empty());
  const auto reader = dump::RunReader::open(run).orThrow();
  CHECK(reader->storage().rawBytes == 0);  // no value but those of checkpoints and batches
  CHECK(proof.at("tensors").get<std::int64_t>() ==
        7 * reader->info().ranks * static_cast<std::int64_t>(reader->graph().tensors().size()));
}

void prove(const std::string& model, int ranks, const Words& more = {}) {
  CAPTURE(model, ranks, more);
  const test::TempDir folder;
  record(folder / "run.msdbg", model, ranks, more);
  requireProven(folder / "run.msdbg");
}

}  // namespace

TEST_CASE("lenet5 and alexnet with dropout are computed again to the bit, on 1 and 2 ranks") {
  prove("lenet5", 1);
  prove("lenet5", 2);
  prove("alexnet", 2, {"--dropout", "0.2"});
}

TEST_CASE("A flipped bit of an activation is found in its node alone, on the rank that had it") {
  const test::TempDir folder;
  const std::string run = folder / "run.msdbg";
  REQUIRE(patiently({"dump", "mlp", "-n", "2", "--threads", "1", "--batch", "8", "--steps", "4", "--policy",
                     "full", "--no-replay", "--fault",
                     "bitflip@iteration=1,rank=1,node=*fc2/Gemm-op1,element=7,bit=20", "-o", run})
              .exitStatus == 0);
  CHECK(patiently({"check", run}).exitStatus == 0);  // nothing that is recorded contradicts it
  const test::RunResult result = patiently({"check", run, "--recheck", "--all", "--json"});
  INFO(result.out << result.err);
  REQUIRE(result.exitStatus == 3);
  const json check = json::parse(result.out);
  REQUIRE(check.at("hits").size() == 1);
  const json& first = check.at("first");
  CHECK(first.at("condition") == "kernel_mismatch");
  CHECK(first.at("node") == "network/fc2/Gemm-op1");
  CHECK(first.at("iteration") == 1);
  CHECK(first.at("rank") == 1);
  CHECK(first.at("element") == 7);
}

TEST_CASE("Rules that leave out iterations record what was there: it is computed again") {
  const test::TempDir folder;
  for (const std::string rule : {"*=record,every=2", "*=stats,iterations=1-2"}) {
    CAPTURE(rule);
    REQUIRE(patiently({"dump",
                       "lenet5",
                       "-n",
                       "2",
                       "-o",
                       folder / "run.msdbg",
                       "--force",
                       "--policy",
                       "none",
                       "--record",
                       rule,
                       "--batches",
                       "--checkpoint-every",
                       "3",
                       "--threads",
                       "1",
                       "--batch",
                       "8",
                       "--steps",
                       "7"})
                .exitStatus == 0);
    const test::RunResult result = patiently({"replay", folder / "run.msdbg", "--prove"});
    INFO(result.out << result.err);
    CHECK(result.exitStatus == 0);
  }
}

TEST_CASE("Every model is computed again to the bit, on 1, 2 and 4 ranks", "[slow]") {
  for (const std::string model : {"mlp", "lenet5", "alexnet", "resnet20", "gpt"})
    for (const int ranks : {1, 2, 4}) prove(model, ranks);
}

TEST_CASE("Passes, augmented data and threads make no difference", "[slow]") {
  for (const std::string passes : {"none", "-layout", "-groups", "-in_place", "-memory", "-dead_nodes"})
    prove("alexnet", 1, {"--passes=" + passes});
  prove("resnet20", 1, {"--data", "digits,flip,crop"});
  prove("gpt", 1, {"--recompute", "*"});
  for (const std::string threads : {"2", "3"}) {
    const test::TempDir folder;
    REQUIRE(patiently({"dump", "alexnet", "-o", folder / "run.msdbg", "--policy", "record", "--threads",
                       threads, "--batch", "8", "--steps", "4"})
                .exitStatus == 0);
    CHECK(patiently({"replay", folder / "run.msdbg", "--prove"}).exitStatus == 0);
  }
}

TEST_CASE("A run that was moved, resumed, merged or thinned is computed again", "[slow]") {
  const test::TempDir folder;
  record(folder / "run.msdbg", "mlp", 2, {});
  std::filesystem::rename(folder.path() / "run.msdbg", folder.path() / "moved.msdbg");
  requireProven(folder / "moved.msdbg");
  REQUIRE(patiently({"merge", folder / "moved.msdbg", "-o", folder / "merged.msdbg"}).exitStatus == 0);
  requireProven(folder / "merged.msdbg");

  REQUIRE(patiently({"dump", "--resume", folder / "moved.msdbg", "--steps", "5", "--policy", "record", "-o",
                     folder / "on.msdbg"})
              .exitStatus == 0);
  CHECK(patiently({"replay", folder / "on.msdbg", "--prove"}).exitStatus == 0);

  // Statistics that had to go: their digest is evidence enough.
  REQUIRE(patiently({"dump", "lenet5", "-o", folder / "thin.msdbg", "--policy", "stats", "--checkpoint-every",
                     "200", "--batches", "--threads", "1", "--batch", "2", "--steps", "2500", "--max-size",
                     "12MB"})
              .exitStatus == 0);
  CHECK(patiently({"verify", folder / "thin.msdbg"}).exitStatus == 0);
  const test::RunResult thinned = patiently({"replay", folder / "thin.msdbg", "--prove", "--json"});
  INFO(thinned.out << thinned.err);
  CHECK(thinned.exitStatus == 0);
  const json proof = json::parse(thinned.out);
  CHECK(proof.at("equal") == true);
  CHECK(proof.at("digests").get<std::int64_t>() > 500);
}

TEST_CASE(
    "A fault that was planted is found where it was, and hindsight says that its values are not these") {
  const test::TempDir folder;
  record(folder / "run.msdbg", "mlp", 2,
         {"--fault", "bitflip@iteration=4,rank=1,node=grad/network/fc2/Allreduce*"});
  const test::RunResult result = patiently({"replay", folder / "run.msdbg", "--prove", "--json"});
  REQUIRE(result.exitStatus == 3);
  const json proof = json::parse(result.out);
  const json first = proof.at("mismatches").at(0);
  CHECK(proof.at("different") == "4");
  CHECK(proof.at("second_computation") == "same");
  CHECK(first.at("iteration") == 4);
  CHECK(first.at("rank") == 1);
  CHECK(first.at("origin") == true);
  CHECK_THAT(first.at("tensor").get<std::string>(), Catch::StartsWith("grad/network/fc2/Allreduce"));
  const std::string tensor = first.at("tensor");
  const test::RunResult shown =
      patiently({"show", folder / "run.msdbg", "--tensor", tensor, "--rank", "1", "--iteration", "4"});
  CHECK(shown.exitStatus == 3);
  CHECK_THAT(shown.out, Catch::Contains("NOT what training had"));
  CHECK_THAT(shown.out, Catch::Contains("the first that differs is " + tensor.substr(0, tensor.find(':'))));
  // What follows from the next checkpoint on is judged, and what could not be is said.
  const test::RunResult checked = patiently({"check", folder / "run.msdbg", "--recompute"});
  CHECK(checked.exitStatus == 3);
  CHECK_THAT(checked.err, Catch::Contains("iteration 4, rank 1 is not as recorded"));
  const json report = json::parse(patiently({"check", folder / "run.msdbg", "--recompute", "--json"}).out);
  CHECK(report.at("different_since").at("iteration") == 4);
  CHECK(report.at("different_since").at("rank") == 1);
  CHECK(report.at("verdict").at("kind") != "no_fault");
  const test::RunResult stats =
      patiently({"stats", folder / "run.msdbg", "--recompute", "--tensor", tensor, "--ranks", "1", "--json"});
  CHECK(stats.exitStatus == 3);
  std::vector<int> without;
  const json told = json::parse(stats.out);
  for (const json& row : told.at("tensors").at(0).at("rows"))
    if (row.at("statistics").is_null()) without.push_back(row.at("iteration"));
  CHECK(without == std::vector<int>{4, 5});
}

TEST_CASE("Policy record takes at most 2 % of full's bytes, batches apart: planned") {
  for (const std::string model : {"alexnet", "lenet5", "mlp"}) {
    const auto planned = [&](const std::string& policy) {
      const auto result =
          test::runMsdbg({"dump", model, "--policy", policy, "--steps", "1000", "--dry-run", "--json"});
      REQUIRE(result.exitStatus == 0);
      return nlohmann::json::parse(result.out)["expected"];
    };
    const auto full = planned("full"), record = planned("record");
    const auto bytes = [](const nlohmann::json& plan, const char* key) { return plan[key].get<double>(); };
    const double all = bytes(full, "value_bytes") + bytes(full, "statistics_bytes");
    CAPTURE(model, record.dump());
    CHECK(bytes(record, "state_bytes") + bytes(record, "statistics_bytes") <= 0.02 * all);
    CHECK(bytes(record, "value_bytes") == 0);
    CHECK(bytes(record, "batch_bytes") > 0);
  }
}

TEST_CASE("Policy record takes at most 2 % of full's bytes on disk, batches apart", "[slow]") {
  for (const std::string model : {"alexnet", "lenet5"}) {
    const auto onDisk = [&](const std::vector<std::string>& how, std::int64_t steps) {
      const test::TempDir folder;
      std::vector<std::string> words = {"dump",       model,  "-o",      folder / "run.msdbg",
                                        "--max-size", "20GB", "--steps", std::to_string(steps)};
      words.insert(words.end(), how.begin(), how.end());
      REQUIRE(test::runMsdbg(words, {.timeout = std::chrono::seconds(300)}).exitStatus == 0);
      const auto bytes = dump::RunReader::open(folder / "run.msdbg").orThrow()->storage().fileBytes;
      return static_cast<double>(bytes) / static_cast<double>(steps);
    };
    CAPTURE(model);
    CHECK(onDisk({"--policy", "record", "--no-batches"}, 100) <= 0.02 * onDisk({"--policy", "full"}, 5));
  }
}
