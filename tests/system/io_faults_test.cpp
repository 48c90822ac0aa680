// Disks and networks that fail at one call or at all from one on: training goes on to its end, or never
// begins, with a status and a sentence; nothing crashes, and what was recorded is readable.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <random>

#include "dump/reader/run_reader.h"
#include "tests/support/run_command.h"
#include "tests/support/sampling.h"
#include "tests/support/temp_dir.h"

namespace msdbg::test {
namespace {

namespace fs = std::filesystem;

/// Each kind of call, at each of its first 12 calls (a short run makes no more), once and for ever, with each
/// error.
std::vector<std::string> faults() {
  std::vector<std::string> all;
  for (const char* call : {"open", "write", "pwrite", "fsync", "rename", "unlink", "close"})
    for (int number = 1; number <= 12; ++number)
      for (const char* more : {"", "+"})
        for (const std::string& error :
             {std::to_string(EIO), std::to_string(ENOSPC), std::to_string(EDQUOT), std::string("short")})
          if (error != "short" || std::string(call).ends_with("write"))
            all.push_back(std::string(call) + ":" + std::to_string(number) + more + ":" + error);
  return all;
}

/// Whether the fault cost anything.
bool checkOutlived(const std::string& rule) {
  CAPTURE(rule);
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  const RunResult result = runCommand(
      {(buildDir() / "bin/msdbg").string(), "dump", "mlp", "--threads", "1", "--steps", "12", "--batch", "8",
       "--tensors", "network/fc1/bias", "-o", run.string()},
      {.environment = {{"LD_PRELOAD", (buildDir() / "tests/io_fault.so").string()}, {"MSDBG_IO_FAULT", rule}},
       .timeout = std::chrono::seconds(60)});
  INFO(result.out << result.err);
  CHECK((result.exitStatus == 0 || result.exitStatus == 1));
  CHECK(result.err.find("terminate called") == std::string::npos);
  const bool trained = result.out.find("finished   12 iterations") != std::string::npos;
  if (!trained) CHECK(result.exitStatus == 1);
  if (result.exitStatus == 1) CHECK_FALSE(result.err.empty());
  const auto reader = dump::RunReader::open(run, dump::WithoutGraph::kOpen);
  if (!reader.ok()) {
    CHECK(result.exitStatus == 1);
    CHECK(reader.error().message().find('\n') == std::string::npos);
    return true;
  }
  const std::size_t iterations = (*reader)->ranks().empty() ? 0 : (*reader)->iterations(core::Rank(0)).size();
  if (result.exitStatus == 0) CHECK(iterations == 12);
  return result.exitStatus != 0;
}

}  // namespace

TEST_CASE("A call on a file that fails costs what it must: no crash, a status, a readable run", "[slow]") {
  std::mt19937_64 random(drawnSeed("failing calls"));
  std::vector<std::string> all = faults();
  std::shuffle(all.begin(), all.end(), random);
  if (!testAll()) all.resize(24);
  int felt = 0;
  for (const std::string& rule : all) felt += checkOutlived(rule);
  CHECK(felt > 0);  // else nothing failed
}

}  // namespace msdbg::test
