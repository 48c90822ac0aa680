// A program on hosts that do not share a disk: each writes a folder of its own, and msdbg merge joins them.
// The hosts are ranks that see different folders.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core_engine/base/mpirun.h"
#include "dump/reader/run_reader.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

namespace msdbg::test {

namespace fs = std::filesystem;
using core::Rank;
using Json = nlohmann::ordered_json;

namespace {

const std::string kProbe = buildDir() / "tests" / "session_probe";

// Rank r runs on host r / 2: `folder`/host0 or host1, made beforehand.
RunResult onTwoHosts(const fs::path& folder, const std::string& how) {
  for (const char* host : {"host0", "host1"}) fs::create_directories(folder / host);
  const std::string script = "MSDBG_DUMP=" + folder.string() +
                             "/host$((OMPI_COMM_WORLD_RANK / 2))/run.msdbg exec " + kProbe + " " + how;
  auto environment = core::mpirunEnvironment();
  environment.emplace_back("MSDBG_THREADS", "1");
  return runCommand(core::mpirunCommand(4, {"sh", "-c", script}), {.environment = environment});
}

dump::RunInfo infoOf(const fs::path& run) {
  const auto info = dump::readRunInfo(run);
  if (!info.ok()) FAIL(info.error().message());
  return *info;
}

}  // namespace

TEST_CASE("Hosts without a shared disk record a folder each, and merge makes the run of them", "[session]") {
  const TempDir folder;
  const RunResult trained = onTwoHosts(folder.path(), "ok");
  INFO(trained.out << trained.err);
  REQUIRE(trained.exitStatus == 0);
  const fs::path first = folder / "host0" / "run.msdbg", second = folder / "host1" / "run.msdbg";
  CHECK(infoOf(first).id.size() == 32);
  CHECK(infoOf(first).id == infoOf(second).id);
  for (const fs::path& run : {first, second}) {
    CHECK(infoOf(run).end.state == "finished");
    CHECK_FALSE(infoOf(run).endedAt.empty());
    CHECK(infoOf(run).ranks == 4);
  }
  CHECK(fs::exists(second / "rank_2"));
  CHECK(fs::exists(second / "rank_3"));
  CHECK_FALSE(fs::exists(second / "rank_0"));
  const RunResult alone = runMsdbg({"info", second.string()});  // each host has the graphs of its ranks
  CHECK_THAT(alone.out + alone.err,
             Catch::Contains("2 ranks are missing, 0-1") && Catch::Contains("msdbg merge"));

  const fs::path merged = folder / "merged.msdbg";
  const RunResult merging =
      runMsdbg({"merge", "-o", merged.string(), first.string(), second.string(), "--json"});
  INFO(merging.err);
  REQUIRE(merging.exitStatus == 0);
  const Json report = Json::parse(merging.out);
  CHECK(report["parts"][0]["ranks"] == Json({0, 1}));
  CHECK(report["parts"][1]["ranks"] == Json({2, 3}));
  CHECK(report["missing_ranks"].empty());
  CHECK(runMsdbg({"verify", merged.string()}).exitStatus == 0);

  // The same training into one folder: the same hashes of everything.
  const fs::path together = folder / "together.msdbg";
  auto environment = core::mpirunEnvironment();
  environment.emplace_back("MSDBG_THREADS", "1");
  environment.emplace_back("MSDBG_DUMP", together.string());
  REQUIRE(runCommand(core::mpirunCommand(4, {kProbe, "ok"}), {.environment = environment}).exitStatus == 0);
  const auto a = dump::RunReader::open(merged), b = dump::RunReader::open(together);
  REQUIRE(a.ok());
  REQUIRE(b.ok());
  std::int64_t compared = 0;
  for (const Rank rank : (*b)->ranks()) {
    for (const dump::IterationState& state : (*b)->iterations(rank)) {
      for (const core::TensorInfo& tensor : (*b)->graph().tensors()) {
        const core::Iteration iteration(state.iteration);
        const auto x = (*a)->statistics(rank, iteration, tensor.id);
        const auto y = (*b)->statistics(rank, iteration, tensor.id);
        REQUIRE(x.ok() == y.ok());
        if (!x.ok()) continue;
        CHECK(x->values.hash == y->values.hash);
        ++compared;
      }
    }
  }
  CHECK(compared > 4 * 6 * 5);
}

TEST_CASE("A rank that fails is told in its host's folder, and by the merged run", "[session]") {
  const TempDir folder;
  const RunResult trained = onTwoHosts(folder.path(), "throw@3");
  CHECK(trained.exitStatus != 0);
  const fs::path merged = folder / "merged.msdbg";
  CHECK_THAT(infoOf(folder / "host1" / "run.msdbg").end.message, Catch::Contains("the data is gone"));
  const RunResult merging = runMsdbg(
      {"merge", "-o", merged.string(), folder / "host0" / "run.msdbg", folder / "host1" / "run.msdbg"});
  INFO(merging.err);
  CHECK(merging.exitStatus == 0);
  CHECK(infoOf(merged).end.state == "failed");
  CHECK_THAT(infoOf(merged).end.message, Catch::Contains("the data is gone"));
}

TEST_CASE("A host whose folder cannot be made ends the program on all of them, with the reason",
          "[session]") {
  const TempDir folder;
  fs::create_directories(folder / "host1" / "run.msdbg");
  fs::copy_file(kProbe, folder / "host1" / "run.msdbg" / "something");
  const RunResult trained = onTwoHosts(folder.path(), "ok");
  CHECK(trained.exitStatus != 0);
  CHECK_THAT(trained.err, Catch::Contains("host1/run.msdbg is there already"));
  CHECK(infoOf(folder / "host0" / "run.msdbg").end.state == "failed");
}

}  // namespace msdbg::test
