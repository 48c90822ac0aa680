// Who may begin to record into a folder: one run at a time, and none in the place of another. What a run does
// whose folder became another's.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "core_engine/base/mpirun.h"
#include "dump/descriptor.h"
#include "dump/reader/run_reader.h"
#include "dump/session/run_end.h"
#include "dump/session/run_folders.h"
#include "tests/session/disturbed_run.h"
#include "tests/support/temp_dir.h"

namespace msdbg::test {

namespace fs = std::filesystem;

namespace {

// Moves the run away, and lets another take its place. `unharmed` tells whether that stays as it was.
const std::string kExchange = "mv run.msdbg elsewhere; " + kMsdbg +
                              " dump -o run.msdbg -- true > /dev/null; cp run.msdbg/run.json before.json";
bool unharmed(const fs::path& folder) {
  return runCommand({"cmp", "run.msdbg/run.json", "before.json"}, {.folder = folder}).exitStatus == 0;
}

// Of `msdbg dump -- true`: the folder is made, and the program has no Session.
constexpr int kNothingRecorded = 1;

const char* kInUse = "run.msdbg is being recorded right now";
const char* kAnother =
    "run.msdbg is another run now (this one was moved or removed): how this one ended is not noted";

}  // namespace

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

TEST_CASE("run.json has what the program's own words make of its Session", "[session]") {
  const TempDir folder;
  const RunResult result = runCommand({kMsdbg, "dump", "--threads", "2", "-o", folder / "run.msdbg", "--",
                                       kProbe, "ok", "--threads", "1", "--seed=7", "--steps", "4"});
  INFO(result.err);
  CHECK(result.exitStatus == 0);
  CHECK_THAT(result.out, Catch::Contains("on 1 rank x 1 thread "));
  const dump::RunInfo info = dump::readRunInfo(folder / "run.msdbg").orThrow();
  CHECK(info.threads == 1);
  CHECK(info.seed == 7);
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
  CHECK(runCommand({"bash", "-c", force}, {.folder = folder.path()}).exitStatus ==
        kNothingRecorded);  // now it may
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
  CHECK(replaced.exitStatus == kNothingRecorded);
  CHECK_FALSE(fs::exists(journal));
}

TEST_CASE("Of launchers that make one folder at once, one does, with --force and without", "[session]") {
  for (const bool force : {false, true}) {
    const TempDir folder;
    const std::string dump = kMsdbg + " dump --threads 1 -o run.msdbg ";
    if (force)
      REQUIRE(runCommand({"bash", "-c", dump + "-- true"}, {.folder = folder.path()}).exitStatus ==
              kNothingRecorded);
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
    CHECK(count(result.out, "status 1\n") == 1);  // kNothingRecorded
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
  REQUIRE(runMsdbg({"dump", "-o", target.string(), "--", "true"}).exitStatus == kNothingRecorded);
  const auto before = dump::readRunInfo(target);
  REQUIRE(before.ok());
  fs::create_symlink(target, link);
  const RunResult result = runMsdbg({"dump", "--force", "-o", link.string(), "--", "true"});
  INFO(result.err);
  CHECK(result.exitStatus == kNothingRecorded);
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

TEST_CASE("Of ranks that fail at once one writes how the run ended", "[session]") {
  constexpr int kRanks = 12;
  const TempDir run;
  dump::RunInfo info;
  info.id = "0123456789abcdef0123456789abcdef";
  info.ranks = kRanks;
  for (int rank = 0; rank < kRanks; ++rank) fs::create_directory(run / ("rank_" + std::to_string(rank)));
  REQUIRE(dump::writeRunInfo(run.path(), info).ok());
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.push_back(fork());
    if (ranks.back() != 0) continue;
    const dump::Descriptor turn = dump::lockRunEnd(run.path(), kRanks);
    auto mine = dump::readRunInfoToEnd(run.path(), info.id);
    if (!mine.ok() || !turn.valid()) _exit(2);
    if (mine->end.state == "failed") _exit(0);
    mine->end.state = "failed";
    mine->end.rank = rank;
    _exit(dump::writeRunInfo(run.path(), *mine).ok() ? 1 : 2);
  }
  std::vector<int> wrote;
  for (int rank = 0; rank < kRanks; ++rank) {
    int status = 0;
    waitpid(ranks[static_cast<std::size_t>(rank)], &status, 0);
    CHECK(WEXITSTATUS(status) < 2);
    if (WEXITSTATUS(status) == 1) wrote.push_back(rank);
  }
  REQUIRE(wrote.size() == 1);
  const auto written = dump::readRunInfo(run.path());
  REQUIRE(written.ok());
  CHECK(written->end.rank == wrote[0]);
  CHECK(dump::verifyRunInfo(run.path()).ok());
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

TEST_CASE("A rank whose launcher was killed before it began does not record into the run that came after",
          "[session]") {
  const TempDir folder;
  const RunResult result = together(
      folder.path(),
      kMsdbg + " dump --threads 1 -o run.msdbg -- " + "bash -c 'trap \"\" TERM; touch began; " +
          untilThere("go") + kProbe + " ok 2> said; echo $? > s; mv s status'",
      "began", "kill -KILL $!; sleep 0.1; " + kExchange + "; touch go; " + untilThere("status") + "true");
  INFO(result.out << result.err);
  CHECK(unharmed(folder.path()));
  CHECK_FALSE(fs::exists(folder / "run.msdbg" / "rank_0"));
  const RunResult said = runCommand({"cat", "status", "said"}, {.folder = folder.path()});
  CHECK_FALSE(said.out.starts_with("0"));
  CHECK_THAT(said.out, Catch::Contains("run.msdbg is another run now"));
}

TEST_CASE("What a killed launcher left in shared memory goes when the next run begins", "[session]") {
  const fs::path memory = "/dev/shm";
  if (access(memory.c_str(), W_OK) != 0) {
    WARN("skipped: no /dev/shm here");
    return;
  }
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  std::vector<fs::path> folders;  // abandoned; in use; perhaps not yet locked
  for (const char* name : {"old", "used", "new"}) {
    folders.push_back(memory / ("msdbg-launch-" + std::to_string(getpid()) + name));
    fs::create_directory(folders.back());
    std::ofstream(folders.back() / "control") << "rest";
    if (std::string(name) != "new") fs::last_write_time(folders.back(), old);
  }
  const dump::Descriptor used(::open(folders[1].c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  REQUIRE(used.lockAlone());
  const TempDir folder;
  CHECK(runMsdbg({"dump", "-o", folder / "run.msdbg", "--", "true"}).exitStatus == kNothingRecorded);
  CHECK_FALSE(fs::exists(folders[0]));
  CHECK(fs::exists(folders[1] / "control"));
  CHECK(fs::exists(folders[2] / "control"));
  for (const fs::path& each : folders) fs::remove_all(each);
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
