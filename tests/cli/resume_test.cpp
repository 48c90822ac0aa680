// msdbg dump --resume: what follows the break has the bits of a training without it.
#include <catch2/catch.hpp>

#include "dump/reader/run_reader.h"
#include "tests/cli/recorded_run.h"

namespace msdbg::test {

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;
using Json = nlohmann::ordered_json;

struct Resuming {
  Words model;  // with its options
  int ranks = 1;
};

Words dumpInto(const fs::path& run, const Words& words) {
  Words all = {"dump", "-o", run.string(), "--policy", "record", "--checkpoint-every", "2"};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

void record(const Resuming& training, const fs::path& run, int steps) {
  Words words = training.model;
  const Words more = {
      "--threads",          "1", "--seed", "3", "-n", std::to_string(training.ranks), "--steps",
      std::to_string(steps)};
  words.insert(words.end(), more.begin(), more.end());
  msdbgJson(dumpInto(run, words));
}

/// Names of the tensors whose bits differ between two runs, over the iterations of the second.
Words differences(const fs::path& whole, const fs::path& rest, const std::vector<std::int64_t>& iterations) {
  const auto a = dump::RunReader::open(whole).orThrow(), b = dump::RunReader::open(rest).orThrow();
  Words different;
  std::int64_t compared = 0;
  for (const core::Rank rank : b->ranks())
    for (const std::int64_t i : iterations)
      for (const core::TensorInfo& tensor : b->graph().tensors()) {
        ++compared;
        const core::TensorId other = a->graph().findTensor(tensor.fullName()).value();
        if (a->hash(rank, core::Iteration(i), other).orThrow() !=
            b->hash(rank, core::Iteration(i), tensor.id).orThrow())
          different.push_back(tensor.fullName() + " in iteration " + std::to_string(i));
      }
  CHECK(compared ==
        static_cast<std::int64_t>(b->ranks().size() * iterations.size() * a->graph().tensors().size()));
  return different;
}

void prove(const Resuming& training) {
  const TempDir folder;
  CAPTURE(training.model, training.ranks);
  record(training, folder / "whole.msdbg", 8);
  record(training, folder / "first.msdbg",
         4);  // checkpoints of iterations 0 and 2: 2 and 3 are computed again
  const Json next = msdbgJson(
      dumpInto(folder / "next.msdbg", {"--resume", (folder / "first.msdbg").string(), "--steps", "2"}));
  CHECK(next["resume"]["checkpoint"] == 2);
  CHECK(next["resume"]["iteration"] == 4);
  CHECK(next["iterations"] == 2);
  CHECK(differences(folder / "whole.msdbg", folder / "next.msdbg", {4, 5}).empty());
  // And once more, from what was resumed itself.
  msdbgJson(dumpInto(folder / "last.msdbg", {"--resume", (folder / "next.msdbg").string(), "--steps", "2"}));
  CHECK(differences(folder / "whole.msdbg", folder / "last.msdbg", {6, 7}).empty());
  CHECK(msdbgJson({"info", (folder / "last.msdbg").string()})["recomputable"] == "6-7");
}

const fs::path& resumable() {
  static const TempDir folder;
  static const fs::path run = [] {
    const fs::path path = folder / "mlp.msdbg";
    record({.model = {"mlp", "--batch", "16"}, .ranks = 2}, path, 3);
    return path;
  }();
  return run;
}

std::string refused(const Words& words, int exitStatus = 2) {
  const TempDir folder;
  Words all = {"dump", "-o", (folder / "new.msdbg").string()};
  all.insert(all.end(), words.begin(), words.end());
  const RunResult result = msdbg(all);
  CHECK(result.exitStatus == exitStatus);
  CHECK_FALSE(fs::exists(folder / "new.msdbg"));
  return result.err;
}

}  // namespace

TEST_CASE("lenet5 goes on from a checkpoint with the bits of an uninterrupted training, on 1 and 2 ranks",
          "[cli]") {
  prove({.model = {"lenet5", "--batch", "8", "--lr", "0.05"}});
  prove({.model = {"lenet5", "--batch", "8"}, .ranks = 2});
}

TEST_CASE(
    "Where the only checkpoint is that of iteration 0, all twenty iterations are computed on from there",
    "[cli]") {
  const TempDir folder;
  const auto recorded = [&](const char* name, Words more) {
    Words words = {"dump",     "-o",        (folder / name).string(),
                   "--policy", "record",    "--checkpoint-every",
                   "1000",     "--threads", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return msdbgJson(words);
  };
  recorded("whole.msdbg", {"mlp", "--batch", "8", "--steps", "22"});
  recorded("first.msdbg", {"mlp", "--batch", "8", "--steps", "20"});
  const Json next = recorded("next.msdbg", {"--resume", (folder / "first.msdbg").string(), "--steps", "2"});
  CHECK(next["resume"]["checkpoint"] == 0);
  CHECK(next["resume"]["iteration"] == 20);
  CHECK(differences(folder / "whole.msdbg", folder / "next.msdbg", {20, 21}).empty());
}

TEST_CASE("alexnet with dropout and gpt with Adam go on with the same bits too", "[cli][slow]") {
  prove({.model = {"alexnet", "--batch", "4", "--dropout", "0.25"}, .ranks = 2});
  prove({.model = {"gpt", "--batch", "1", "--layers", "2", "--context", "32"}});
}

TEST_CASE("What is to go on otherwise than it was trained is refused with both values", "[cli]") {
  const std::string run = resumable().string();
  using Catch::Contains;
  CHECK_THAT(refused({"--resume", run, "lenet5"}), Contains("it is a run of mlp, not of lenet5"));
  CHECK_THAT(refused({"--resume", run, "-n", "1"}), Contains("with -n 2, not 1"));
  CHECK_THAT(refused({"--resume", run, "--threads", "2"}), Contains("with --threads 1, not 2"));
  CHECK_THAT(refused({"--resume", run, "--seed", "4"}), Contains("with --seed 3, not 4"));
  CHECK_THAT(refused({"--resume", run, "--lr", "0.5"}), Contains("with --lr 0.01, not 0.5"));
  CHECK_THAT(refused({"--resume", run, "--batch", "32"}), Contains("with --batch 16, not 32"));
  CHECK_THAT(refused({"--resume", run, "--dropout", "0.5"}), Contains("with --dropout 0, not 0.5"));
  CHECK_THAT(refused({"--resume", run, "--data", "mnist:x"}), Contains("with --data digits, not mnist:x"));
  CHECK_THAT(refused({"--resume", run, "--", "true"}), Contains("msdbg::restore(trainer, run)"));
  const RunResult itself = msdbg({"dump", "--resume", run, "-o", run, "--force"});
  CHECK(itself.exitStatus == 2);
  CHECK_THAT(itself.err, Contains("a folder of its own"));
  CHECK(fs::exists(fs::path(run) / "run.json"));
  CHECK(msdbg({"dump", "--resume", run, "mlp", "-n", "2", "--lr", "0.01", "--batch", "16", "--dry-run"})
            .exitStatus == 0);
}

TEST_CASE("A run without a checkpoint cannot be gone on from, and says how it could", "[cli]") {
  using Catch::Contains;
  CHECK_THAT(refused({"--resume", cleanRun().string()}, 4),
             Contains("no checkpoint") && Contains("--checkpoint-every"));
  CHECK_THAT(refused({"--resume", "/no/such/run.msdbg"}, 1), Contains("/no/such/run.msdbg"));
}

TEST_CASE("What a resumed run will take is told for its own iterations", "[cli]") {
  const TempDir folder;
  const Words words = dumpInto(folder / "new.msdbg", {"--resume", resumable().string(), "--steps", "5",
                                                      "--record", "*=full,every=3,kind=weight"});
  Words dry = words;
  dry.push_back("--dry-run");
  const Json expected = msdbgJson(dry)["expected"];
  msdbgJson(words);
  const Json info = msdbgJson({"info", (folder / "new.msdbg").string()});
  CHECK(info["ranks"][0]["iterations"] == "3-7");
  CHECK(expected["iterations"] == 5);
  CHECK(expected["value_bytes"] == info["storage"]["raw_bytes"]);
  CHECK(expected["checkpoints"] == info["ranks"][0]["checkpoints"].size());
}

TEST_CASE("Checkpoints that are damaged are told, and the run is not gone on from", "[cli]") {
  const TempDir folder;
  const fs::path run = copyOf(resumable(), folder);
  for (const auto& entry : fs::directory_iterator(run / "rank_1"))
    if (entry.path().extension() == ".h5") fs::resize_file(entry.path(), fs::file_size(entry.path()) / 2);
  const std::string told = refused({"--resume", run.string()}, 1);
  for (const char* iteration : {"0", "2"})
    CHECK_THAT(told, Catch::Contains(std::string("the checkpoint of iteration ") + iteration +
                                     " cannot be used: " + run.string() + ": rank_1/"));
  CHECK_THAT(told, Catch::Contains("there is no checkpoint in it that all ranks have"));
}

}  // namespace msdbg::test
