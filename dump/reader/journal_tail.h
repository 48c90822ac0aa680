// JournalTail: how far a journal was read: `journal`, then `journal.1` and so on where it went on in another
// file. Journals only grow, so a second look reads the new bytes alone. Value type; not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "core_engine/base/result.h"

namespace msdbg::dump {

/// The file of part 0, 1, … of the journal `file`.
std::filesystem::path journalPart(const std::filesystem::path& file, int part);

struct JournalTail {
  std::uint64_t lines = 0;  // whole ones that were read, of all parts
  int part = 0;             // the last one that was found
  std::uint64_t bytes = 0;  // of it: of whole lines that were read
  std::uint64_t inode = 0;  // of its file; 0: not read yet
  std::uint64_t size = 0;   // of that file then: a line that is still being written included

  using Take = std::function<void(std::string_view piece)>;
  /// The text from `bytes` on, piece by piece, and moves behind its last whole line: a line that is still
  /// being written is read again the next time. Where nothing was added this is two stat(). kMissing, kIo;
  /// kDamaged: not a file, larger than a journal can be, or not the file that was read before (then read it
  /// from its start).
  core::Status readOn(const std::filesystem::path& file, const Take& take);
  core::Result<std::string> readOn(const std::filesystem::path& file);
  /// Whether there may be something to read that was not there the last time.
  bool hasChanged(const std::filesystem::path& file) const;

 private:
  core::Status readPart(const std::filesystem::path& file, bool wholeLines, const Take& take);
};

}  // namespace msdbg::dump
