// RankIndex: what one rank's journal says, made whole: replaced segments are left out, segments that are
// committed but not listed (the recorder died in between, or the line is torn) are described from their own
// files. Opens only those. A rank that is being recorded is read on from where it was. Value type; not
// thread-safe.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "dump/journal.h"
#include "dump/reader/iteration_map.h"
#include "dump/reader/journal_tail.h"
#include "dump/reader/run_reader.h"

namespace msdbg::dump {

struct RankIndex {
  std::filesystem::path folder;
  core::Rank rank;
  JournalTail tail;
  Journal journal;
  bool listsSegments = false;         // the journal does; journal.segments stays empty
  std::vector<SegmentLine> segments;  // those that count, in order of their first iteration
  IterationMap segmentOf;             // iteration -> index in segments
  core::IterationSet iterations;      // all of them
  std::vector<std::size_t> unlisted;  // indices in segments: not in the journal
  std::vector<Damage> damage;         // found while opening

  bool incomplete(std::int64_t iteration) const;
};

/// kUnsupported: a newer major version. Everything else that is wrong is listed in damage.
core::Result<RankIndex> loadRank(const std::filesystem::path& run, std::int64_t rank);

/// What extendRank() found.
struct RankGrowth {
  std::vector<std::int64_t> iterations;  // that lie in a segment that was not known: new ones, replaced ones
  std::vector<std::string> gone;         // files that another segment has replaced
  bool metrics = false;                  // there are new ones
  bool any = false;                      // lines of any kind
};
/// Takes in the lines that the journal has got since. Reads nothing else. Errors as of loadRank(); and
/// kMissing, when the journal is gone.
core::Result<RankGrowth> extendRank(RankIndex& index);
/// Someone holds the lock of the rank's journal.
bool isRecording(const std::filesystem::path& rankFolder);

}  // namespace msdbg::dump
