// Makes the communicator of mpi_communicator.cpp, which exists only where MPI was found.
#pragma once

#include <memory>

#include "core_engine/ops/communicator.h"

namespace msdbg::core {

/// Starts MPI (once per process) and speaks on a duplicate of MPI_COMM_WORLD. kUsage: MPI has already been
/// shut down; kUnsupported: no MPI_THREAD_SERIALIZED; kIo: MPI's own message.
Result<std::unique_ptr<Communicator>> makeMpiCommunicator();

}  // namespace msdbg::core
