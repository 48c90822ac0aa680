// KeptHashes: the hashes of some tensors, gathered from /statistics and /record of segments whose rows go
// otherwise. Internal to merging; one thread.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "core_engine/tensor/statistics.h"
#include "dump/writer/merge_source_internal.h"
#include "dump/writer/segment_file_internal.h"

namespace msdbg::dump {

class KeptHashes {
 public:
  /// Of these tensors, by full name; those that a segment does not know are left out.
  explicit KeptHashes(const std::set<std::string>& wanted) : m_wanted(wanted) {}

  /// Takes these rows. kUnsupported: the segment has other tensors than the one before.
  core::Status add(const MergeSource& source, std::span<const std::size_t> rows);
  /// Makes /record of all that was added; nothing where there is none.
  core::Status write(SegmentFile& file, std::span<const std::int64_t> iterations) const;

 private:
  struct Group;
  core::Result<Group> read(const MergeSource& source, const std::string& group) const;

  const std::set<std::string>& m_wanted;
  std::vector<std::string> m_names;
  bool m_named = false;
  std::vector<core::Hash128> m_hashes;  // [rows, names]
};

}  // namespace msdbg::dump
