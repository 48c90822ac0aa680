// Open MPI loads its parts as plug-ins and unloads them in MPI_Finalize, while a progress thread of its own
// may still be running in one of them. Seen once, on a loaded machine: a job of four ranks ended with
// "Segmentation fault, address not mapped" and no stack. That this was the cause is plausible, not proven:
// 100 such jobs without this precaution ran through afterwards.
#pragma once

namespace msdbg::core {

/// Keeps every library that is loaded now in memory until the process ends. Call right before MPI_Finalize.
void keepLibrariesLoaded();

}  // namespace msdbg::core
