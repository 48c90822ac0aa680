// SegmentStore: the rank's folder as the recorder sees it: commits segments with their journal lines, and
// does what Retention says: segments of which something is to go are written again without it
// (segment_store_thinning.cpp). Used by the background thread only.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "dump/journal.h"
#include "dump/writer/background_merge.h"
#include "dump/writer/disk_reserve.h"
#include "dump/writer/disk_space.h"
#include "dump/writer/outliers.h"
#include "dump/writer/retention.h"
#include "dump/writer/segment_rewrite.h"
#include "dump/writer/segment_writer.h"

namespace msdbg::dump {

class SegmentStore {
 public:
  using Clock = std::chrono::steady_clock;

  struct Disk {
    std::optional<std::uint64_t> keepFree;  // bytes that nobody else is to miss; unset: the default
    AskDisk space = diskSpace;
  };
  SegmentStore(std::filesystem::path folder, int rank, RetentionRules rules, Disk disk,
               std::shared_ptr<JournalWriter> journal, std::shared_ptr<SpareFile> spareFile = {});

  SegmentWriter& writer() { return m_writer; }
  /// Whether what is committed from memory goes past the page cache.
  void writeDirect(bool on) { m_writeDirect = on; }
  /// What comes next needs so much of the disk: each commit from now on leaves it.
  void wantRoom(std::uint64_t bytes) { m_wanted = bytes; }
  /// On success the segment is durable, and listed as soon as the journal can be written to. Any error leaves
  /// what was committed before as it is; kIo: another try may work.
  core::Status commit(std::span<const IterationRecord* const> iterations);
  /// What the rules say now of what is there: what they say of an iteration may have changed since.
  core::Status applyRules() { return dropFor(0); }
  /// Of this rank: the statistics of its iteration stay.
  void keepHit(const HitLine& hit) { m_outliers.addHit(hit.iteration); }
  /// Segments wait to be thinned or merged.
  bool hasSpareWork() const { return m_rewrite || m_merge || !m_plan.empty(); }
  /// Thins and merges in small steps until `until`, each of which is likely to end before `due`; false: none
  /// was. An error: the folder is gone, nothing more can be committed.
  core::Result<bool> spareWork(Clock::time_point until, Clock::time_point due);
  /// Lets go of the journal (and so of its lock); nothing is committed after this.
  void release() {
    m_merge.reset();
    m_rewrite.reset();
    m_journal.reset();
    m_reserve.release();
    if (m_spareFile) m_spareFile->discard();
  }
  /// Copies of tensors are of no use now: an iteration alone exceeds maxBytes, or the disk has no room.
  bool onlyStatistics() const { return m_tooLarge || m_diskShort; }
  /// There were checkpoints, and the last was dropped with its segment, or soon will be: from what is left
  /// nothing could be computed again until the next one.
  bool wantsCheckpoint() const { return m_hadCheckpoint && m_retention.wantsCheckpoint(); }
  /// Values were dropped for newer ones, so what is dropped next should be of no use to what stays.
  bool limited() const { return m_dropped; }
  /// Of values that come in, before compression, as many as may stay: more would only drop one another.
  std::uint64_t rawRoomForValues() const;
  std::uint64_t bytesWritten() const { return m_bytesWritten; }
  /// Values were lost since the last call: their file could not be read back.
  bool takeLostValues() { return std::exchange(m_lostValues, false); }

