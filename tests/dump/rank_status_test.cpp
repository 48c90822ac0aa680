#include "dump/writer/rank_status.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <thread>

#include "tests/dump/recorded_run.h"

using namespace msdbg;
using dump::readRankStatus;

TEST_CASE("The status file says where a rank is, and is gone when it ended in good order") {
  const test::TempDir folder;
  CHECK_FALSE(readRankStatus(folder.path()));
  auto writer = dump::RankStatusWriter::create(folder.path());
  REQUIRE(writer.ok());
  (*writer)->set(7, 42, std::string(300, 'n'), true);
  const auto status = readRankStatus(folder.path());
  REQUIRE(status);
  CHECK(status->pid == getpid());
  CHECK(status->iteration == 7);
  CHECK(status->node == 42);
  CHECK(status->waiting);
  CHECK(status->nodeName == std::string(200, 'n'));
  (*writer)->set(7, -1, "", false);
  CHECK(readRankStatus(folder.path())->beat == status->beat + 1);
  (*writer)->remove();
  CHECK_FALSE(readRankStatus(folder.path()));
}

TEST_CASE("A foreign or short status file is no status") {
  const test::TempDir folder;
  test::writeText(folder / "status", "short");
  CHECK_FALSE(readRankStatus(folder.path()));
  test::writeText(folder / "status", std::string(4096, 'x'));
  CHECK_FALSE(readRankStatus(folder.path()));
}

TEST_CASE("A status read while it is written is one that was written") {
  const test::TempDir folder;
  auto writer = dump::RankStatusWriter::create(folder.path());
  REQUIRE(writer.ok());
  std::atomic<bool> stop{false};
  std::thread thread([&] {
    for (std::int64_t i = 0; !stop; ++i)
      (*writer)->set(i, i, std::string(static_cast<std::size_t>(i % 200), 'a'), i % 2 != 0);
  });
  const auto read = [&] { return readRankStatus(folder.path()); };
  while (read()->iteration < 0) std::this_thread::yield();
  for (int i = 0; i < 300; ++i) {
    const auto status = read();
    if (!status) stop = true, thread.join();
    REQUIRE(status);
    CHECK(status->node == status->iteration);
    CHECK(status->nodeName.size() == static_cast<std::size_t>(status->iteration % 200));
    CHECK(status->waiting == (status->iteration % 2 != 0));
  }
  stop = true;
  thread.join();
}

TEST_CASE("The recorder names the running node and removes the status at the end") {
  const test::TempDir folder;
  core::Graph graph = test::smallGraph();
  std::vector<core::Kernel> kernels;
  for (const auto& node : graph.nodes())
    kernels.push_back({core::KernelId(node.id.value), "test", {node.id}});
  graph.setKernels(kernels);
  test::writeInfo(folder / "run");
  auto recorder = dump::Recorder::create({folder / "run", core::Rank(0), 1, 1}, {});
  REQUIRE(recorder.ok());
  (*recorder)->graphReady(graph);
  (*recorder)->iterationStarted(core::Iteration(3));
  (*recorder)->kernelStarted(core::Iteration(3), core::KernelId(1));
  CHECK(readRankStatus(folder / "run/rank_0")->nodeName == "network/a/Relu-op1");
  CHECK(readRankStatus(folder / "run/rank_0")->iteration == 3);
  (*recorder)->iterationFinished(core::Iteration(3), {});
  CHECK(readRankStatus(folder / "run/rank_0")->node == -1);
  REQUIRE((*recorder)->finish({.state = "finished"}).ok());
  CHECK_FALSE(readRankStatus(folder / "run/rank_0"));
}
