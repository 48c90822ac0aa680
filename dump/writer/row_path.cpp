#include "dump/writer/row_path.h"

#include <linux/magic.h>
#include <sched.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cstring>

#include "dump/writer/segment_writer.h"

namespace msdbg::dump {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kCopyBlock = 1u << 20;

void copyBytes(std::span<const std::byte> from, std::span<std::byte> to, int threads) {
  const auto blocks = static_cast<std::int64_t>((from.size() + kCopyBlock - 1) / kCopyBlock);
#pragma omp parallel for num_threads(threads) if (blocks > 1)
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::size_t first = static_cast<std::size_t>(b) * kCopyBlock;
    std::memcpy(&to[first], &from[first], std::min(kCopyBlock, from.size() - first));
  }
}

bool liesInMemory(const fs::path& folder) {
  struct statfs status = {};
  return ::statfs(folder.c_str(), &status) == 0 &&
         (status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC);
}

int cores() {
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

}  // namespace

std::vector<WritingWay> waysToWrite(const std::optional<WritingWay>& wanted, int threads, int ranks,
                                    const fs::path& folder) {
  if (wanted) return {*wanted};
  if (!liesInMemory(folder))  // a thread that waits for a disk takes no core
    return {{.inTeam = false, .direct = true},
            {.inTeam = true, .direct = true},
            {.inTeam = false},
            {.inTeam = true}};
  static const int available = cores();  // before a library binds this thread
  const bool inTeam = threads * std::max(ranks, 1) >= available;
  return {{.inTeam = inTeam}, {.inTeam = !inTeam}};
}

RowTaker::RowTaker(Way way, std::vector<WritingWay> ways, BufferPool& pool, StageClock& clock)
    : m_way(std::move(way)),
      m_trial(std::move(ways), m_way.pace),
      m_pool(pool),
      m_clock(clock),
      m_encoder(m_way.compress, &clock) {}

bool RowTaker::iterationStarted(PendingIterations& pending, bool beginsSegment) {
  if (m_bytes > 0) m_lastBytes = std::exchange(m_bytes, 0);
  const auto now = PendingIterations::Clock::now();
  const bool first = m_started == PendingIterations::Clock::time_point{};
  const auto last = first ? PendingIterations::Clock::duration{} : now - m_started;
  m_started = now;
  const WritingWay before = writing();
  if (m_trial.next(last, std::exchange(m_tookLarge, false)) != before || beginsSegment) {
    pending.cutHere();
    leaveFile();
    m_encoder.beginFile();
    m_hadFile = false;
    return true;
  }
  if (!writing().inTeam) return false;
  if (pending.cut(last)) leaveFile();
  if (m_file && !m_file->isTaken()) return false;
  m_file.reset();
  m_encoder.beginFile();
  return std::exchange(m_hadFile, false);
}

void RowTaker::abandon(std::uint64_t bytes) {
  leaveFile();
  m_lastBytes = std::max(bytesAnIteration(), bytes);
  m_bytes = 0;
}

void RowTaker::leaveFile() {
  if (m_file) m_file->leave();
  m_file.reset();
}

void RowTaker::copy(const core::Tensor& value, TensorRow& row) {
  const StageTimer timer(&m_clock, Stage::kSnapshot, value.bytes());
  row.raw = m_pool.take(value.bytes());
  copyBytes(value.byteSpan(), row.raw.bytes(), m_way.threads);
}

static StoredBytes::ValueKey keyOf(const TensorRow& row) {
  return {core::hashOfBlocks(row.blocks), row.dtype, row.shape};
}

std::optional<StoredValue> RowTaker::storedOf(const TensorRow& row,
                                              const std::optional<RowFile::Ahead>& ahead) const {
  if (!m_file || row.blocks.empty()) return std::nullopt;
  return ahead ? ahead->find(keyOf(row)) : m_file->find(keyOf(row));
}

