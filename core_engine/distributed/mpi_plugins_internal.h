// Open MPI loads its parts as plug-ins and unloads them in MPI_Finalize, while a progress thread of its own
// may still be running in one of them. Seen once in some 200 jobs on a loaded machine: a job whose work was
// done ended with "Segmentation fault, address not mapped" at an address inside an unloaded library.
#pragma once

namespace msdbg::core {

/// Keeps every library that is loaded now in memory until the process ends. Call right before MPI_Finalize.
void keepLibrariesLoaded();

}  // namespace msdbg::core
