#include "dump/writer/segment_store.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core_engine/base/log.h"
#include "core_engine/base/text.h"
#include "dump/commit_file.h"
#include "dump/reader/segment_reader.h"

namespace msdbg::dump {
namespace {

constexpr std::size_t kManySegments = 200;  // from here on merging does not wait for spare time
constexpr std::size_t kMostSegments = 250;  // from here on a commit waits for it
constexpr auto kStolenTime = std::chrono::milliseconds(20);  // of each commit

// Rows that lie in a file already take no more.
std::uint64_t bytesToWrite(const SegmentImage& image) {
  if (!image.file) return image.size;
  std::uint64_t bytes = 0;
  for (const SegmentImage::Piece& piece : image.pieces) bytes += piece.bytes.size();
  return bytes;
}

constexpr std::uint64_t kLargestReserve = 64u << 20;
constexpr std::uint64_t kPartsOfReserve = 64;  // of --max-size, in which it counts
constexpr std::uint64_t kPartsOfOutliers = 8;  // their statistics are so small a part of what is kept

}  // namespace

// How Retention sees a segment that was just listed.
KeptSegment SegmentStore::keptSegment(const SegmentLine& line, std::uint64_t replayBytes) {
  return {.segment = line.segment,
          .graph = line.graph,
          .first = line.iterations.front(),
          .last = line.iterations.back(),
          .iterations = static_cast<std::int64_t>(line.iterations.size()),
          .bytes = line.bytes,
          .tensorBytes = line.storedBytes,
          .values = line.tensors > 0,
          .dropped = line.tensorsDropped,
          .bare = line.thinned > 0,
          .which = std::make_shared<const core::IterationSet>(line.iterations),
          .checkpoints = line.checkpoints,
          .batches = line.batches,
          .stateBytes = line.stateBytes,
          .batchBytes = line.batchBytes,
          .replayBytes = replayBytes};
}

SegmentStore::SegmentStore(std::filesystem::path folder, int rank, RetentionRules rules, Disk disk,
                           std::shared_ptr<JournalWriter> journal, std::shared_ptr<SpareFile> spareFile)
    : m_folder(std::move(folder)),
      m_rank(rank),
      m_keep(rules.keep),
      m_outliers(rules.maxBytes / kPartsOfOutliers),
      m_retention(std::move(rules)),
      m_disk(std::move(disk)),
      m_journal(std::move(journal)),
      m_spareFile(std::move(spareFile)),
      m_reserve(m_folder),
      m_writer(rank) {}

// Values that wait in a file which could not be completed are read back and written to another; what cannot
// be read will not be readable the next time either.
core::Result<SegmentWriter::Image> SegmentStore::buildReadable(std::int64_t number, Iterations iterations) {
  auto image = m_writer.build(number, iterations, true);
  const auto inFile = [](const auto& row) { return row.second.file != nullptr; };
  const bool waitInFile = std::ranges::any_of(
      iterations, [&](const IterationRecord* record) { return std::ranges::any_of(record->rows, inFile); });
  // What lies in the file already needs little more: the reserve has it.
  if (!image.ok() && waitInFile && m_reserve.release()) image = m_writer.build(number, iterations, true);
  if (image.ok() || !waitInFile) return image;
  core::logWarn(
      "the values of iteration " + std::to_string(iterations[0]->iteration) +
      " and those after it that came with it are lost, only statistics are kept: " + image.error().message());
  m_lostValues = true;
  return m_writer.build(number, iterations, false);
}

// A segment that is larger than the whole budget cannot keep its tensors.
core::Result<SegmentWriter::Image> SegmentStore::buildWithin(std::int64_t number, Iterations iterations) {
  MSDBG_ASSIGN(SegmentWriter::Image image, buildReadable(number, iterations));
  if (!image.hasValues() || image.size <= m_retention.maxBytes()) return image;
  if (!m_tooLarge) {
    core::logWarn(
        "iteration " + std::to_string(iterations[0]->iteration) + " takes " + core::formatBytes(image.size) +
        ", more than this rank's share of --max-size (" + core::formatBytes(m_retention.maxBytes()) +
        "): only statistics are kept; raise --max-size or choose fewer tensors with --record or --tensors");
    m_tooLarge = true;
  }
  return m_writer.build(number, iterations, false);
}

// Where the system does not tell, writing will.
std::uint64_t SegmentStore::spare() const {
  const auto disk = m_disk.space(m_folder);
  return disk.ok() ? spareBytes(*disk, m_disk.keepFree) : DiskSpace::kUnknown;
}

// What `what` names goes until `bytes` more fit on the disk, the oldest values first; false: they do not.
// What goes is counted here: some file systems give it back only later.
core::Result<bool> SegmentStore::freeDisk(std::uint64_t bytes, std::uint64_t spareNow, Goes what) {
  const std::uint64_t before = spareNow + m_retention.bytes();
  std::vector<std::int64_t> merged;
  while (bytes + m_retention.bytes() > before) {
    if (const auto oldest = m_retention.nextDrop(0, true)) {
      MSDBG_TRY(dropTensors(*oldest, Dropped::kGoes));
      continue;
    }
    const Need need{.disk = bytes + m_retention.bytes() - before};
    MSDBG_ASSIGN(const bool did, giveUp(what, need, merged));
    if (!did) return false;
  }
  return true;
}

core::Result<bool> SegmentStore::giveUp(Goes what, const Need& need, std::vector<std::int64_t>& merged) {
  using enum Retention::Newest;
  if (what == Goes::kOlderReplay) return giveUpOlderReplay(need);
  if (what == Goes::kRows) return giveUpSome(need, merged, kStays);
  if (what == Goes::kEverything) return giveUpSome(need, merged, kMayGo);
  return false;
}

// For the room that the rows, checkpoints and batches of a segment take, with that of the next one, the same
// goes of older ones: of each kind as much as comes.
core::Result<bool> SegmentStore::replaceOlder(const SegmentWriter::Image& image, std::uint64_t bytes,
                                              std::uint64_t spareNow) {
  const std::uint64_t all = spareNow + m_retention.bytes();
  const std::uint64_t missing = bytes - std::min(bytes, spareNow);
  MSDBG_TRY(freeDisk(spareNow + std::min(missing, 2 * image.replayBytes), spareNow, Goes::kOlderReplay));
  return freeDisk(bytes, all - std::min(all, m_retention.bytes()), Goes::kRows);
}

void SegmentStore::setDiskShort(bool isShort, std::int64_t iteration, std::uint64_t bytes) {
  if (isShort != m_diskShort) {
    const std::string text =
        m_folder.string() +
        (isShort ? ": the disk has no room for more values (--keep-free): only statistics from iteration " +
                       std::to_string(iteration) + " on, until there is room again"
                 : ": the disk has room again: values are recorded from now on");
    m_shortages > 1 ? core::logInfo(text) : core::logWarn(text);
    if (!isShort) ++m_shortages;
  }
  m_diskShort = isShort;
  m_didNotFit = std::max(bytes, m_didNotFit);
}

// What comes now takes the place of older values, checkpoints and batches, where these make room for two of
// it: else a disk that was short for a moment would stay so. Returns the room that there is then.
core::Result<std::uint64_t> SegmentStore::endShortage(std::uint64_t spareNow) {
  const std::uint64_t wanted = 2 * m_didNotFit + 1, all = spareNow + m_retention.bytes();
  if (spareNow + m_retention.olderBytes() < wanted) return spareNow;
  MSDBG_ASSIGN(const bool roomy, freeDisk(wanted, spareNow, Goes::kOlderReplay));
  if (roomy) setDiskShort(false, 0, 0);
  return all - std::min(all, m_retention.bytes());
}

// Rows of the next segment may be written to the disk while they come in, so there has to be room for it too.
core::Result<SegmentWriter::Image> SegmentStore::fitDisk(SegmentWriter::Image image, std::int64_t number,
                                                         Iterations iterations) {
  if (m_spareFile && (m_diskShort || bytesToWrite(image) + image.size > spare())) m_spareFile->discard();
  std::uint64_t spareNow = spare();
  if (m_diskShort) {
    MSDBG_ASSIGN(spareNow, endShortage(spareNow));
  }
  const std::uint64_t needed = bytesToWrite(image), before = spareNow + m_retention.bytes();
  const std::uint64_t size = std::max<std::uint64_t>(image.size, m_wanted);
  const std::uint64_t next = image.tensors > 0 ? 0 : image.size;  // rows of the next one, as many as of this
  const bool replays = image.replayBytes > 0, onlyReplays = replays && image.tensors == 0;
  // Values, and those to come, which m_wanted tells of, are no reason to give up statistics.
  const core::Result<bool> roomy = onlyReplays ? replaceOlder(image, needed + size, spareNow)
                                               : freeDisk(needed + size, spareNow, Goes::kValues);
  if (!roomy.ok()) return roomy.error();
  const auto room = [&] { return before - std::min(before, m_retention.bytes()); };
  const bool noMoreValues = !*roomy && image.hasValues();
  if (noMoreValues && needed > room()) {
    MSDBG_ASSIGN(const bool replaces, replays ? freeDisk(needed, room(), Goes::kOlderReplay) : false);
    if (!replaces) {
      MSDBG_ASSIGN(image, m_writer.build(number, iterations, false));
    }
  }
  bool fits = *roomy || bytesToWrite(image) + next <= room();
  if (!fits) {
    MSDBG_TRY(freeDisk(bytesToWrite(image) + next, room(), Goes::kRows));
    MSDBG_ASSIGN(fits, freeDisk(bytesToWrite(image), room(), Goes::kEverything));
  }
  if (fits && noMoreValues) setDiskShort(true, iterations.back()->iteration + 1, size);
  if (fits) return image;
  return core::Error(core::ErrorCode::kIo, "the disk of " + m_folder.string() + " has room for " +
                                               core::formatBytes(room()) +
                                               " more (--keep-free), and the statistics alone take " +
                                               core::formatBytes(image.size));
}

core::Status SegmentStore::commit(Iterations iterations) {
  MSDBG_TRY(m_journal->checkPlace());
  removeLeft();
  SegmentLine line;
  line.segment = m_next++;
  line.graph = iterations[0]->plan->version;
  for (const IterationRecord* record : iterations) line.iterations.push_back(record->iteration);
  line.incomplete = !iterations.back()->complete;
  MSDBG_ASSIGN(SegmentWriter::Image image, buildWithin(line.segment, iterations));
  MSDBG_ASSIGN(image, fitDisk(image, line.segment, iterations));
  const bool hadNoRoom = std::ranges::any_of(iterations, &IterationRecord::valuesDropped);
  line.tensorsDropped = !image.hasValues() && (onlyStatistics() || hadNoRoom || !iterations[0]->rows.empty());
  // Where rows come in as files, those of the next segment lie there already, and perhaps one to be used
  // again.
  const std::uint64_t files = image.file ? image.size + (m_spareFile ? m_spareFile->bytes() : 0) : 0;
  knowPlan(*iterations[0]->plan);
  if (image.tensors > 0) {
    MSDBG_TRY(dropFor(image.size + files + m_reserve.bytes()));
  } else {
    MSDBG_TRY(thinFor({.incoming = image.size + files, .replay = image.replayBytes + files}));
  }
  MSDBG_TRY(add(line, image, m_spareFile.get()));
  if (image.storedBytes > 0)
    m_compressed =
        std::max(1.0, static_cast<double>(image.rawBytes) / static_cast<double>(image.storedBytes));
  for (const IterationRecord* record : iterations) {
    m_outliers.add(*record);
    if (record->anew) m_retention.beginsAnew(record->iteration);
  }
  holdReserve(image);
  m_hadCheckpoint = m_hadCheckpoint || !line.checkpoints.empty();
  m_retention.add(keptSegment(line, image.replayBytes));
  MSDBG_TRY(dropFor(0));
  MSDBG_TRY(thinFor({}));
  planQuietThinning();
  planMerge();
  // Without a quiet moment the files would become ever more.
  if (m_retention.segments().size() < kManySegments) return core::Ok{};
  const Clock::time_point stolen = Clock::now() + kStolenTime;
  const core::Result<bool> merged = spareWork(stolen, stolen);
  if (!merged.ok()) return merged.error();
  while (m_retention.segments().size() >= kMostSegments && hasSpareWork()) MSDBG_TRY(spareStep());
  return core::Ok{};
}

std::uint64_t SegmentStore::rawRoomForValues() const {
  return static_cast<std::uint64_t>(m_compressed * static_cast<double>(m_retention.roomForValues()));
}

core::Status SegmentStore::add(SegmentLine& line, const SegmentWriter::Image& image, SpareFile* spareFile) {
  line.file = segmentFileName(line.segment);
  line.bytes = image.size;
  line.rawBytes = image.rawBytes;
  line.storedBytes = image.storedBytes;
  line.tensors = image.tensors;
  line.checkpoints = image.checkpoints;
  line.batches = image.batches;
  line.stateBytes = image.stateBytes;
  line.batchBytes = image.batchBytes;
  const auto write = [&] {
    return commitImage(m_folder / line.file, image, spareFile, m_writeDirect ? m_direct : nullptr);
  };
  core::Result<core::Hash128> hash = write();
  if (!hash.ok() && m_reserve.release()) hash = write();  // training took the room meanwhile
  if (!hash.ok()) return hash.error();
  line.hash = hash->text();
  m_bytesWritten += line.bytes;
  list(line);
  return core::Ok{};
}

// A line that is not durable yet is kept by the journal, and the recorder sees to it that it will be; until
// then the segment is found without it.
void SegmentStore::list(const SegmentLine& line) { (void)m_journal->append(formatSegment(line)); }

core::Status SegmentStore::dropFor(std::uint64_t incoming) {
  while (const auto oldest = m_retention.nextDrop(incoming))
    MSDBG_TRY(dropTensors(*oldest, Dropped::kIsKeptForReuse));
  return core::Ok{};
}

// The copy is durable and listed before the original goes, so that a crash at any point loses nothing else. A
// disk that is full to its last byte has no room for the copy but the reserve, and where that is too little,
// for one without the checkpoint.
core::Status SegmentStore::dropTensors(std::int64_t segment, Dropped how) {
  m_dropped = true;
  if (m_merge && std::ranges::count(m_merge->old(), segment)) m_merge.reset();
  const auto none = [](std::int64_t) { return false; };
  const MergeSelection all{.values = false}, rows{.values = false, .checkpoints = none, .batches = none};
  const MergeSelection& wanted = m_retention.unwanted(segment) ? rows : all;
  core::Status done = rewriteWith(segment, wanted, how);
  const auto failedIo = [&] { return !done.ok() && done.error().code() == core::ErrorCode::kIo; };
  if (failedIo() && m_reserve.release()) done = rewriteWith(segment, wanted, how);
  if (failedIo() && m_retention.segment(segment).stateBytes > 0) done = rewriteWith(segment, rows, how);
  if (failedIo()) return done;
  if (!done.ok()) return cannotDrop(segment, done.error()), core::Ok{};
  m_reserve.hold(m_reserveBytes);  // of the room that this made, before others take it
  return core::Ok{};
}

core::Status SegmentStore::rewriteWith(std::int64_t segment, const MergeSelection& rest, Dropped how) {
  SegmentRewrite rewrite(m_folder, m_rank, m_next++, {segment}, {rest});
  core::Result<bool> done = false;
  do done = rewrite.step();
  while (done.ok() && !*done);
  if (!done.ok()) return done.error();
  listRewritten(rewrite, 1, true, how);
  return core::Ok{};
}

// Enough for the copy of what stays when the values of a segment like this one go. A checkpoint lies in its
// values as long as they are there.
// A disk with more room than the run may take will not be short of so little.
void SegmentStore::holdReserve(const SegmentWriter::Image& image) {
  if (spare() > m_retention.maxBytes()) {
    (void)m_reserve.release();
    return;
  }
  if (image.hasValues()) {
    const std::uint64_t rest = image.size - std::min(image.size, image.storedBytes) + image.stateBytes;
    const std::uint64_t most = std::min(kLargestReserve, m_retention.maxBytes() / kPartsOfReserve);
    m_reserveBytes = std::min(std::max(m_reserveBytes, rest), most);
  }
  m_reserve.hold(m_reserveBytes);
}

// Somebody removed or damaged it. Its statistics cannot be copied, so it stays as it is.
void SegmentStore::cannotDrop(std::int64_t segment, const core::Error& error) {
  core::logWarn("the values of a segment cannot be dropped, which --max-size or --keep-free asks for: " +
                error.message());
  m_retention.cannotDrop(segment);
}

// Only when the line is durable that says what stands for it. What cannot be removed costs some room, and is
// no reason to stop.
void SegmentStore::remove(const std::filesystem::path& file, Dropped how) {
  if (m_spareFile && how == Dropped::kIsKeptForReuse && !m_journal->isBehind() &&
      m_spareFile->offer(file).ok())
    return;
  m_left.push_back(file);
  removeLeft();
}

void SegmentStore::removeLeft() {
  if (m_left.empty() || m_journal->isBehind()) return;
  const auto remove = [](const auto& file) { return ::unlink(file.c_str()) == 0 || errno == ENOENT; };
  std::erase_if(m_left, remove);
  if (m_left.empty() || std::exchange(m_saidLeft, true)) return;
  core::logWarn(ioError("cannot remove", m_left.front()).message() + "; it is tried again later");
}

void SegmentStore::planMerge() {
  if (m_merge || m_rewrite) return;
  m_plan = m_retention.nextMerge();
  std::uint64_t bytes = 0;
  for (const KeptSegment& segment : m_retention.segments())
    if (std::ranges::count(m_plan, segment.segment)) bytes += segment.bytes;
  if (bytes > spare()) m_plan.clear();  // the old files go only after the new one is there
}

core::Result<bool> SegmentStore::spareWork(Clock::time_point until, Clock::time_point due) {
  bool did = false;
  const auto fits = [&](Clock::time_point now) { return now < until && m_longestStep < due - now; };
  for (Clock::time_point now = Clock::now(); hasSpareWork() && fits(now); did = true) {
    MSDBG_TRY(spareStep());
    const Clock::time_point before = std::exchange(now, Clock::now());
    m_longestStep = std::max(now - before, m_longestStep);
  }
  m_longestStep = m_longestStep * 3 / 4;  // one that was slow once is tried again
  return did;
}

core::Status SegmentStore::spareStep() {
  if (!m_rewrite) return mergeStep();
  const core::Result<bool> did = rewriteStep();
  return did.ok() ? core::Status() : core::Status(did.error());
}

core::Status SegmentStore::mergeStep() {
  MSDBG_TRY(m_journal->checkPlace());
  if (!m_merge)
    m_merge = std::make_unique<BackgroundMerge>(m_folder, m_rank, m_next++, std::exchange(m_plan, {}));
  const core::Result<bool> done = m_merge->step();
  if (!done.ok())
    giveUpMerge(done.error());
  else if (*done)
    listMerged();
  return core::Ok{};
}

// What cannot be merged stays as it is. Where the disk refuses, the next commit will tell, or the next try
// works.
void SegmentStore::giveUpMerge(const core::Error& error) {
  core::logInfo("segments are not merged now: " + error.message());
  if (error.code() != core::ErrorCode::kIo) m_retention.cannotMerge(m_merge->old());
  m_merge.reset();
  if (error.code() != core::ErrorCode::kIo) planMerge();
}

// The new file counts from its line on, and only then the old ones go.
void SegmentStore::listMerged() {
  SegmentLine line = m_merge->line();
  const std::uint64_t replayBytes = m_merge->replayBytes();
  m_merge.reset();
  int level = 0;
  for (const std::int64_t old : line.replaces) level = std::max(level, m_retention.segment(old).level);
  const KeptSegment first = m_retention.segment(line.replaces[0]);
  line.tensorsDropped = first.dropped;
  list(line);
  KeptSegment kept = keptSegment(line, replayBytes);
  kept.level = level + 1;
  kept.step = first.step;
  m_retention.replace(line.replaces, kept);
  for (const std::int64_t old : line.replaces) remove(m_folder / segmentFileName(old), Dropped::kGoes);
  planMerge();
}

}  // namespace msdbg::dump