void RowTaker::noteStored(const TensorRow& row) {
  if (row.file == m_file && !row.blocks.empty()) m_file->note(keyOf(row), {row.largestChunk, row.chunks});
}

bool RowTaker::mayWriteAhead(RowKey judgedAs, const core::Tensor& value) {
  return m_way.threads > 1 && writing().inTeam && !writing().direct &&
         SegmentWriter::ownChunks(value.bytes()) && m_encoder.keepsWhole(judgedAs, value.byteSpan());
}

std::optional<RowFile::Ahead> RowTaker::writeAhead(const core::Tensor& value) {
  const StageTimer timer(&m_clock, Stage::kWrite, 0);
  if (!m_file && !beginFile().ok()) return std::nullopt;
  return RowFile::writeAhead(m_file, value.byteSpan());
}

core::Result<TensorRow> RowTaker::take(RowKey judgedAs, const core::Tensor& value,
                                       std::vector<core::Hash128> blocks,
                                       std::optional<RowFile::Ahead> ahead) {
  TensorRow row;
  row.dtype = value.dtype();
  row.shape.assign(value.shape().dims().begin(), value.shape().dims().end());
  row.rawBytes = value.bytes();
  row.blocks = std::move(blocks);
  const bool large = SegmentWriter::ownChunks(row.rawBytes);
  m_tookLarge = m_tookLarge || large;
  if (!writing().inTeam || !large) {
    copy(value, row);
    return row;
  }
  if (auto stored = storedOf(row, ahead)) {
    row.largestChunk = stored->largestChunk;
    row.chunks = std::move(stored->chunks);
    row.file = m_file;
    return row;
  }
  m_encoder.encode(judgedAs, row, value.byteSpan(), m_way.threads);
  if (ahead)
    keep(*std::move(ahead), row);
  else
    MSDBG_TRY(store(row));
  noteStored(row);
  return row;
}

core::Status RowTaker::beginFile() {
  m_hadFile = true;
  MSDBG_ASSIGN(m_file, RowFile::create(m_way.folder, "rows_" + std::to_string(m_files++), m_way.spare.get()));
  if (writing().direct) m_file->writeDirect(m_direct);
  return core::Ok{};
}

// All chunks of a row lie in one file: where that is taken half-way, they go to the next one.
core::Status RowTaker::store(TensorRow& row) {
  const auto start = StageClock::Clock::now();
  std::uint64_t before = 0;
  do {
    if (!m_file) MSDBG_TRY(beginFile());
    before = m_file->end();
    MSDBG_TRY(append(row));
  } while (!row.file);
  row.newInFile = m_file->end() - before;
  written(row, StageClock::Clock::now() - start);
  return core::Ok{};
}

void RowTaker::keep(RowFile::Ahead ahead, TensorRow& row) {
  StoredChunk& chunk = row.chunks[0];
  const RowFile::Ahead::Kept kept = ahead.keep({chunk.bytes, chunk.hash, chunk.blocks});
  chunk.offset = kept.offset;
  row.newInFile = kept.grown;
  row.file = m_file;
  written(row, {});
}

void RowTaker::written(TensorRow& row, StageClock::Clock::duration took) {
  m_bytes += row.newInFile;
  m_clock.add(Stage::kWrite, took, row.newInFile);
  for (StoredChunk& chunk : row.chunks) {
    chunk.bytes = {};
    m_encoder.takeBack(chunk);
    chunk.blocks = {};
  }
}

core::Status RowTaker::append(TensorRow& row) {
  for (StoredChunk& chunk : row.chunks) {
    MSDBG_ASSIGN(const std::optional<std::uint64_t> place,
                 m_file->append({chunk.bytes, chunk.hash, chunk.blocks}));
    if (!place) {
      m_file.reset();
      return core::Ok{};
    }
    chunk.offset = *place;
  }
  row.file = m_file;
  return core::Ok{};
}

}  // namespace msdbg::dump
