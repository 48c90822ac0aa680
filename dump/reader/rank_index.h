// RankIndex: what one rank's journal says, made whole: replaced segments are left out, segments that are
// committed but not listed (the recorder died in between, or the line is torn) are described from their own
// files. Opens only those. Value type; not thread-safe.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "dump/journal.h"
#include "dump/reader/run_reader.h"

namespace msdbg::dump {

struct RankIndex {
  std::filesystem::path folder;
  core::Rank rank;
  Journal journal;
  std::vector<SegmentLine> segments;              // those that count, in order of their first iteration
  std::map<std::int64_t, std::size_t> segmentOf;  // iteration -> index in segments
  std::vector<std::size_t> unlisted;              // indices in segments: not in the journal
  std::vector<Damage> damage;                     // found while opening

  bool incomplete(std::int64_t iteration) const;
};

/// kUnsupported: a newer major version. Everything else that is wrong is listed in damage.
core::Result<RankIndex> loadRank(const std::filesystem::path& run, std::int64_t rank);
/// Someone holds the lock of the rank's journal.
bool isRecording(const std::filesystem::path& rankFolder);

}  // namespace msdbg::dump
