// The recorder on a disk that lets it down: full, read-only, gone. Training goes on to its end or stops in
// good order, with one message; what was committed stays readable.
#include <catch2/catch.hpp>
#include <filesystem>

#include "core_engine/distributed/communicator.h"
#include "dump/reader/run_reader.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

namespace msdbg::test {

namespace fs = std::filesystem;

namespace {

const std::string kProbe = buildDir() / "tests" / "session_probe";
const std::string kMsdbg = buildDir() / "bin" / "msdbg";

int count(const std::string& text, const std::string& what) {
  int found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

// Records a slow program ($RUN) and does something to its folder after its first commit. Words: DUMP is
// `msdbg dump` with options, `rank` that of the segment waited for.
RunResult disturbed(const fs::path& folder, int ranks, const std::string& options, const std::string& act) {
  const std::string script = "cd " + folder.string() + " && { " + kMsdbg + " dump -o run.msdbg -n " +
                             std::to_string(ranks) + " --threads 1 " + options + " -- " + kProbe +
                             " slow --steps 35 & } && "
                             "until [ -e run.msdbg/rank_0/segment_000000.h5 ]; do sleep 0.02; done && { " +
                             act + "; }; wait $!";
  return runCommand({"bash", "-c", script});
}

// The same on a file system of its own: a small one that goes away with the process. Its run is copied to
// `folder`/copy at the end.
std::optional<RunResult> onSmallDisk(const fs::path& folder, const std::string& size,
                                     const std::string& script) {
  const std::string mount = "mount -t tmpfs -o size=" + size + " tmpfs " + folder.string();
  if (runCommand({"unshare", "-rm", "sh", "-c", mount}).exitStatus != 0) return std::nullopt;
  const fs::path copy = folder.string() + "-copy";
  RunResult result = runCommand({"unshare", "-rm", "bash", "-c",
                                 mount + " && cd " + folder.string() + " && ( " + script +
                                     " ); status=$?; cp -r run.msdbg " + copy.string() + "; exit $status"},
                                {.timeout = std::chrono::seconds(120)});
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
  CHECK_THAT(info->end.message, Catch::Contains("cannot create"));
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
  if (!result) {
    WARN("no file system may be mounted here: not tested");
    return;
  }
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

TEST_CASE("A disk that others fill, or that becomes read-only, stops the recording with its reason",
          "[session][slow]") {
  const std::string dump = kMsdbg + " dump -o run.msdbg --threads 1 --keep-free 0 ";
  const std::string start = "-- " + kProbe +
                            " slow --steps 35 & } && until [ -e run.msdbg/rank_0/segment_000000.h5 ]; do "
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
      if (!result) {
        WARN("no file system may be mounted here: not tested");
        return;
      }
      CAPTURE(trouble.act, stop, result->out, result->err);
      CHECK_FALSE(result->timedOut);
      CHECK(result->exitStatus == 1);
      CHECK(count(result->out, "trained\n") == 1);
      CHECK(count(result->err, "recording stopped") == 1);
      CHECK_THAT(result->err, Catch::Contains(trouble.reason));
      CHECK_THAT(result->err, Catch::Contains(stop ? "training is stopped" : "training goes on"));
      checkReadable(folder / "copy");
      const auto reader = dump::RunReader::open(folder / "copy");
      CHECK((*reader)->verify({}, {}).size() <= 1);  // the journal's end could not be written
    }
  }
}

TEST_CASE("Two recorders on one folder: the second is refused, the first is not disturbed", "[session]") {
  const TempDir folder;
  const std::string run = (folder / "run.msdbg").string();
  const std::string second = "{ MSDBG_DUMP=" + run + " " + kProbe + " ok; echo status $?; " + kMsdbg +
                             " dump -o " + run + " mlp; echo status $?; " + kMsdbg + " dump --force -o " +
                             run + " mlp; echo status $?; MSDBG_RUN_INFO=launcher MSDBG_DUMP=" + run + " " +
                             kProbe + " ok; echo status $?; } 2>&1";
  const RunResult result = disturbed(folder.path(), 1, "", second);
  INFO(result.out << result.err);
  CHECK(result.exitStatus == 0);
  CHECK(count(result.out, "trained\n") == 1);
  CHECK(count(result.out, "status 0") == 0);
  CHECK(count(result.out, "status ") == 4);
  CHECK(count(result.out, "is there already") == 2);
  CHECK(count(result.out, "is being recorded right now") == 1);
  CHECK(count(result.out, "another process is recording into this run") == 1);
  const auto reader = dump::RunReader::open(run);
  REQUIRE(reader.ok());
  CHECK((*reader)->iterations(core::Rank(0)).size() == 35);
  CHECK((*reader)->info().end.state == "finished");
  CHECK((*reader)->verify({}, {}).empty());
}

TEST_CASE("A second job of mpirun on the path of a run is refused on all its ranks", "[session][slow]") {
  const TempDir folder;
  const std::string run = (folder / "run.msdbg").string();
  std::string job = "MSDBG_DUMP=" + run;
  for (const auto& [name, value] : core::mpirunEnvironment()) job += " " + name + "='" + value + "'";
  for (const std::string& word : core::mpirunCommand(2, {kProbe, "ok", "--threads", "1"})) job += " " + word;
  const RunResult result = disturbed(folder.path(), 1, "", job + " 2>&1; echo status $?");
  INFO(result.out << result.err);
  CHECK_FALSE(result.timedOut);
  CHECK(result.exitStatus == 0);
  CHECK(count(result.out, "trained\n") == 1);
  CHECK(count(result.out, "status 0") == 0);
  CHECK_THAT(result.out, Catch::Contains("is there already"));
  const auto reader = dump::RunReader::open(run);
  REQUIRE(reader.ok());
  CHECK((*reader)->verify({}, {}).empty());
}

}  // namespace msdbg::test
