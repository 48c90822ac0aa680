// Who makes a Communicator (the command line that starts ranks: core_engine/base/mpirun.h). Any thread.
#pragma once

#include <memory>
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

}  // namespace msdbg::core
