// RunReader's state, shared by run_reader.cpp (opening, asking), open_segments.cpp (what is open, what is
// damaged) and the other files of the reader. Internal to it.
#pragma once

#include <list>
#include <map>
#include <set>

#include "dump/reader/rank_index.h"
#include "dump/reader/run_reader.h"
#include "dump/reader/segment_reader.h"

namespace msdbg::dump {

/// "rank 1, iteration 7"
std::string placeText(core::Rank rank, core::Iteration iteration);

struct RunReader::Impl {
  struct Key {
    std::int64_t rank;
    std::string file;
    auto operator<=>(const Key&) const = default;
  };
  /// An open segment, or why it cannot be opened; what was read of its statistics.
  struct OpenSegment {
    Key key;
    std::unique_ptr<SegmentReader> reader;
    std::optional<core::Error> failure;
    std::optional<StatisticsTable> statistics;
    std::optional<core::Error> statisticsFailure;
    std::vector<std::int64_t> column;  // tensor id of the run's graph -> column of the table; -1: none
  };

  std::filesystem::path folder;
  RunInfo info;
  std::uint64_t infoInode = 0;  // of the run.json that was read: it is replaced, never changed
  core::Graph graph;
  std::map<std::int64_t, core::Graph> olderGraphs;  // by version, read when a segment needs them
  std::map<std::int64_t, RankIndex> ranks;
  std::map<std::string, std::string> sources;  // file -> SHA-256
  std::vector<Damage> damage;
  std::set<std::pair<std::string, std::string>> damageSeen;
  std::list<OpenSegment> open;  // most recently used first
  std::map<Key, std::list<OpenSegment>::iterator> openByKey;
  std::size_t statisticsBytes = 0;

  void addDamage(Damage found);
  /// All but the first so many.
  void forgetDamage(std::size_t first);
  void addDamage(const RankIndex& index, const SegmentLine& line, const core::Error& error,
                 std::vector<std::int64_t> iterations);
  const SegmentLine* lineOf(core::Rank rank, core::Iteration iteration) const;
  /// Opens the segment that holds the iteration, or finds it open.
  core::Result<OpenSegment*> segment(core::Rank rank, core::Iteration iteration);
  OpenSegment& openSegment(const RankIndex& index, const SegmentLine& line);
  void closeOldest();
  core::Result<const StatisticsTable*> statistics(const RankIndex& index, const SegmentLine& line,
                                                  OpenSegment& open);
  /// What /statistics and /record say of the tensor; nullptr: it has no place there.
  core::Result<const StatisticsRow*> row(core::Rank rank, core::Iteration iteration, core::TensorId tensor);
  /// A segment's own word about damage, listed and with the file in front.
  core::Error damaged(core::Rank rank, core::Iteration iteration, const core::Error& error);
  /// One input of a batch, made from its source and compared with the recorded hash.
  struct Input {
    core::Tensor value;
    std::optional<core::InputSource> source;  // nullopt: it was recorded itself
  };
  core::Result<Input> input(SegmentReader& segment, core::Rank rank, core::Iteration iteration,
                            const core::TensorInfo& tensor);
  /// Of a part of a checkpoint or a batch that the iteration has.
  core::Result<core::Tensor> partValue(ValueOrigin origin, core::Rank rank, core::Iteration iteration,
                                       const core::TensorInfo& tensor);
  /// Whether /tensor has the value.
  bool underTensor(core::Rank rank, core::Iteration iteration, core::TensorId tensor);
  core::Error notRecorded(core::Rank rank, core::Iteration iteration, core::TensorId tensor,
                          const std::string& why) const;
  /// The tensor as the graph version of the segment describes it; nullptr when that version has none of this
  /// name.
  core::Result<const core::TensorInfo*> describe(const SegmentLine& line, core::TensorId tensor);
  core::Result<const core::Graph*> graphOf(std::int64_t version);
  bool reload(core::Rank rank);
  void loadSources();
  core::Status readInfo();
  core::Status loadNewRanks(RunGrowth* growth);
  core::Status refreshInfo(RunGrowth& growth);
  core::Status refreshRank(RankIndex& index, RunGrowth& growth);
  core::Status readAgain(const RankIndex& index, const core::Error& error, RunGrowth& growth);
  void forget(const RankIndex& index, const std::vector<std::string>& files);
};

/// Where a graph version lies; kMissing when there is none. Newest: version -1.
core::Result<core::Graph> loadGraph(const std::filesystem::path& run, std::int64_t version);

}  // namespace msdbg::dump
