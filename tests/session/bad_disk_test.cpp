// The recorder on a disk that lets it down: full, read-only, gone. Training goes on to its end or stops in
// good order, with one message; what was committed stays readable.
#include <catch2/catch.hpp>
#include <filesystem>

#include "dump/reader/run_reader.h"
#include "tests/session/disturbed_run.h"
#include "tests/support/temp_dir.h"

namespace msdbg::test {

namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

Words shell(bool ownMounts, const std::string& script) {
  return ownMounts ? Words{"unshare", "-rm", "bash", "-c", script} : Words{"bash", "-c", script};
}

// What root mounts outside a namespace outlives the process. Lazily: whoever is killed may still be in it.
void unmount(bool ownMounts, const fs::path& folder) {
  if (!ownMounts) runCommand({"umount", "-R", "-l", folder});
}

// Whether mounts go into a namespace of their own (true), or are root's for all to see: containers forbid
// either. nullopt, and said so: neither is allowed.
std::optional<bool> wayToMount(const fs::path& folder, const std::string& mount) {
  std::string errors;
  for (const bool ownMounts : {true, false}) {
    const RunResult tried = runCommand(shell(ownMounts, mount));
    if (tried.exitStatus == 0) {
      unmount(ownMounts, folder);
      return ownMounts;
    }
    errors += tried.err;
  }
  WARN("skipped: no file system may be mounted here: " << errors);
  return std::nullopt;
}

// The same on a small file system of its own. Its run is copied to `folder`/copy at the end. nullopt: no file
// system may be mounted here.
std::optional<RunResult> onSmallDisk(const fs::path& folder, const std::string& size,
                                     const std::string& script) {
  const std::string mount = "mount -t tmpfs -o size=" + size + " tmpfs " + folder.string();
  const std::optional<bool> ownMounts = wayToMount(folder, mount);
  if (!ownMounts) return std::nullopt;
  const fs::path copy = folder.string() + "-copy";
  RunResult result =
      runCommand(shell(*ownMounts, mount + " && cd " + folder.string() + " && ( " + script +
                                       " ); status=$?; cp -r run.msdbg " + copy.string() + "; exit $status"),
                 {.timeout = std::chrono::seconds(120)});
  unmount(*ownMounts, folder);
  if (fs::exists(copy)) fs::rename(copy, folder / "copy");
  return result;
}

void checkReadable(const fs::path& run, std::size_t leastIterations = 1) {
  const auto reader = dump::RunReader::open(run);
  if (!reader.ok()) FAIL(reader.error().message());
  CHECK((*reader)->iterations(core::Rank(0)).size() >= leastIterations);
  CHECK((*reader)->damage().empty());
}

const char* kGone = "was the run removed or renamed?";

}  // namespace

TEST_CASE("A run folder that is renamed away stops the recording, not the training", "[session]") {
  const TempDir folder;
  const RunResult result = disturbed(folder.path(), 1, "", "mv run.msdbg elsewhere");
  INFO(result.out << result.err);
  CHECK(result.exitStatus == 1);  // only the recorder failed
  CHECK(count(result.out, "trained\n") == 1);
  CHECK(count(result.err, "recording stopped") == 1);
  CHECK(count(result.err, kGone) == 1);
  CHECK(count(result.err, "what was recorded before is where the run was moved to") == 1);
  CHECK_THAT(result.err, Catch::Contains("training goes on"));
  checkReadable(folder / "elsewhere");
}

TEST_CASE("With --on-error stop training ends in good order", "[session]") {
  const TempDir folder;
  const RunResult result = disturbed(folder.path(), 1, "--on-error stop", "mv run.msdbg/rank_0 elsewhere");
  INFO(result.out << result.err);
  CHECK(result.exitStatus == 1);
  CHECK(count(result.out, "trained\n") == 1);  // the loop ended, the program did what it does after it
  CHECK(count(result.err, "recording stopped") == 1);
  CHECK_THAT(result.err, Catch::Contains("--on-error stop") && Catch::Contains(kGone));
  const auto info = dump::readRunInfo(folder / "run.msdbg");
  REQUIRE(info.ok());
  CHECK(info->end.state == "stopped");
  CHECK_THAT(info->end.message, Catch::Contains("journal is gone"));
  CHECK(info->policy.onError == dump::OnError::kStop);
}

