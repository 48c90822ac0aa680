// The program that pip installs: every command, and no engine.
#include <string_view>

#include "app/cli/engine.h"
#include "core_engine/base/openmp_waiting.h"
#include "dump/hdf5/at_exit.h"

int main(int argc, char** argv) {
  // For the programs that it starts: as the whole msdbg does.
  if (argc > 1 && std::string_view(argv[1]) == "dump") msdbg::core::restartWithPatientThreads(argv);
  msdbg::dump::skipHdf5Cleanup();
  return msdbg::app::runCommandLine(argc, argv, msdbg::app::noEngine());
}
