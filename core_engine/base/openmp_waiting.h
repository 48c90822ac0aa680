// How idle OpenMP threads wait. libgomp lets them spin by default: as soon as anything else wants the processor (the
// recorder, another rank, a build), every parallel region then costs whole time slices. Measured on 2 cores beside one
// other busy process: alexnet 864 ms a step spinning, 176 ms sleeping. libgomp reads its choice when it is loaded, so it
// has to be in the environment before the program starts.
#pragma once

namespace msdbg::core {

/// Starts this program again with OMP_WAIT_POLICY=passive, which its children inherit; returns at once when it is set, or
/// when the user has chosen otherwise (OMP_WAIT_POLICY, GOMP_SPINCOUNT). Call first in main().
void restartWithSleepingThreads(char** argv);

}  // namespace msdbg::core