 private:
  using Iterations = std::span<const IterationRecord* const>;
  core::Result<SegmentWriter::Image> buildWithin(std::int64_t number, Iterations iterations);
  core::Result<SegmentWriter::Image> buildReadable(std::int64_t number, Iterations iterations);
  core::Result<SegmentWriter::Image> fitDisk(SegmentWriter::Image image, std::int64_t number,
                                             Iterations iterations);
  // That can; rows, with older checkpoints and batches; everything, with the newest too.
  enum class Goes { kValues, kOlderReplay, kRows, kEverything };
  core::Result<bool> freeDisk(std::uint64_t bytes, std::uint64_t spareNow, Goes what);
  core::Result<bool> giveUp(Goes what, const Need& need, std::vector<std::int64_t>& merged);
  core::Result<bool> replaceOlder(const SegmentWriter::Image& image, std::uint64_t bytes,
                                  std::uint64_t spareNow);
  core::Result<std::uint64_t> endShortage(std::uint64_t spareNow);
  void setDiskShort(bool isShort, std::int64_t iteration, std::uint64_t bytes);
  enum class Dropped { kIsKeptForReuse, kGoes };  // its file
  core::Status dropTensors(std::int64_t segment, Dropped how);
  void cannotDrop(std::int64_t segment, const core::Error& error);
  core::Status rewriteWith(std::int64_t segment, const MergeSelection& rest, Dropped how);
  void holdReserve(const SegmentWriter::Image& image);
  void list(const SegmentLine& line);
  void remove(const std::filesystem::path& file, Dropped how);
  void removeLeft();
  core::Status dropFor(std::uint64_t incoming);
  void planMerge();
  core::Status spareStep();
  core::Status mergeStep();
  void giveUpMerge(const core::Error& error);
  void listMerged();
  void knowPlan(const GraphPlan& plan);
  bool keepsStatistics(std::int64_t iteration, std::int64_t step) const;
  void measure();
  bool planThinning(const Need& need);
  void beginThinning(const std::vector<std::int64_t>& old, std::int64_t step, const core::IterationSet& all,
                     bool anyKept);
  bool planReplay(const Need& need, Retention::Newest newest);
  core::Result<bool> giveUpOlderReplay(const Need& need);
  bool planUseless();
  void beginWithout(const ReplayPlan& plan);
  void begin(const std::vector<std::int64_t>& old, std::int64_t step, std::vector<MergeSelection> files);
  core::Result<bool> rewriteStep();
  void cannotRewrite(const std::vector<std::int64_t>& old, const core::Error& error);
  void listRewritten(SegmentRewrite& rewrite, std::int64_t step, bool dropped, Dropped how);
  core::Result<bool> giveUpSome(const Need& need, std::vector<std::int64_t>& before,
                                Retention::Newest newest = Retention::Newest::kMayGo);
  core::Status thinFor(const Need& need);
  core::Result<bool> mergeFew(std::size_t width, std::vector<std::int64_t>& before);
  void sayTooMuch();
  void planQuietThinning();
  static KeptSegment keptSegment(const SegmentLine& line, std::uint64_t replayBytes);
  std::uint64_t spare() const;
  core::Status add(SegmentLine& line, const SegmentWriter::Image& image, SpareFile* spareFile = nullptr);

  std::filesystem::path m_folder;
  int m_rank;
  std::function<Keep(std::int64_t first, std::int64_t last)> m_keep;
  Outliers m_outliers;
  Retention m_retention;
  Disk m_disk;
  std::shared_ptr<JournalWriter> m_journal;
  std::shared_ptr<SpareFile> m_spareFile;
  DiskReserve m_reserve;
  std::uint64_t m_reserveBytes = 0;  // that it should have
  SegmentWriter m_writer;
  std::int64_t m_next = 0;
  std::uint64_t m_bytesWritten = 0;
  std::shared_ptr<DirectBuffer> m_direct = std::make_shared<DirectBuffer>();
  bool m_writeDirect = false;
  bool m_tooLarge = false, m_hadCheckpoint = false, m_diskShort = false, m_dropped = false;
  bool m_loose = false;              // a checkpoint went: nothing may lead to some batches any more
  std::uint64_t m_didNotFit = 0;     // bytes of the segment for which the disk had no room
  int m_shortages = 0;               // of the disk, that ended
  double m_compressed = 1;           // raw bytes for one that is stored, of the last values; 1 at least
  std::uint64_t m_wanted = 0;        // of the disk, by what comes next
  std::vector<std::int64_t> m_plan;  // to be merged next
  std::unique_ptr<BackgroundMerge> m_merge;
  Clock::duration m_longestStep{};
  std::vector<std::filesystem::path> m_left;  // files that no reader needs and that could not be removed yet
  bool m_saidLeft = false, m_lostValues = false, m_saidTooMuch = false;
  std::unique_ptr<SegmentRewrite> m_rewrite;                     // of old rows, checkpoints or batches
  std::int64_t m_rewriteStep = 1;                                // of what it makes: KeptSegment::step
  std::map<std::int64_t, std::set<std::string>> m_batchTensors;  // full names, by graph version
  std::uint64_t m_runBytes = 0;                                  // of the run's own files
};

}  // namespace msdbg::dump
