#include "tests/session/probe_run.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <thread>

#include "dump/reader/run_reader.h"
#include "dump/writer/rank_status.h"
#include "tests/session/disturbed_run.h"

namespace msdbg::test {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::vector<std::string> dumpProbe(const fs::path& run, int ranks, std::vector<std::string> program,
                                   std::vector<std::string> options) {
  std::vector<std::string> words = {buildDir() / "bin" / "msdbg", "dump",      "-o", run.string(), "-n",
                                    std::to_string(ranks),        "--threads", "1"};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", kProbe});
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

dump::RunEnd endOf(const fs::path& run) {
  const auto info = dump::readRunInfo(run);
  REQUIRE(info.ok());
  return info->end;
}

std::int64_t completeIterations(const fs::path& run, int rank) {
  const auto reader = dump::RunReader::open(run);
  if (!reader.ok()) FAIL(reader.error().message());
  std::int64_t count = 0;
  for (const dump::IterationState& state : (*reader)->iterations(core::Rank(rank))) count += state.complete;
  CHECK((*reader)->damage().empty());
  return count;
}

void checkReadable(const fs::path& run) {
  const auto reader = dump::RunReader::open(run);
  if (!reader.ok()) FAIL(reader.error().message());
  CHECK_FALSE((*reader)->recording());
  CHECK((*reader)->verify({}, [](std::uint64_t, std::uint64_t) {}).empty());
}

RunResult disturb(const std::vector<std::string>& command, const fs::path& run, int rank,
                  const std::function<void(pid_t)>& act, const RunOptions& options) {
  auto result = std::async(std::launch::async, [&] { return runCommand(command, options); });
  const auto deadline = Clock::now() + std::chrono::seconds(30);
  const fs::path folder = run / ("rank_" + std::to_string(rank));
  std::optional<dump::RankStatus> status;
  while (Clock::now() < deadline && !(status && status->iteration >= 3)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    status = dump::readRankStatus(folder);
  }
  if (status) act(static_cast<pid_t>(status->pid));
  return result.get();
}

}  // namespace msdbg::test
