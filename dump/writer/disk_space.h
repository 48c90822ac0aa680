// How much of a disk the recording may use. Several ranks and other programs share it, so it is asked again
// before every commit. No state; thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core_engine/base/result.h"

namespace msdbg::dump {

struct DiskSpace {
  static constexpr std::uint64_t kUnknown = 1ull << 62;  // the system does not say: no limit
  std::uint64_t total = 0, free = 0;                     // bytes; free: for this user
};

using AskDisk = std::function<core::Result<DiskSpace>(const std::filesystem::path&)>;
/// Of the file system that holds `path`, or would hold it: the nearest folder that exists. kIo.
core::Result<DiskSpace> diskSpace(const std::filesystem::path& path);

/// What stays free where --keep-free says nothing: 5 % of the file system, at most 1 GiB.
std::uint64_t defaultKeepFree(std::uint64_t totalBytes);

/// What may still be written; 0 when less than `keepFree` is free. Unset: the default.
std::uint64_t spareBytes(const DiskSpace& disk, std::optional<std::uint64_t> keepFree);

/// " (free some space)" and the like, when the state of the folder explains why it cannot be written to; "".
std::string whatToDo(const std::filesystem::path& folder);

}  // namespace msdbg::dump
