#include "dump/writer/disk_space.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "dump/commit_file.h"

namespace msdbg::dump {
namespace {

constexpr std::uint64_t kLittle = 1u << 20;

}  // namespace

core::Result<DiskSpace> diskSpace(const std::filesystem::path& path) {
  std::error_code ignored;
  std::filesystem::path folder = std::filesystem::absolute(path, ignored);
  struct statvfs status {};
  while (::statvfs(folder.c_str(), &status) != 0) {
    if (errno != ENOENT || !folder.has_relative_path())
      return ioError("cannot ask for the free space of", path);
    folder = folder.parent_path();
  }
  if (status.f_blocks == 0)
    return DiskSpace{DiskSpace::kUnknown, DiskSpace::kUnknown};  // some network file systems do not say
  return DiskSpace{static_cast<std::uint64_t>(status.f_blocks) * status.f_frsize,
                   static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize};
}

std::uint64_t defaultKeepFree(std::uint64_t totalBytes) {
  return std::min<std::uint64_t>(totalBytes / 20, 1ull << 30);
}

std::uint64_t spareBytes(const DiskSpace& disk, std::optional<std::uint64_t> keepFree) {
  const std::uint64_t stays = keepFree.value_or(defaultKeepFree(disk.total));
  return disk.free - std::min(disk.free, stays);
}

std::string whatToDo(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored))
    return " (the folder is gone: was the run removed or renamed?)";
  struct statvfs status {};
  if (::statvfs(folder.c_str(), &status) == 0 && (status.f_flag & ST_RDONLY))
    return " (the disk is mounted read-only: mount it for writing)";
  if (::access(folder.c_str(), W_OK) != 0) return " (the folder is read-only: make it writable)";
  const auto disk = diskSpace(folder);
  if (disk.ok() && disk->free < kLittle) return " (the disk is full: free some space)";
  return "";
}

}  // namespace msdbg::dump
