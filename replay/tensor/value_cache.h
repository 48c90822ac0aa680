// Values that were computed again, kept for the commands that follow: in the user's cache, never in the run.
// A file is named after the recorded hash of the value that it holds, and is held against it when it is read:
// what was damaged there is computed again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core_engine/base/result.h"
#include "core_engine/tensor/statistics.h"

namespace msdbg::replay {

/// Used from one thread; several processes may share a folder.
class ValueCache {
 public:
  /// $MSDBG_CACHE, else $XDG_CACHE_HOME/msdbg, else ~/.cache/msdbg, and so many bytes in it as
  /// MSDBG_CACHE_SIZE says
  /// ("0": none; by default 1 GiB), for the values of one run. kUnavailable: the user has no such place,
  /// wants none, or the run has no id (runs of format 1.0); kUsage: MSDBG_CACHE_SIZE is no number of bytes.
  static core::Result<ValueCache> ofUser(const std::string& runId);
  /// `mostBytes`: of the values of all runs together.
  ValueCache(std::filesystem::path folder, const std::string& runId, std::uint64_t mostBytes);

  /// nullopt: it is not there, or not what it should be.
  std::optional<core::Tensor> find(const core::Hash128& hash, core::DType dtype,
                                   const core::Shape& shape) const;
  /// Larger values than the whole cache are left out. kIo: it could not be written; what was there stays.
  core::Status keep(const core::Hash128& hash, const core::Tensor& value);
  /// Removes what has not been read or written for longest until the rest fits. Call it after what was kept.
  void trim() const;

 private:
  std::filesystem::path fileOf(const core::Hash128& hash) const;

  std::filesystem::path m_folder, m_ofRun;
  std::uint64_t m_mostBytes;
};

}  // namespace msdbg::replay
