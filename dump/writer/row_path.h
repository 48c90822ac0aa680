// RowTaker: takes the values of tensors on the training thread, in the way that is fastest (way_trial.h). In
// background: a copy, which the background thread encodes and writes. In the team: large rows are encoded by
// training's threads and written to the segment's file at once, without a copy; small ones are copied. One
// thread.
#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core_engine/tensor/statistics.h"
#include "dump/writer/iteration_record.h"
#include "dump/writer/pending_iterations.h"
#include "dump/writer/row_encoder.h"
#include "dump/writer/way_trial.h"

namespace msdbg::dump {

/// The ways to try: the one that is wanted, or all, what is thought best first. On a disk a thread of its
/// own, past the page cache. Where the folder lies in memory nothing goes past it, and the team writes unless
/// a core is free beside those that the ranks compute with.
std::vector<WritingWay> waysToWrite(const std::optional<WritingWay>& wanted, int threads, int ranks,
                                    const std::filesystem::path& folder);

class RowTaker {
 public:
  struct Way {
    std::filesystem::path folder;
    int threads = 1;
    bool compress = true;
    std::shared_ptr<SpareFile> spare = {};
    WayTrial::Pace pace = {};
  };
  RowTaker(Way way, std::vector<WritingWay> ways, BufferPool& pool, StageClock& clock);

  /// True: a new file begins, because a segment ends before this iteration; `beginsSegment`: it is to.
  bool iterationStarted(PendingIterations& pending, bool beginsSegment = false);
  /// What the last iteration that wrote into files, or this one so far, wrote into them.
  std::uint64_t bytesAnIteration() const { return std::max(m_lastBytes, m_bytes); }
  /// What this iteration wrote is of no use; one like it takes so many bytes, or more.
  void abandon(std::uint64_t bytes);
  /// How the iteration's rows are written.
  const WritingWay& writing() const { return m_trial.way(); }
  ChosenWay chosen() const { return m_trial.chosen(); }
  bool mayCopy() const { return m_trial.mayCopy(); }  // in this iteration, or those that follow soon
  /// `blocks`: the hashes of the value's 64 KiB blocks. `judgedAs`: whose trial says whether compressing
  /// pays; a parameter and what an update makes of it are one, so that equal values are stored alike, and
  /// once. kIo.
  /// `ahead`: the value, written already.
  core::Result<TensorRow> take(RowKey judgedAs, const core::Tensor& value, std::vector<core::Hash128> blocks,
                               std::optional<RowFile::Ahead> ahead = std::nullopt);
  /// Whether one thread can write the value while others take its hash: then writeAhead(), and take() soon.
  bool mayWriteAhead(RowKey judgedAs, const core::Tensor& value);
  /// nullopt: it cannot be done; take() does it, or says why.
  std::optional<RowFile::Ahead> writeAhead(const core::Tensor& value);

 private:
  /// What is stored of the same bytes in the file that is written to.
  std::optional<StoredValue> storedOf(const TensorRow& row, const std::optional<RowFile::Ahead>& ahead) const;
  void noteStored(const TensorRow& row);
  void copy(const core::Tensor& value, TensorRow& row);
  void leaveFile();
  core::Status beginFile();
  core::Status store(TensorRow& row);
  void keep(RowFile::Ahead ahead, TensorRow& row);
  void written(TensorRow& row, StageClock::Clock::duration took);
  core::Status append(TensorRow& row);  // row.file stays null when the file was taken

  Way m_way;
  WayTrial m_trial;
  std::shared_ptr<DirectBuffer> m_direct = std::make_shared<DirectBuffer>();
  BufferPool& m_pool;
  StageClock& m_clock;
  RowEncoder m_encoder;
  std::shared_ptr<RowFile> m_file;
  std::int64_t m_files = 0;
  std::uint64_t m_lastBytes = 0, m_bytes = 0;  // written in the last iteration, and in this one
  bool m_tookLarge = false;                    // in the iteration in progress
  bool m_hadFile = false;                      // rows lie in one that was begun since the last cut
  PendingIterations::Clock::time_point m_started{};
};

}  // namespace msdbg::dump
