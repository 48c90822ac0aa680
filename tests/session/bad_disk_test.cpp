// The recorder on a disk that lets it down: full, read-only, gone. Training goes on to its end or stops in
// good order, with one message; what was committed stays readable.
#include <fcntl.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "core_engine/distributed/communicator.h"
#include "dump/descriptor.h"
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

// A program that records nothing until the file `go` is there.
std::string waiting(const std::string& then) {
  return "bash -c 'until [ -e go ]; do sleep 0.02; done; " + then + "'";
}

std::string untilThere(const std::string& file) { return "until [ -e " + file + " ]; do sleep 0.02; done; "; }

// `first`, as a job whose status is that of all, and `then` when it has made `file`.
RunResult together(const fs::path& folder, const std::string& first, const std::string& file,
                   const std::string& then) {
  return runCommand(
      {"bash", "-c",
       "cd " + folder.string() + " && { " + first + " & }; " + untilThere(file) + then + "; wait $!"});
}

// Moves the run away, and lets another take its place. `unharmed` tells whether that stays as it was.
const std::string kExchange = "mv run.msdbg elsewhere; " + kMsdbg +
                              " dump -o run.msdbg -- true > /dev/null; cp run.msdbg/run.json before.json";
bool unharmed(const fs::path& folder) {
  return runCommand({"cmp", "run.msdbg/run.json", "before.json"}, {.folder = folder}).exitStatus == 0;
}

const char* kInUse = "run.msdbg is being recorded right now";
const char* kAnother =
    "run.msdbg is another run now (this one was moved or removed): how this one ended is not noted";
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
        folder.path(), "60m",
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
      if (!result) return;
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

TEST_CASE("--force does not replace a run that is only starting", "[session]") {
  const TempDir folder;
  const std::string force = kMsdbg + " dump --force -o run.msdbg -- true";
  const RunResult result = together(
      folder.path(), kMsdbg + " dump --threads 1 -o run.msdbg -- " + waiting("exec " + kProbe + " ok"),
      "run.msdbg/run.json", force + " 2>&1; echo status $?; touch go");
  INFO(result.out << result.err);
  CHECK(result.exitStatus == 0);
  CHECK(count(result.out, "status 2\n") == 1);
  CHECK(count(result.out, kInUse) == 1);
  CHECK(count(result.out, "trained\n") == 1);
  const auto reader = dump::RunReader::open(folder / "run.msdbg");
  REQUIRE(reader.ok());
  CHECK((*reader)->info().end.state == "finished");
  CHECK((*reader)->iterations(core::Rank(0)).size() == 6);
  CHECK(runCommand({"bash", "-c", force}, {.folder = folder.path()}).exitStatus == 0);  // now it may
  CHECK_FALSE(fs::exists(folder / "run.msdbg" / "rank_0"));
}

TEST_CASE("--force does not replace what a program without a launcher made, whatever is left of it",
          "[session]") {
  const TempDir folder;
  const RunResult result =
      together(folder.path(), "MSDBG_DUMP=run.msdbg " + kProbe + " slow --steps 100000 --threads 1",
               "run.msdbg/rank_0/segment_000000.h5",
               "mv run.msdbg/rank_0 elsewhere; " + kMsdbg +
                   " dump --force -o run.msdbg -- true 2>&1; echo status $?; kill -TERM $!");
  INFO(result.out << result.err);
  CHECK(result.exitStatus == 128 + 15);
  CHECK(count(result.out, "status 2\n") == 1);
  CHECK(count(result.out, kInUse) == 1);
}

