// How idle OpenMP threads wait. libgomp lets them spin for milliseconds: as soon as anything else wants the
// processor (the recorder, another rank, a build), every parallel region then costs whole time slices.
// Measured on 2 cores beside other busy processes, least of 20 steps, alexnet / lenet5: 470 / 5.0 ms spinning
// (100,000 rounds), 161 / 10 ms sleeping at once, 155 / 3.1 ms with 1,000 rounds. libgomp reads its choice
// when it is loaded, so it has to be in the environment before the program starts.
#pragma once

namespace msdbg::core {

/// Starts this program again with GOMP_SPINCOUNT=1000, which its children inherit; returns at once when the
/// user has chosen (GOMP_SPINCOUNT, OMP_WAIT_POLICY). Call first in main().
void restartWithPatientThreads(char** argv);

}  // namespace msdbg::core
