#include "dump/session/rank_watch.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <thread>

#include "dump/end_text.h"
#include "dump/session/process_info.h"
#include "dump/session/run_control.h"
#include "tests/support/temp_dir.h"

namespace msdbg::test {

using dump::RankStatusWriter;
using dump::RankWatch;
using State = dump::RankWatch::State;

TEST_CASE("RankWatch tells a rank that works from one that waits and one that hangs", "[session]") {
  const TempDir folder;
  RankWatch watch(folder.path(), core::Rank(1), 10);
  CHECK(watch.look(0) == State::kUnknown);
  const auto writer = RankStatusWriter::create(folder.path());
  REQUIRE(writer.ok());
  (*writer)->set(5, 12, "network/conv3/Conv-op1", false);
  CHECK(watch.look(1) == State::kWorking);
  CHECK(watch.look(11) == State::kWorking);
  CHECK(watch.look(11.5) == State::kHangs);
  CHECK(dump::placeText(*watch.status()) == "at network/conv3/Conv-op1 in iteration 5");
  (*writer)->set(5, 13, "network/Allreduce-op1", true);
  CHECK(watch.look(12) == State::kWaiting);
  CHECK(watch.look(60) == State::kWaiting);
  (*writer)->set(5, -1, "", false);
  CHECK(watch.look(61) == State::kWorking);
  CHECK(watch.look(200) == State::kIdle);  // asleep between iterations
  CHECK(dump::placeText(*watch.status()) == "after iteration 5");
  (*writer)->remove();
  CHECK(watch.look(201) == State::kEnded);
}

TEST_CASE("Where a rank was when it was last looked at is not where it ended", "[session]") {
  const TempDir folder;
  const auto writer = RankStatusWriter::create(folder.path());
  RankWatch watch(folder.path(), core::Rank(1), 10);
  (*writer)->set(0, 12, "network/fc1/Gemm-op1", false);
  CHECK(watch.look(0) == State::kWorking);
  (*writer)->set(90, -1, "", false);
  (*writer)->remove();
  CHECK(watch.look(1) == State::kEnded);
  CHECK(watch.look(2) == State::kEnded);
  CHECK_FALSE(watch.status());
  dump::RunEnd end;
  end.node = "grad/network/fc2/Allreduce-op1", end.iteration = 91;
  dump::setPlace(end, core::Rank(1), watch.status());
  CHECK(end.rank == 1);
  CHECK(end.node == "grad/network/fc2/Allreduce-op1");
  CHECK(end.iteration == 91);
}

TEST_CASE("RankWatch tells a rank that died by the file it left behind", "[session]") {
  const TempDir folder;
  const pid_t child = fork();
  if (child == 0) {
    const auto writer = RankStatusWriter::create(folder.path());
    (*writer)->set(2, 3, "network/fc1/Gemm-op1", false);
    _exit(0);
  }
  RankWatch watch(folder.path(), core::Rank(0), 10);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(child), &info,
         WEXITED | WNOWAIT);  // a zombie is as dead as one that is gone
  CHECK(watch.look(0) == State::kDied);
  CHECK(watch.status()->iteration == 2);
  waitpid(child, nullptr, 0);
  CHECK(watch.look(1) == State::kDied);
}

TEST_CASE("A process is found with its state, a reaped one is not", "[session]") {
  REQUIRE(dump::processInfo(getpid()));
  CHECK(dump::processInfo(getpid())->state == 'R');
  CHECK_FALSE(dump::processInfo(0));
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGSTOP);
    _exit(0);
  }
  waitpid(child, nullptr, WUNTRACED);
  CHECK(dump::processInfo(child)->state == 'T');
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  CHECK_FALSE(dump::processInfo(child));
}

TEST_CASE("RunControl carries progress and endings between processes", "[session]") {
  const TempDir folder;
  const auto mine = dump::RunControl::create(folder / "control");
  REQUIRE(mine.ok());
  CHECK_FALSE(dump::RunControl::create(folder / "control").ok());
  CHECK_FALSE(dump::RunControl::open(folder / "other").ok());
  CHECK((*mine)->progress().iterations == 0);
  CHECK_FALSE((*mine)->process(1).status);
  const pid_t child = fork();
  if (child == 0) {
    const auto theirs = dump::RunControl::open(folder / "control");
    (*theirs)->setProgress({4, 2.5});
    (*theirs)->setPid(1, 77);
    (*theirs)->setEnded(1, 0);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  CHECK((*mine)->progress().iterations == 4);
  CHECK((*mine)->progress().loss == 2.5);
  CHECK((*mine)->process(1).pid == 77);
  CHECK((*mine)->process(1).status == 0);
  CHECK_FALSE((*mine)->process(0).status);
}

TEST_CASE("Signals are written with number and name", "[session]") {
  CHECK(dump::signalText(SIGKILL) == "9 (SIGKILL)");
  CHECK(dump::signalText(SIGSEGV) == "11 (SIGSEGV)");
}

}  // namespace msdbg::test
