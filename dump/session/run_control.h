// RunControl: a small piece of memory shared by the launcher of a run and its ranks: how far training is, and
// how each rank's process ended. A mapped file outside the recording; the launcher creates and removes it.
// All access is atomic; any thread and process may use it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core_engine/base/result.h"

namespace msdbg::dump {

class RunControl {
 public:
  static constexpr int kMaxRanks = 1024;

  static core::Result<std::unique_ptr<RunControl>> create(const std::filesystem::path& file);
  static core::Result<std::unique_ptr<RunControl>> open(const std::filesystem::path& file);
  ~RunControl();
  RunControl(const RunControl&) = delete;
  RunControl& operator=(const RunControl&) = delete;

  struct Progress {
    std::int64_t iterations = 0;
    std::optional<double> loss = {};  // of a program that tells none: not known
  };                                  // of rank 0: finished ones, the last one's loss
  void setProgress(const Progress& progress);
  Progress progress() const;

  /// How a rank's process is doing; written by the process that started it. `status` is as waitpid gives it.
  struct Process {
    std::int64_t pid = 0;
    std::optional<int> status;
    std::optional<std::string> recorderFailure;  // "the recorder failed: why"; the program may have done well
  };
  void setPid(int rank, std::int64_t pid);
  void setEnded(int rank, int status);
  void setRecorderFailed(int rank, const std::string& why);  // once a rank; cut at 511 bytes
  Process process(int rank) const;

 private:
  struct Shared;
  static core::Result<std::unique_ptr<RunControl>> map(const std::filesystem::path& file, int flags);
  explicit RunControl(Shared* shared) : m_shared(shared) {}
  Shared* m_shared;
};

}  // namespace msdbg::dump
