// Runs that no model of ours would make, recorded without an engine: what the window must bear.
#pragma once

#include <filesystem>
#include <memory>

namespace msdbg::test {

/// 3 iterations; names of files, scopes and tensors with markup, quotes, line breaks, letters beyond ASCII;
/// tensors of rank 0 and 8, without elements, of int64.
std::filesystem::path strangeRun(const std::filesystem::path& run);
/// 3 ranks with 4, 0 and 2 iterations; it ended because rank 1 was killed.
std::filesystem::path unevenRun(const std::filesystem::path& run);
/// Of 64 ranks only the first and the last are left.
std::filesystem::path runOfLostRanks(const std::filesystem::path& run);
/// A run that ended before its first iteration did.
std::filesystem::path runWithoutIterations(const std::filesystem::path& run);

/// A run that is being recorded: the window reads it meanwhile.
class RunningRecording {
 public:
  explicit RunningRecording(const std::filesystem::path& run);
  ~RunningRecording();
  void recordIteration();  // committed when this returns
  void changeGraph();      // from the next iteration on: network/Big-op1 is new

 private:
  struct Impl;
  std::unique_ptr<Impl> m_impl;
};

}  // namespace msdbg::test
