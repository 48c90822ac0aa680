// SegmentImage: a segment before it is a file: pieces of memory with their places, and perhaps a RowFile that
// holds most of it already. Committing writes the pieces and makes it a file of the run. One thread; the
// memory that the pieces refer to belongs to whoever made the image.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "dump/stage_times.h"
#include "dump/writer/row_file.h"

namespace msdbg::dump {

struct SegmentImage {
  struct Piece {
    std::uint64_t offset;
    std::span<const std::byte> bytes;
  };
  std::vector<Piece> pieces;                     // in any order
  std::map<std::uint64_t, core::Hash128> known;  // hashes of whole 64 KiB blocks of the file, by their number
  std::shared_ptr<RowFile> file;                 // taken; may be null
  StageClock* clock = nullptr;

  std::uint64_t size = 0;                       // of the file
  std::uint64_t rawBytes = 0, storedBytes = 0;  // of /tensor
  std::int64_t tensors = 0;
  std::vector<std::int64_t> checkpoints, batches;  // iterations of which /state and /batch hold all
  std::uint64_t stateBytes = 0, batchBytes = 0;    // of these, raw
  std::uint64_t replayBytes = 0;                   // of these, stored

  bool hasValues() const { return tensors > 0 || !checkpoints.empty() || !batches.empty(); }
};

/// As commitFile() (commit_file.h), into `spare` where that is not much too large, and past the page cache
/// where there is a buffer for it. Returns the hash of the whole file.
core::Result<core::Hash128> commitImage(const std::filesystem::path& file, const SegmentImage& image,
                                        SpareFile* spare = nullptr,
                                        std::shared_ptr<DirectBuffer> direct = nullptr);

}  // namespace msdbg::dump
