// Promise 4: what is not stored can be computed again. From a run recorded with --policy record alone, msdbg
// computes every tensor of every iteration again, and its hash is the recorded one; the program is not
// needed.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "dump/reader/run_reader.h"
#include "tests/dump/patched_run.h"
#include "tests/replay/damaged_state.h"
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

TEST_CASE("A damaged checkpoint is named by whoever meets it, and an older one takes its place") {
  const test::TempDir folder;
  const std::string run = folder / "run.msdbg";
  record(run, "mlp", 1, {});  // checkpoints 0, 3, 6
  test::damageState(run, 0, "network/fc1/weight:0", 3);
  const test::RunResult proof = patiently({"replay", run, "--prove"});
  CHECK(proof.exitStatus == 1);
  CHECK_THAT(proof.out, Catch::Contains("iterations 0-6") && Catch::Contains("damaged: iteration 3: ") &&
                            Catch::Contains("/state/network/fc1/weight:0"));
  CHECK_THAT(proof.err, Catch::Contains("segment_") && Catch::Contains("is damaged"));
  const test::RunResult later = patiently({"show", run, "--tensor", "fc1/weight", "--iteration", "4"});
  CHECK(later.exitStatus == 0);
  CHECK_THAT(later.out,
             Catch::Contains("computed again from iteration 0 (5 iterations), since the checkpoint"));
  CHECK_THAT(later.err, Catch::Contains("the checkpoint of iteration 3 cannot be read"));
  const test::RunResult there =
      patiently({"show", run, "--tensor", "fc1/weight", "--iteration", "3", "--slice", "0,:2", "--json"});
  CHECK(there.exitStatus == 0);
  CHECK_THAT(there.err, Catch::Contains("computed again, since what is stored cannot be read"));
  const json shown = json::parse(there.out);
  CHECK(shown.at("origin") == "computed");
  CHECK(shown.at("computed").at("evidence") == "recorded_hash");
  CHECK(shown.at("computed").at("passed_over").at(0).at("iteration") == 3);
  const json stored = json::parse(
      patiently({"show", run, "--tensor", "fc1/weight", "--iteration", "3", "--stored", "--json"}).out);
  CHECK(stored.at("stored") == false);

  const test::RunResult info = patiently({"info", run});
  CHECK(info.exitStatus == 1);
  CHECK_THAT(info.out, Catch::Contains("iterations 0-6 can be computed again") &&
                           Catch::Contains("the checkpoint of iteration 3 is damaged"));
  test::damageState(run, 0, "network/fc1/weight:0", 0);
  const json less = json::parse(patiently({"info", run, "--json"}).out);
  CHECK(less.at("recomputable") == "6");
  CHECK(less.at("damaged_checkpoints").size() == 2);
  const test::RunResult verified = patiently({"verify", run});
  CHECK(verified.exitStatus == 1);
  CHECK_THAT(verified.out, Catch::Contains("Iterations 0-5 cannot be computed again any more") &&
                               Catch::Contains("6 still can"));
  // What is named as the nearest value can be read, and nobody is told to record what was recorded.
  const test::RunResult lost = patiently({"show", run, "--tensor", "fc1/weight", "--iteration", "2"});
  CHECK(lost.exitStatus == 1);
  CHECK_THAT(lost.err,
             Catch::Contains("is damaged") && Catch::Contains("the nearest value is that of --iteration 6"));
  CHECK_THAT(lost.err, !Catch::Contains("--policy full"));
}

TEST_CASE("A loss that ends as NaN is what is wrong first where nothing else is recorded") {
  const test::TempDir folder;
  const std::string run = folder / "run.msdbg";
  record(run, "mlp", 2, {"--fault", "nan@iteration=4,rank=1,node=network/fc2/Gemm-op1"});
  const test::RunResult checked = patiently({"check", run, "--json"});
  CHECK(checked.exitStatus == 3);
  const json first = json::parse(checked.out).at("first");
  CHECK(first.at("condition") == "nonfinite_propagation");
  CHECK(first.at("node") == "network/SoftmaxCrossEntropyLoss-op1");
  CHECK(first.at("iteration") == 4);
  CHECK(first.at("rank") == 1);
  CHECK_THAT(first.at("detail").get<std::string>(), Catch::Contains("the loss that was recorded is nan"));
  const test::RunResult sound = patiently({"dump", "mlp", "-o", folder / "sound.msdbg", "--policy", "record",
                                           "--threads", "1", "--batch", "8", "--steps", "4"});
  REQUIRE(sound.exitStatus == 0);
  CHECK(patiently({"check", folder / "sound.msdbg"}).exitStatus != 3);
}

