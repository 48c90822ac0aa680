// SegmentMerge: several neighbouring segments of a rank as one file, in memory, dataset by dataset so that
// its user can do other work in between. Rows follow each other; chunks that hold rows of their own are
// copied as they are, small rows are gathered into fuller chunks. Every byte taken over was checked against
// its hash. Answers of a reader are the same before and after, of the iterations that are taken. One thread.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core_engine/base/result.h"
#include "dump/journal.h"

namespace msdbg::dump {

/// What of the segments goes into the new one.
struct MergeSelection {
  using Iterations = std::function<bool(std::int64_t iteration)>;  // empty: all

  Iterations takes = {};
  bool values = true;                         // /tensor; never cut: only where all iterations are taken
  Iterations checkpoints = {}, batches = {};  // of those taken, whose /state and /batch
  /// > 0: no statistics, for they were thinned to every so many-th iteration. Of `keptHashes` (full names)
  /// the hashes stay, under /record.
  std::int64_t thinned = 0;
  std::set<std::string> keptHashes = {};

  bool all() const { return !takes && values && !checkpoints && !batches && thinned == 0; }
};

class SegmentMerge {
 public:
  /// `files` are segments of one rank and graph version, oldest first; `number` is that of the new one.
  /// kUnsupported: they hold something that cannot be merged. kDamaged, kMissing.
  static core::Result<std::unique_ptr<SegmentMerge>> begin(std::int64_t rank, std::int64_t number,
                                                           std::span<const std::filesystem::path> files,
                                                           MergeSelection selection = {});
  ~SegmentMerge();

  /// Takes over one dataset; true: all are. kUnsupported: these do not fit into one (a changed shape).
  core::Result<bool> step();
  /// After the last step: the bytes of the file, valid as long as this object.
  core::Result<std::span<const std::byte>> finish();
  /// The journal's line but for `file` and `replaces`; whole after finish().
  const SegmentLine& line() const;
  /// Of the file, what checkpoints and batches take; after the last step.
  std::uint64_t replayBytes() const;

 private:
  struct Impl;
  explicit SegmentMerge(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> m_impl;
};

}  // namespace msdbg::dump
