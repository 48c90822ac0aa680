// What `msdbg bench --profile` adds: where the time of a step goes, kernel by kernel, and what a matrix
// product reaches on the same threads. Main thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core_engine/base/result.h"

namespace msdbg::core {
class DataLoader;
class Trainer;
}  // namespace msdbg::core

namespace msdbg::app {

/// All kernels of one name: library and type of the operator, "dnnl:Conv".
struct KernelTime {
  std::string name;
  std::int64_t calls = 0;  // in a step
  double ms = 0;           // of a step: the mean of the profiled ones
};

/// Trains `steps` steps from `first` on with the clock at every kernel; longest first.
std::vector<KernelTime> kernelTimes(core::Trainer& trainer, const core::DataLoader& loader,
                                    std::int64_t first, std::int64_t steps);

/// GFLOP/s of the engine's own MatMul of two float32 matrices of 2048 x 2048, least of 7 runs.
core::Result<double> sgemmPeak(int threads);

double secondsSince(std::chrono::steady_clock::time_point begin);

/// What the process has taken of the machine's memory so far, at most, in bytes; and now. 0 where /proc does
/// not tell.
struct ProcessMemory {
  std::uint64_t most = 0, now = 0;
};
ProcessMemory processMemory();

}  // namespace msdbg::app
