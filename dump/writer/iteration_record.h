// What one iteration leaves behind until its segment is committed, and the part of the graph that the writer
// needs. Filled by the training thread; encoded and written by the background thread. Recorder's lock guards
// the hand-over.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core_engine/runtime/observer.h"
#include "core_engine/tensor/statistics.h"
#include "dump/codec/chunk_grid.h"
#include "dump/policy/decisions.h"
#include "dump/writer/buffer_pool.h"
#include "dump/writer/row_file.h"
#include "watchpoints/activation_preset.h"
#include "watchpoints/source.h"

namespace msdbg::dump {

/// Now, in seconds, as the run folder has it.
inline double unixTime() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Where in a segment a value lies: /tensor, /state (part of a checkpoint) or /batch.
enum class Section : std::uint8_t { kTensor, kState, kBatch };
struct RowKey {
  Section section = Section::kTensor;
  std::int64_t tensor = 0;  // id
  auto operator<=>(const RowKey&) const = default;
};

/// One tensor of one iteration: a copy of its bytes, or the chunks made from it (large rows, as soon as they
/// come in).
struct TensorRow {
  core::DType dtype = core::DType::Float32;
  std::vector<std::uint64_t> shape;
  std::optional<float> divisor;  // it is the source of an input, and this a part of the recipe
  Buffer raw;
  std::uint64_t rawBytes = 0;
  std::vector<core::Hash128> blocks;           // hashes of the 64 KiB blocks of the raw bytes; may be empty
  std::uint64_t largestChunk = kLargestChunk;  // the rows of one dataset have the same
  std::vector<StoredChunk> chunks;
  std::shared_ptr<RowFile> file;  // where chunks without bytes in memory lie
  std::uint64_t newInFile = 0;    // bytes by which that became longer

  std::uint64_t memoryBytes() const;
};

/// A version of the graph as the writer sees it; immutable once made.
struct GraphPlan {
  core::Graph graph;  // a copy: the engine's own may change or go away
  std::int64_t version = 0;
  Decisions decisions;                     // what is recorded of each tensor
  std::vector<core::TensorId> statistics;  // the tensors that have a place in /statistics
  std::vector<core::TensorId> hashes;      // those that never have more than their hash: /record
  std::vector<std::optional<watch::ActivationPreset>> activation;  // by tensor
  bool checkpoints = false, batches = false;                       // some are kept, or may be
  std::size_t stateTensors = 0, batchTensors = 0;                  // so many make one

  GraphPlan(const core::Graph& source, std::int64_t graphVersion, Decisions what,
            const RecordOptions& options, int ranks);
};

struct RowLayout;

struct IterationRecord {
  std::int64_t iteration = 0;
  bool complete = false;
  bool anew = false;                               // it does not follow from what was recorded before
  double finishedAt = 0;                           // Unix time, s; of the last call when incomplete
  std::chrono::steady_clock::time_point finished;  // what the commit deadline counts from
  core::Scalars scalars;
  std::shared_ptr<const GraphPlan> plan;
  std::vector<watch::StatisticsRow> statistics;  // by tensor; only the hash where its rule says record
  std::vector<bool> seen;                        // by tensor
  std::map<RowKey, TensorRow> rows;
  std::shared_ptr<const std::map<RowKey, RowLayout>> layouts;  // once all rows are encoded, and asked for
  /// Of rows in a file what they added to it, of others before compression; when it is finished, with the
  /// statistics.
  std::uint64_t segmentBytes = 0;
  std::uint64_t memoryBytes = 0;  // that the rows take now, and when it is finished the statistics too
  std::uint64_t valueBytes = 0;   // of rows of /tensor that wait in memory, before compression
  std::int64_t toEncode = 0;      // rows that wait for their chunks
  bool beginsFile = false;        // its rows lie in another file than those before: a segment begins
  bool valuesDropped = false;     // there is no room for them, on the disk or within --max-size
  bool encodingQueued = false;    // with --on-hit: once it is known that they are written
};

}  // namespace msdbg::dump
