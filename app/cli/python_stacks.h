// Where the ranks of a PyTorch program are: asked for through the run folder, answered by each of them within
// a second or two (dump/python/msdbg/_stacks.py, which describes the files). What they answer is read as
// anybody's text.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core_engine/base/result.h"

namespace msdbg::app {

struct StackFrame {
  std::string file, function, code;
  std::int64_t line = 0;
  bool own = false;  // of the user's code
};
struct ThreadStack {
  std::string name;
  std::vector<StackFrame> frames;  // innermost first
};
struct RankStacks {
  int rank = 0;
  std::int64_t pid = 0, iteration = 0;
  std::vector<ThreadStack> threads;  // the main thread first

  /// The innermost line of the user's code in the main thread, and what it called: "train.py:52 in step:
  /// dist.barrier()".
  std::string place() const;
};

/// kIo: the run folder cannot be written to. Returns the request's number.
core::Result<std::int64_t> askForStacks(const std::filesystem::path& run);
/// The answers that are there, by rank. A file that is no answer to this request is left out.
std::vector<RankStacks> answeredStacks(const std::filesystem::path& run, std::int64_t request);
/// Asks, and waits until so many answered, or as long as given.
core::Result<std::vector<RankStacks>> stacksOf(const std::filesystem::path& run, std::size_t ranks,
                                               std::chrono::milliseconds patience);

}  // namespace msdbg::app
