// RUN/arm.json: which iterations to come the recorder of PyTorch is asked to record at another level. Written
// here and read by dump/python/msdbg/_arm.py, which describes the file. Values; thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core_engine/base/result.h"

namespace msdbg::app {

struct ArmedRange {
  std::int64_t first = 0, last = 0;  // iterations, both ends included
  std::string level;
  bool operator==(const ArmedRange&) const = default;
};

struct ArmRequest {
  std::vector<ArmedRange> ranges;  // of those that overlap the first counts

  static std::filesystem::path fileOf(const std::filesystem::path& run) { return run / "arm.json"; }
  /// No ranges where the file is not there. kDamaged: it is no request.
  static core::Result<ArmRequest> read(const std::filesystem::path& run);
  /// By rename: a rank sees the old request or the new one.
  core::Status write(const std::filesystem::path& run) const;
};

/// "+2-+4", "110-120", "+5", "+0-+4,+100-+104": from `base` on where there is a plus, which is +0. kUsage: no
/// such list, a range without an end, or one that begins before `base`.
core::Result<std::vector<ArmedRange>> armedRanges(const std::string& list, const std::string& level,
                                                  std::int64_t base);

}  // namespace msdbg::app
