// RowTaker: takes the values of tensors on the training thread, one of two ways. In background: a copy, which
// the background thread encodes and writes. In the team: large rows are encoded by training's threads and
// written to the segment's file at once, without a copy; small ones are copied. One thread.
#pragma once

#include <filesystem>
#include <memory>

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
  };
  RowTaker(Way way, BufferPool& pool, StageClock& clock);

  /// Begins a new file where a segment ends before this iteration.
  void iterationStarted(PendingIterations& pending);
  /// `blocks`: the hashes of the value's 64 KiB blocks. kIo.
  core::Result<TensorRow> take(RowKey key, const core::Tensor& value, std::vector<core::Hash128> blocks);

 private:
  void copy(const core::Tensor& value, TensorRow& row);
  core::Status store(TensorRow& row);
  core::Status append(TensorRow& row);  // row.file stays null when the file was taken

  Way m_way;
  BufferPool& m_pool;
  StageClock& m_clock;
  RowEncoder m_encoder;
  std::shared_ptr<RowFile> m_file;
  std::int64_t m_files = 0;
  PendingIterations::Clock::time_point m_started{};
};

}  // namespace msdbg::dump
