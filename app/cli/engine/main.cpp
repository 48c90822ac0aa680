#include <string_view>

#include "app/cli/engine/builtin_engine.h"
#include "core_engine/base/openmp_waiting.h"
#include "dump/hdf5/at_exit.h"

namespace {

/// The commands that train; the others start quicker without a second start.
bool trains(int argc, char** argv) {
  if (argc < 2) return false;
  const std::string_view command = argv[1];
  return command == "bench" || command == "dump";
}

}  // namespace

int main(int argc, char** argv) {
  if (trains(argc, argv)) msdbg::core::restartWithPatientThreads(argv);
  msdbg::dump::skipHdf5Cleanup();
  return msdbg::app::runCommandLine(argc, argv, msdbg::app::builtinEngine());
}
