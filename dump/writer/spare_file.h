// SpareFile: the file of a segment whose values were dropped, kept for the next one. Writing over pages and
// blocks that exist costs a file system less than half of taking new ones (dump/PERFORMANCE.md), and a run
// that has filled --max-size drops as much as it records. At most one is kept, `.spare.tmp`, locked as long:
// a file that somebody still reads is removed and not kept. Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>

#include "core_engine/base/result.h"
#include "dump/descriptor.h"

namespace msdbg::dump {

class SpareFile {
 public:
  explicit SpareFile(const std::filesystem::path& folder) : m_path(folder / ".spare.tmp") {}
  ~SpareFile() { discard(); }

  /// The file leaves the run: kept if there is none yet, removed otherwise. kIo: it is still there.
  core::Status offer(const std::filesystem::path& file);
  /// Renames what is kept to `path`; its old bytes are still in it. Not valid: nothing is kept.
  struct Taken {
    Descriptor descriptor = Descriptor();
    std::uint64_t bytes = 0;
  };
  Taken take(const std::filesystem::path& path);
  std::uint64_t bytes() const;  // on the disk
  void discard();

 private:
  std::filesystem::path m_path;
  mutable std::mutex m_mutex;
  Descriptor m_file;
  std::uint64_t m_bytes = 0;
};

}  // namespace msdbg::dump
