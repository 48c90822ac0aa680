// Of a build without MPI only: one rank works, more are refused before anything is written.
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

namespace msdbg::test {

TEST_CASE("Without MPI a model of several ranks is refused at once, and says what to install") {
  const TempDir folder;
  const RunResult result = runMsdbg({"dump", "mlp", "-n", "2", "-o", "two.msdbg"}, {.folder = folder.path()});
  CHECK(result.exitStatus == 1);
  CHECK_THAT(result.err, Catch::Contains("built without MPI") && Catch::Contains("libopenmpi-dev"));
  CHECK_FALSE(std::filesystem::exists(folder / "two.msdbg"));
}

TEST_CASE("Without MPI one rank is recorded, checked and verified") {
  const TempDir folder;
  const RunOptions here{.folder = folder.path()};
  const RunResult dump = runMsdbg({"dump", "mlp", "--steps", "3", "--batch", "16", "-o", "one.msdbg"}, here);
  INFO(dump.err);
  CHECK(dump.exitStatus == 0);
  CHECK(runMsdbg({"check", "one.msdbg"}, here).exitStatus == 0);
  CHECK(runMsdbg({"verify", "one.msdbg"}, here).exitStatus == 0);
}

}  // namespace msdbg::test
