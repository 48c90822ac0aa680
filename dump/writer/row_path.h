// RowTaker: takes the values of tensors on the training thread, one of two ways. In background: a copy, which
// the background thread encodes and writes. In the team: large rows are encoded by training's threads and
// written to the segment's file at once, without a copy; small ones are copied. One thread.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "core_engine/tensor/statistics.h"
#include "dump/writer/iteration_record.h"
#include "dump/writer/pending_iterations.h"
#include "dump/writer/row_encoder.h"

namespace msdbg::dump {

enum class RowPath { kAuto, kTeam, kBackground };
/// kAuto: in the team unless a core is free beside those that the ranks compute with. A thread that writes
/// beside a full team takes more time from it than the writing itself (dump/PERFORMANCE.md).
bool writesInTeam(RowPath path, int threads, int ranks);

class RowTaker {
 public:
  struct Way {
    std::filesystem::path folder;
    int threads = 1;
    bool inTeam = false, compress = true;
    std::shared_ptr<SpareFile> spare = {};
  };
  RowTaker(Way way, BufferPool& pool, StageClock& clock);

  /// True: a new file begins, because a segment ends before this iteration.
  bool iterationStarted(PendingIterations& pending);
  /// `blocks`: the hashes of the value's 64 KiB blocks. `judgedAs`: whose trial says whether compressing
  /// pays; a parameter and what an update makes of it are one, so that equal values are stored alike, and
  /// once. kIo.
  core::Result<TensorRow> take(RowKey judgedAs, const core::Tensor& value, std::vector<core::Hash128> blocks);

 private:
  /// What lies in m_file already, by the hash of the value.
  struct Stored {
    core::DType dtype;
    std::vector<std::uint64_t> shape;
    std::uint64_t largestChunk;
    std::vector<StoredChunk> chunks;
  };
  bool isStored(TensorRow& row) const;
  void noteStored(const TensorRow& row);
  void copy(const core::Tensor& value, TensorRow& row);
  core::Status store(TensorRow& row);
  core::Status append(TensorRow& row);  // row.file stays null when the file was taken

  Way m_way;
  BufferPool& m_pool;
  StageClock& m_clock;
  RowEncoder m_encoder;
  std::shared_ptr<RowFile> m_file;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Stored> m_stored;
  std::int64_t m_files = 0;
  bool m_hadFile = false;  // rows lie in one that was begun since the last cut
  PendingIterations::Clock::time_point m_started{};
};

}  // namespace msdbg::dump
