// JournalTail: how far a journal was read. Journals only grow, so a second look reads the new bytes alone.
// Value type; not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "core_engine/base/result.h"

namespace msdbg::dump {

struct JournalTail {
  std::uint64_t bytes = 0;  // of whole lines that were read
  std::uint64_t lines = 0;
  std::uint64_t inode = 0;  // of the file they were read from; 0: none yet
  std::uint64_t size = 0;   // of that file then: a line that is still being written included

  using Take = std::function<void(std::string_view piece)>;
  /// The text from `bytes` on, piece by piece, and moves behind its last whole line: a line that is still
  /// being written is read again the next time. Where nothing was added this is one stat(). kMissing, kIo;
  /// kDamaged: not a file, larger than a journal can be, or not the file that was read before (then read it
  /// from its start).
  core::Status readOn(const std::filesystem::path& file, const Take& take);
  core::Result<std::string> readOn(const std::filesystem::path& file);
  /// Whether there may be something to read that was not there the last time. One stat().
  bool hasChanged(const std::filesystem::path& file) const;
};

}  // namespace msdbg::dump
