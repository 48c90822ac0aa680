// DataRegion: where the chunks of large rows lie in a segment, decided before HDF5 sees the file. Those that
// are in the segment's RowFile stay where they are; the others become pieces of the image. Equal chunks share
// one place.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dump/writer/iteration_record.h"
#include "dump/writer/segment_image.h"

namespace msdbg::dump {

class DataRegion {
 public:
  /// Takes a RowFile of the iterations for the image, adds pieces and known blocks, and counts what is
  /// stored.
  core::Status lay(std::span<const IterationRecord* const> iterations, SegmentImage& image);
  std::uint64_t end() const { return m_end; }  // 0: no chunk lies in it
  std::optional<std::uint64_t> placeOf(const StoredChunk& chunk) const;

 private:
  /// The bytes that it takes; none where others of the segment are the same.
  core::Result<std::uint64_t> place(const TensorRow& row, const StoredChunk& chunk, SegmentImage& image);
  std::uint64_t add(std::span<const std::byte> bytes, const StoredChunk& chunk, SegmentImage& image);

  std::uint64_t m_end = 0;
  std::unordered_map<const StoredChunk*, std::uint64_t> m_places;
  StoredBytes m_stored;
  std::set<std::uint64_t> m_counted;               // chunks by their place
  std::vector<std::vector<std::byte>> m_readBack;  // from files that other segments have taken
};

}  // namespace msdbg::dump
