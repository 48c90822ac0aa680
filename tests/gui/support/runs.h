// Real runs for the tests of the window, recorded by this build's msdbg the first time one is asked for and
// kept in the build folder. Never write into them: copyOf() gives one of your own.
#pragma once

#include <filesystem>
#include <string>

namespace msdbg::test {

/// lenet5, 2 ranks, 10 iterations of batch 16, everything stored; NaN planted at iteration 4 on rank 1 in
/// network/conv2/Conv-op1.
std::filesystem::path nanRun();
/// mlp, 1 rank, 12 iterations of batch 16, nothing wrong; statistics of all, values of the newest that fit 60
/// MB.
std::filesystem::path cleanRun();
/// lenet5, 2 ranks, 8 iterations of batch 8: hashes, batches and a checkpoint every 3 iterations, no values.
std::filesystem::path replayableRun();
/// The same with a NaN planted at iteration 4 on rank 1 in network/conv2/Conv-op1, which no computation gives
/// again.
std::filesystem::path plantedReplayableRun();
/// While it lives, PATH begins with this build's programs: the window finds msdbg there.
class ProgramOnPath {
 public:
  ProgramOnPath();
  ~ProgramOnPath();

 private:
  std::string m_before;
};
/// A copy of a run in `folder`, to damage or to write into.
std::filesystem::path copyOf(const std::filesystem::path& run, const std::filesystem::path& folder);

}  // namespace msdbg::test