TEST_CASE("Of two ranks one loses its folder: both go on, or both stop after the same iteration",
          "[session][slow]") {
  for (const bool stop : {false, true}) {
    const TempDir folder;
    const RunResult result =
        disturbed(folder.path(), 2, stop ? "--on-error stop" : "", "mv run.msdbg/rank_1 elsewhere");
    CAPTURE(stop, result.out, result.err);
    CHECK_FALSE(result.timedOut);
    CHECK(result.exitStatus == 1);
    CHECK(count(result.out, "trained\n") == 2);
    CHECK(count(result.err, "recording stopped") == 1);
    const auto info = dump::readRunInfo(folder / "run.msdbg");
    REQUIRE(info.ok());
    CHECK(info->end.state == (stop ? "stopped" : "finished"));
    CHECK_THAT(info->end.message, Catch::Contains("rank 1"));
    const auto reader = dump::RunReader::open(folder / "run.msdbg");
    REQUIRE(reader.ok());
    const std::size_t iterations = (*reader)->iterations(core::Rank(0)).size();
    CHECK((stop ? iterations < 35 : iterations == 35));
  }
}

TEST_CASE("A small disk is not filled: the oldest values go, and training is recorded to its end",
          "[session][slow]") {
  const TempDir folder;
  const std::string dump = kMsdbg + " dump lenet5 --threads 1 --steps 60 --max-size 1GB -o run.msdbg";
  const auto result =
      onSmallDisk(folder.path(), "40m", dump + "; s=$?; df --output=avail -B1 . | tail -1; exit $s");
  if (!result) return;
  INFO(result->out << result->err);
  CHECK(result->exitStatus == 0);
  CHECK_THAT(result->out, Catch::Contains("--keep-free"));  // told beforehand
  CHECK_THAT(result->err, !Catch::Contains("recording stopped"));
  CHECK(std::stoll(result->out.substr(result->out.rfind('\n', result->out.size() - 2))) >= 2000000);  // 5 %
  const auto reader = dump::RunReader::open(folder / "copy");
  REQUIRE(reader.ok());
  const auto first = core::TensorId(0);
  CHECK((*reader)->iterations(core::Rank(0)).size() == 60);
  CHECK_FALSE((*reader)->stored(core::Rank(0), core::Iteration(0), first));
  CHECK((*reader)->statistics(core::Rank(0), core::Iteration(0), first).ok());
  CHECK((*reader)->stored(core::Rank(0), core::Iteration(59), first));
  CHECK((*reader)->verify({}, {}).empty());
}

TEST_CASE("Values that are written while they come in find a small disk full: the oldest go, nothing stops",
          "[session][slow]") {
  for (const std::string way : {"team", "team-direct"}) {
    const TempDir folder;
    const auto result = onSmallDisk(
        folder.path(), "80m",
        kMsdbg + " dump mlp --threads 1 --steps 60 --keep-free 0 --write " + way + " -o run.msdbg");
    if (!result) return;
    INFO(way << result->out << result->err);
    CHECK(result->exitStatus == 0);
    CHECK_THAT(result->err, !Catch::Contains("recording stopped"));
    const auto reader = dump::RunReader::open(folder / "copy");
    REQUIRE(reader.ok());
    CHECK((*reader)->iterations(core::Rank(0)).size() == 60);
    CHECK((*reader)->stored(core::Rank(0), core::Iteration(59), core::TensorId(0)));  // there is room again
    CHECK((*reader)->verify({}, {}).empty());
  }
}

