// Disks and networks that fail: a call that fails once costs nothing, one that fails from some time on costs
// what comes after; training goes on to its end, or never begins, with a status and a sentence; nothing
// crashes, and what was recorded is readable.
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

struct Fault {
  std::string rule;
  bool passes = true;
};

/// Each kind of call with each error, once at each of its first `most` calls, and for ever from some of them
/// on. A run of 12 iterations makes some 8 of most kinds.
std::vector<Fault> faults(int most) {
  std::vector<Fault> all;
  for (const std::string call : {"open", "write", "pwrite", "fsync", "rename", "unlink", "close"}) {
    std::vector<std::string> errors = {std::to_string(EIO), std::to_string(ENOSPC), std::to_string(EDQUOT)};
    if (call.ends_with("write")) errors.push_back("short");
    for (const std::string& error : errors) {
      for (int number = 1; number <= most; ++number)
        all.push_back({call + ":" + std::to_string(number) + ":" + error});
      for (const int number : {1, 2, 3, 5, 8, 13, 21})
        if (number <= most && error != std::to_string(EDQUOT))
          all.push_back({call + ":" + std::to_string(number) + "+:" + error, false});
    }
  }
  return all;
}

RunResult recordWith(const std::string& rule, const fs::path& run, const std::string& steps) {
  return runCommand(
      {(buildDir() / "bin/msdbg").string(), "dump", "mlp", "--threads", "1", "--steps", steps, "--batch", "8",
       "--tensors", "network/fc1/bias", "-o", run.string()},
      {.environment = {{"LD_PRELOAD", (buildDir() / "tests/io_fault.so").string()}, {"MSDBG_IO_FAULT", rule}},
       .timeout = std::chrono::seconds(120)});
}

/// Whether the fault was felt.
bool checkOutlived(const Fault& fault) {
  CAPTURE(fault.rule);
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  const RunResult result = recordWith(fault.rule, run, "12");
  INFO(result.out << result.err);
  CHECK((result.exitStatus == 0 || result.exitStatus == 1));
  CHECK(result.err.find("terminate called") == std::string::npos);
  const bool trained = result.out.find("finished   12 iterations") != std::string::npos;
  if (!trained) CHECK(result.exitStatus == 1);
  if (trained && fault.passes) CHECK(result.exitStatus == 0);
  if (result.exitStatus == 1) CHECK_FALSE(result.err.empty());
  const auto reader = dump::RunReader::open(run, dump::WithoutGraph::kOpen);
  if (!reader.ok()) {
    CHECK(result.exitStatus == 1);
    CHECK(reader.error().message().find('\n') == std::string::npos);
    return true;
  }
  const std::size_t iterations = (*reader)->ranks().empty() ? 0 : (*reader)->iterations(core::Rank(0)).size();
  if (result.exitStatus == 0) CHECK(iterations == 12);
  return !result.err.empty() || fs::exists(run / "rank_0" / "journal.1");
}

}  // namespace

TEST_CASE("A call on a file that fails costs what it must: no crash, a status, a readable run", "[slow]") {
  std::mt19937_64 random(drawnSeed("failing calls"));
  std::vector<Fault> all = faults(testAll() ? 60 : 8);
  std::shuffle(all.begin(), all.end(), random);
  if (!testAll()) all.resize(24);
  int felt = 0;
  for (const Fault& fault : all) felt += checkOutlived(fault);
  CHECK(felt > 0);  // else nothing failed
}

TEST_CASE("A file system without locks is named once, and works for one writer") {
  for (const int error : {ENOLCK, EOPNOTSUPP, ENOSYS}) {
    CAPTURE(error);
    const TempDir folder;
    const fs::path run = folder / "run.msdbg";
    const RunResult result = recordWith("flock:1+:" + std::to_string(error), run, "12");
    CHECK(result.exitStatus == 0);
    const std::size_t first = result.err.find("without locks");
    CHECK(first != std::string::npos);
    CHECK(result.err.find("without locks", first + 1) == std::string::npos);
    const auto reader = dump::RunReader::open(run).orThrow();
    CHECK(reader->iterations(core::Rank(0)).size() == 12);
    CHECK(reader->verify({}, {}).empty());
  }
}

TEST_CASE("A disk that is full for three seconds costs nothing", "[slow]") {
  for (const std::string call : {"write", "pwrite", "fsync"}) {
    const TempDir folder;
    const fs::path run = folder / "run.msdbg";
    const RunResult result = recordWith(call + ":4~3000:" + std::to_string(ENOSPC), run, "1000");
    INFO(result.out << result.err);
    CHECK(result.exitStatus == 0);
    CHECK_THAT(result.err, Catch::Contains("No space left on device; it is tried again"));
    const auto reader = dump::RunReader::open(run).orThrow();
    CHECK(reader->iterations(core::Rank(0)).size() == 1000);
    CHECK(reader->gaps().empty());
    CHECK(reader->verify({}, {}).empty());
  }
}

}  // namespace msdbg::test