TEST_CASE("--force asks the journals of a run that cannot be read, too", "[session]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg", journal = run / "rank_3" / "journal";
  fs::create_directories(journal.parent_path());
  std::ofstream(run / "run.json") << "{\"format";
  std::ofstream(journal) << "";
  const std::vector<std::string> force = {"dump", "--force", "-o", run.string(), "--", "true"};
  {
    const dump::Descriptor rank(::open(journal.c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(rank.lockAlone());
    const RunResult refused = runMsdbg(force);
    CHECK(refused.exitStatus == 2);
    CHECK(count(refused.err, kInUse) == 1);
    CHECK(fs::exists(journal));
  }
  const RunResult replaced = runMsdbg(force);
  INFO(replaced.err);
  CHECK(replaced.exitStatus == 0);
  CHECK_FALSE(fs::exists(journal));
}

TEST_CASE("Of launchers that make one folder at once, one does, with --force and without", "[session]") {
  for (const bool force : {false, true}) {
    const TempDir folder;
    const std::string dump = kMsdbg + " dump --threads 1 -o run.msdbg ";
    if (force)
      REQUIRE(runCommand({"bash", "-c", dump + "-- true"}, {.folder = folder.path()}).exitStatus == 0);
    const std::string launcher = "{ " + dump + (force ? "--force" : "") + " -- " + waiting("exit 0") +
                                 " > /dev/null 2> err.$i; echo status $? > status.$i; } & ";
    // The one that is left waits for `go`; where more than one is, they get it in the end, too.
    const RunResult result = runCommand(
        {"bash", "-c",
         "for i in 1 2 3 4; do " + launcher +
             "done; for i in $(seq 1000); do [ $(ls status.* 2> /dev/null | wc -l) -ge 3 ] && break; "
             "sleep 0.02; done; touch go; wait; cat status.* err.*"},
        {.folder = folder.path()});
    CAPTURE(force, result.out, result.err);
    CHECK(count(result.out, "status 0\n") == 1);
    CHECK(count(result.out, "status 2\n") == 3);
    CHECK(count(result.out, force ? kInUse : "run.msdbg is there already") == 3);
    const auto info = dump::readRunInfo(folder / "run.msdbg");
    REQUIRE(info.ok());
    CHECK(info->end.state == "finished");
  }
}

TEST_CASE("--force replaces a link to a run, not what it leads to", "[session]") {
  const TempDir folder;
  const fs::path target = folder / "target.msdbg", link = folder / "link.msdbg";
  REQUIRE(runMsdbg({"dump", "-o", target.string(), "--", "true"}).exitStatus == 0);
  const auto before = dump::readRunInfo(target);
  REQUIRE(before.ok());
  fs::create_symlink(target, link);
  const RunResult result = runMsdbg({"dump", "--force", "-o", link.string(), "--", "true"});
  INFO(result.err);
  CHECK(result.exitStatus == 0);
  CHECK_FALSE(fs::is_symlink(link));
  CHECK(dump::readRunInfo(target)->id == before->id);
  CHECK(dump::readRunInfo(link)->id != before->id);
}

TEST_CASE("A run that another took the place of does not end in that one's run.json", "[session]") {
  for (const int status : {0, 3}) {
    const TempDir folder;
    const std::string program = waiting("exit " + std::to_string(status));
    const RunResult result = together(folder.path(), kMsdbg + " dump -o run.msdbg -- " + program,
                                      "run.msdbg/run.json", kExchange + "; touch go");
    CAPTURE(status, result.out, result.err);
    CHECK(result.exitStatus == (status == 0 ? 1 : status));
    CHECK(count(result.err, kAnother) == 1);
    CHECK(unharmed(folder.path()));
    const auto moved = dump::readRunInfo(folder / "elsewhere");
    REQUIRE(moved.ok());
    CHECK(moved->end.state == "running");
  }
}

TEST_CASE("Nor does the run of a program without a launcher", "[session]") {
  const TempDir folder;
  const RunResult result =
      together(folder.path(), "MSDBG_DUMP=run.msdbg " + kProbe + " slow --steps 100000 --threads 1",
               "run.msdbg/rank_0/segment_000000.h5", kExchange + "; kill -TERM $!");
  INFO(result.out << result.err);
  CHECK(result.exitStatus == 128 + 15);
  CHECK(count(result.err, kAnother) == 1);
  CHECK(unharmed(folder.path()));
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
