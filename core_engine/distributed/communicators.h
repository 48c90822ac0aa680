// Who makes a Communicator, and the command line that starts ranks. Any thread.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core_engine/base/result.h"
#include "core_engine/ops/communicator.h"

namespace msdbg::core {

/// size() == 1.
std::unique_ptr<Communicator> makeLocalCommunicator();
/// MPI when started under mpirun (OMPI_COMM_WORLD_SIZE > 1), else local. kUnsupported: under mpirun without
/// MPI built in.
Result<std::unique_ptr<Communicator>> makeCommunicator();

/// Ranks as threads of one process, for tests: communicator i belongs to thread i.
std::vector<std::unique_ptr<Communicator>> makeThreadCommunicators(int size);

/// Command line that starts `ranks` copies of `program` under Open MPI, root and containers included, on any
/// core count.
std::vector<std::string> mpirunCommand(int ranks, const std::vector<std::string>& program);
/// Environment variables that command needs (name, value).
std::vector<std::pair<std::string, std::string>> mpirunEnvironment();

}  // namespace msdbg::core
