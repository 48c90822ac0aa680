// RunReader's state, shared by run_reader.cpp (opening, asking), open_segments.cpp (what is open, what is
// damaged) and the other files of the reader. Internal to it.
#pragma once

#include <array>
#include <list>
#include <map>
#include <set>

#include "dump/policy/decisions.h"
#include "dump/reader/rank_index.h"
#include "dump/reader/row_cache.h"
#include "dump/reader/run_graphs.h"
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
  /// An open segment, or why it cannot be opened; its statistics, once they were asked for.
  struct OpenSegment {
    Key key;
    std::uint64_t used = 0;  // on the clock
    std::unique_ptr<SegmentReader> reader;
    std::optional<core::Error> failure;
    bool failureListed = false;  // as damage
    std::optional<CachedTable> statistics;
    std::optional<core::Error> statisticsFailure;  // in full
    std::vector<std::int32_t> nameOf;  // tensor id of the run's graph -> name of the table; -1: none
  };
  /// Where an iteration is: its segment, and which of the segment's iterations it is; or why it is nowhere.
  struct Found {
    core::Iteration iteration;
    OpenSegment* segment = nullptr;
    std::size_t row = 0;
    std::optional<core::Error> failure;
  };

  std::filesystem::path folder;
  RunInfo info;
  std::uint64_t infoInode = 0;  // of the run.json that was read: it is replaced, never changed
  RunGraphs graphs;
  bool graphless = false;    // there is none
  bool missedGraph = false;  // a journal names one that is not among them
  std::map<std::int64_t, RankIndex> ranks;
  std::map<std::string, std::string> sources;  // file -> SHA-256
  std::vector<Damage> damage;
  std::set<std::pair<std::string, std::string>> damageSeen;
  /// By rank and graph version, once they were asked for: what the rules of the recording kept.
  std::map<std::pair<std::int64_t, std::int64_t>, std::optional<Decisions>> decisions;
  RowCache rows{0};
  std::map<Key, OpenSegment> open;
  std::uint64_t clock = 0;
  /// Of each rank, the newest first: whoever compares asks for an iteration and the one before in turn.
  /// Emptied when a segment is closed or the journals were read on.
  std::map<std::int64_t, std::array<Found, 2>> asked;

  void addDamage(Damage found);
  /// All but the first so many.
  void forgetDamage(std::size_t first);
  void addDamage(const RankIndex& index, const SegmentLine& line, const core::Error& error,
                 core::IterationSet iterations);
  const SegmentLine* lineOf(core::Rank rank, core::Iteration iteration) const;
  /// Opens the segment that holds the iteration, or finds it open.
  core::Result<OpenSegment*> segment(core::Rank rank, core::Iteration iteration);
  OpenSegment& openSegment(const RankIndex& index, const SegmentLine& line);
  void close(std::map<Key, OpenSegment>::iterator segment);
  core::Result<CachedTable*> statistics(const RankIndex& index, const SegmentLine& line, OpenSegment& open);
  /// Lists the damage; gives it in full.
  core::Error statisticsLost(const RankIndex& index, const SegmentLine& line, OpenSegment& open,
                             const core::Error& error);
  const Found& find(core::Rank rank, core::Iteration iteration);
  /// What /statistics and /record say of the tensor; nullptr: it has no place there. It stays valid as
  /// RunReader::row() says.
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
  /// The iterations of the segment that holds this one of which /tensor has the value.
  std::vector<std::int64_t> storedBeside(core::Rank rank, core::Iteration iteration, core::TensorId tensor);
  /// The same of all segments, newest first, until `take` returns false.
  void eachStored(core::Rank rank, core::TensorId tensor, const std::function<bool(core::Iteration)>& take);
  core::Error notRecorded(core::Rank rank, core::Iteration iteration, core::TensorId tensor,
                          const std::string& why) const;
  /// Of a tensor that the rank's graph has not.
  core::Error notComputed(core::Rank rank, core::Iteration iteration, core::TensorId tensor);
  core::Error wasThinned(core::Rank rank, core::Iteration iteration, core::TensorId tensor) const;
  std::optional<core::Iteration> nearestWhole(core::Rank rank, core::Iteration iteration) const;
  const core::Graph& graph() const { return graphs.whole(); }
  /// The tensor as the graph of the segment describes it; nullptr when that has none such.
  const core::TensorInfo* describe(core::Rank rank, const SegmentLine& line, core::TensorId tensor) {
    return graphs.describe(graphs.part(rank, line.graph), tensor);
  }
  /// All tensors of the segment's graph, in its order, as it describes them.
  std::vector<const core::TensorInfo*> tensorsOf(core::Rank rank, const SegmentLine& line) {
    return graphs.tensorsOf(graphs.part(rank, line.graph));
  }
  bool reload(core::Rank rank);
  void loadSources();
  core::Status readInfo();
  core::Status loadNewRanks(RunGrowth* growth);
  core::Status refreshInfo(RunGrowth& growth);
  core::Status refreshRank(RankIndex& index, RunGrowth& growth);
  core::Status readAgain(const RankIndex& index, const core::Error& error, RunGrowth& growth);
  void forget(const RankIndex& index, const std::vector<std::string>& files);
};

}  // namespace msdbg::dump
