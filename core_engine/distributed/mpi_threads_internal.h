// MPI_Init tells Open MPI's progress thread that MPI was declared (PMIX_MODEL_DECLARED), and nothing waits
// until that thread has handled it. MPI_Finalize frees what it answers to (PMIx's event loop) and unloads its
// code. Where a job is short and the machine busy the thread runs only then, writes into freed memory, and
// the rank ends by "malloc_consolidate(): unaligned fastbin chunk detected" or a segmentation fault (Open
// MPI 4.1.4, PMIx 4.2.2): 8 of 105 jobs of four ranks beside four busy processes on two cores. No call of MPI
// waits for it.
#pragma once

#include <chrono>

namespace msdbg::core {

/// Returns when every other thread of this process sleeps: none has work that it could go on with. Call right
/// before MPI_Finalize. Gives up after `limit`, where threads of the program's own compute on.
void waitUntilOtherThreadsSleep(std::chrono::milliseconds limit);

}  // namespace msdbg::core
