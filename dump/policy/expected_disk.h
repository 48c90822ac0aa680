// What a long recording will leave on the disk, told from a short one of the same training: what of it stays
// when statistics thin, the journal and the graph besides, and what the file system has to do. Pure
// functions.
#pragma once

#include "dump/policy/expected_size.h"

namespace msdbg::dump {

/// What a short recording tells of each rank of a longer one.
struct MeasuredTraining {
  core::Graph graph;                      // of one rank
  std::vector<std::uint64_t> valueBytes;  // by its tensors: of an iteration; empty: as their shapes say
  std::int64_t scalars = 0;               // of an iteration
  double stepSeconds = 0;                 // that an iteration takes; 0: nobody knows
  std::uint64_t graphBytes = 0;           // graphs and sources of the run
};

/// As expectedSize() of its graph. kUsage: as there.
core::Result<ExpectedSize> expectedSize(const MeasuredTraining& measured, const RecordOptions& options,
                                        int ranks, std::int64_t steps);

/// All ranks together.
struct ExpectedDisk {
  std::uint64_t rowBytes = 0;      // statistics, thinned, with the files around them
  std::uint64_t valueBytes = 0;    // values, checkpoints and batches, at most
  std::uint64_t alwaysBytes = 0;   // scalars, digests, hashes of batches: they are never given up
  std::uint64_t journalBytes = 0;  // nor are these
  std::uint64_t graphBytes = 0;    // graphs and sources
  double seconds = 0;              // that training takes; with these two 0 where nobody knows
  double files = 0, fsyncs = 0;    // in that time; most files become one with others
  std::uint64_t bytes() const { return rowBytes + valueBytes + alwaysBytes + journalBytes + graphBytes; }
};
ExpectedDisk expectedDisk(const ExpectedSize& size, const MeasuredTraining& measured,
                          const RecordOptions& options, int ranks);

}  // namespace msdbg::dump
