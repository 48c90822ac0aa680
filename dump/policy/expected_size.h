// What a recording will take, told before it is made: exact in bytes before compression as long as every
// iteration computes every tensor of the graph. Pure functions.
#pragma once

#include "core_engine/tensor/batch.h"
#include "dump/policy/record_options.h"

namespace msdbg::dump {

struct ExpectedSize {
  /// The part of one rule: of the tensors about which it decides, in the iterations in which it does.
  struct Part {
    Rule rule;
    std::int64_t tensors = 0;                           // different ones, over all iterations and ranks
    std::vector<std::string> names = {};                // theirs: aliases where there are any
    std::int64_t iterations = 0;                        // in which it decides about any
    std::uint64_t iterationBytes = 0;                   // values and statistics of the largest one, all ranks
    std::uint64_t valueBytes = 0, statisticsBytes = 0;  // of the whole run; statistics: hashes too
    std::uint64_t bytes() const { return valueBytes + statisticsBytes; }
  };
  std::vector<Part> parts;  // by rule, as RecordOptions::allRules()
  std::int64_t tensors = 0;
  std::int64_t fullTensors = 0;      // whose values are recorded in some iteration
  std::int64_t iterations = 0;       // recorded ones
  std::uint64_t iterationBytes = 0;  // of the largest one, all ranks, checkpoints apart
  std::uint64_t valueBytes = 0, statisticsBytes = 0;
  /// Of all ranks; C and how many there are of each rank: dump/policy/checkpoints.h.
  std::int64_t checkpointEvery = 0, checkpoints = 0;
  std::uint64_t checkpointBytes = 0;      // of one
  std::uint64_t batchIterationBytes = 0;  // of one iteration
  std::uint64_t stateBytes() const { return checkpointBytes * static_cast<std::uint64_t>(checkpoints); }
  std::uint64_t batchBytes() const { return batchIterationBytes * static_cast<std::uint64_t>(iterations); }
  std::uint64_t bytes() const { return valueBytes + statisticsBytes + stateBytes() + batchBytes(); }

  /// What thinning leaves of an iteration on a rank, and what of it is in the journal: a Trainer's, about.
  std::uint64_t alwaysBytes = 300, journalBytes = 100;
  std::uint64_t fileBytes = 0;   // of a file with statistics, besides its rows
  std::uint64_t graphBytes = 0;  // graphs and sources of the whole run
};

/// What is known of the tensors besides the graph.
struct KnownBytes {
  const core::Batch* batch = nullptr;          // one of a rank: its sources are that large
  std::span<const std::uint64_t> values = {};  // by tensor: of an iteration, measured
};
/// Of `steps` iterations from `first` on, on `ranks` ranks; not cut at maxBytes. What is not known besides
/// has the size that its shape says. kUsage: as Decisions::make().
core::Result<ExpectedSize> expectedSize(const core::Graph& graph, const RecordOptions& options, int ranks,
                                        std::int64_t steps, const KnownBytes& known = {},
                                        std::int64_t first = 0);

/// Files with statistics that a rank has once they thin, about: a merged one is an eighth of its share.
inline constexpr std::uint64_t kFilesWithRows = 12;
/// What stays of the statistics of one rank when they do not fit into its share of maxBytes: about, for
/// segments thin as a whole (dump/writer/thinning_plan.h says how).
struct ExpectedThinning {
  struct Part {
    std::int64_t step = 1, iterations = 0;  // every so many-th of so many iterations
  };
  std::vector<Part> parts;        // newest first, the whole ones (step 1) among them; empty: nothing thins
  std::uint64_t alwaysBytes = 0;  // of what stays for ever of all iterations, one rank
  std::uint64_t rowBytes = 0;     // of the rows that stay, one rank
};
ExpectedThinning expectedThinning(const ExpectedSize& size, const RecordOptions& options, int ranks);

/// What recording asks of the file system each second, all ranks together, while segments are not committed
/// sooner than after commitSeconds, nor with less than an iteration of `stepSeconds`; merging included.
struct ExpectedWork {
  double files = 0, fsyncs = 0;
};
ExpectedWork expectedWork(const RecordOptions& options, int ranks, double stepSeconds = 0);

}  // namespace msdbg::dump