TEST_CASE("Who computes in another environment what has no hash says so") {
  const test::TempDir folder;
  const std::string run = folder / "run.msdbg";
  REQUIRE(patiently({"dump", "mlp", "-o", run, "--policy", "flags", "--batches", "--checkpoint-every", "2",
                     "--threads", "1", "--batch", "8", "--steps", "3"})
              .exitStatus == 0);
  const auto asked = [&](Words words) {
    words.insert(words.begin() + 1, run);
    return patiently(std::move(words));
  };
  const Words show = {"show", "--tensor", "fc1/Relu-op1", "--iteration", "1"};
  CHECK_THAT(asked(show).err, !Catch::Contains("another environment"));
  test::patchRunInfo(run, [](nlohmann::ordered_json& info) {
    std::string& oneDnn = info["libraries"]["dnnl"].get_ref<std::string&>();
    oneDnn = "1.0.0" + oneDnn.substr(oneDnn.find(' '));  // another version, the same instruction set
  });
  const auto tells = Catch::Contains("another environment"), what = Catch::Contains("1.0.0");
  CHECK_THAT(asked(show).err, tells && what);
  CHECK_THAT(asked({"stats", "--tensor", "fc1/Relu-op1", "--recompute"}).err, tells && what);
  CHECK_THAT(asked({"check", "--recompute"}).err, tells && what);
  CHECK_THAT(asked({"why", "--tensor", "fc1/Relu-op1", "--index", "0,0", "--iteration", "1"}).err,
             tells && what);
  const Words history = {"history", "--tensor", "fc1/Relu-op1", "--index", "0,0"};
  CHECK_THAT(asked(history).out, Catch::Contains("otherwise here: ") && Catch::Contains("1.0.0"));
}

TEST_CASE("What was computed again is marked in statistics and histories") {
  const test::TempDir folder;
  const std::string run = folder / "run.msdbg";
  REQUIRE(patiently({"dump", "mlp", "-o", run, "--policy", "stats", "--record", "network/fc1/Relu*=none",
                     "--threads", "1", "--batch", "8", "--steps", "3"})
              .exitStatus == 0);
  for (const auto& [tensor, computed] : {std::pair{"fc1/Relu-op1", true}, std::pair{"fc2/Relu-op1", false}}) {
    CAPTURE(tensor);
    const test::RunResult stats = patiently({"stats", run, "--tensor", tensor, "--recompute", "--json"});
    REQUIRE(stats.exitStatus == 0);
    const json told = json::parse(stats.out);
    for (const json& row : told.at("tensors").at(0).at("rows")) CHECK(row.at("computed") == computed);
    const test::RunResult text = patiently({"stats", run, "--tensor", tensor, "--recompute"});
    CHECK((text.out.find("computed") != std::string::npos) == computed);
  }
  const json history = json::parse(
      patiently({"history", run, "--tensor", "fc1/Relu-op1", "--index", "0,0", "--stored", "--json"}).out);
  for (const json& row : history.at("rows")) CHECK(row.at("as_recorded").is_null());
}

TEST_CASE(
    "What was computed again once is there for the next command, and computed anew where it was damaged") {
  const test::TempDir folder;
  record(folder / "run.msdbg", "mlp", 1, {});  // checkpoints 0, 3, 6
  setenv("MSDBG_CACHE", (folder / "cache").c_str(), 1);
  setenv("MSDBG_CACHE_SIZE", "100MB", 1);
  const auto show = [&](const std::string& tensor) {
    const test::RunResult result =
        patiently({"show", folder / "run.msdbg", "--tensor", tensor, "--iteration", "5", "--json"});
    INFO(result.err);
    REQUIRE(result.exitStatus == 0);
    return json::parse(result.out);
  };
  const json first = show("network/fc1/Gemm-op1"), again = show("network/fc1/Gemm-op1"),
             besides = show("network/fc2/Gemm-op1");
  CHECK(first.at("computed").at("kept") == false);
  CHECK(first.at("computed").at("iterations").get<int>() > 1);
  CHECK(again.at("computed").at("kept") == true);
  CHECK(again.at("computed").at("evidence") == "recorded_hash");
  CHECK(again.at("values") == first.at("values"));
  CHECK(besides.at("computed").at("kept") == true);  // of the same iteration
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "cache"))
    if (entry.is_regular_file()) std::filesystem::resize_file(entry.path(), entry.file_size() - 1);
  const json damaged = show("network/fc1/Gemm-op1");
  CHECK(damaged.at("computed").at("kept") == false);
  CHECK(damaged.at("values") == first.at("values"));
  setenv("MSDBG_CACHE_SIZE", "0", 1);
  CHECK(show("network/fc1/Gemm-op1").at("computed").at("kept") == false);
  unsetenv("MSDBG_CACHE");
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