TEST_CASE("A disk that others fill to its last byte: the oldest values go all the same, and nothing stops",
          "[session][slow]") {
  const TempDir folder;
  const auto result = onSmallDisk(folder.path(), "60m",
                                  kMsdbg +
                                      " dump lenet5 --threads 1 --steps 150 --keep-free 0 -o run.msdbg & "
                                      "until [ -e run.msdbg/rank_0/segment_000003.h5 ]; do sleep 0.01; done; "
                                      "head -c 100m /dev/zero > others; wait $!");
  if (!result) return;
  INFO(result->out << result->err);
  CHECK_THAT(result->err, Catch::Contains("No space left"));  // it was really full
  CHECK(result->exitStatus == 0);
  const auto reader = dump::RunReader::open(folder / "copy");
  REQUIRE(reader.ok());
  CHECK((*reader)->iterations(core::Rank(0)).size() == 150);
  CHECK((*reader)->verify({}, {}).empty());
}

TEST_CASE("A disk that others keep full: statistics of every iteration, committed as rarely as ever",
          "[session][slow]") {
  const TempDir folder;
  const auto result =
      onSmallDisk(folder.path(), "60m",
                  "head -c 55000000 /dev/zero > others; " + kMsdbg +
                      " dump mlp --threads 1 --steps 120 --keep-free 0 --write team -o run.msdbg");
  if (!result) return;
  INFO(result->out << result->err);
  CHECK(result->exitStatus == 0);
  CHECK(count(result->err, "has no room") <= 2);
  const auto reader = dump::RunReader::open(folder / "copy");
  REQUIRE(reader.ok());
  CHECK((*reader)->iterations(core::Rank(0)).size() == 120);
  for (const std::int64_t iteration : {0, 60, 119})
    CHECK((*reader)->statistics(core::Rank(0), core::Iteration(iteration), core::TensorId(0)).ok());
  // 139 if each iteration waited for room that the commit of those before it cannot make.
  CHECK(std::stoi(runCommand({"wc", "-l", folder / "copy/rank_0/journal"}).out) <= 40);
  CHECK((*reader)->verify({}, {}).empty());
}

TEST_CASE("A disk that others fill, or that becomes read-only, is waited for; what is given up is said",
          "[session][slow]") {
  const std::string dump = kMsdbg + " dump -o run.msdbg --threads 1 --keep-free 0 ";
  const std::string start = "-- " + kProbe +
                            " slow --steps 120 & } && until [ -e run.msdbg/rank_0/segment_000000.h5 ]; do "
                            "sleep 0.02; done && { ";
  struct Trouble {
    const char *act, *reason;
  };
  for (const Trouble& trouble :
       {Trouble{"head -c 100m /dev/zero > fill", "the disk is full"},
        Trouble{"mount --bind run.msdbg/rank_0 run.msdbg/rank_0 && mount -o remount,ro,bind run.msdbg/rank_0",
                "mounted read-only"}}) {
    for (const bool stop : {false, true}) {
      const TempDir folder;
      const auto result =
          onSmallDisk(folder.path(), "20m",
                      "{ " + dump + (stop ? "--on-error stop " : "") + start + trouble.act + "; }; wait $!");
      if (!result) return;
      CAPTURE(trouble.act, stop, result->out, result->err);
      CHECK_FALSE(result->timedOut);
      CHECK(result->exitStatus == 1);
      CHECK(count(result->out, "trained\n") == 1);
      CHECK(count(result->err, "recording stopped") == (stop ? 1 : 0));
      CHECK_THAT(result->err, Catch::Contains(trouble.reason));
      CHECK_THAT(result->err,
                 Catch::Contains("tried again") &&
                     Catch::Contains(stop ? "training is stopped (--on-error stop)" : "were not recorded"));
      checkReadable(folder / "copy");
      const auto reader = dump::RunReader::open(folder / "copy");
      CHECK((*reader)->verify({}, {}).size() <= 1);  // the journal's end could not be written
    }
  }
}

}  // namespace msdbg::test
