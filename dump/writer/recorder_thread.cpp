#include <signal.h>

#include "core_engine/base/log.h"
#include "dump/writer/disk_space.h"
#include "dump/writer/recorder_internal.h"

namespace msdbg::dump {
namespace {

constexpr std::uint64_t kLargestSegment = 4ull << 30;

// Four segments fit into a rank's share, so that dropping one keeps most of what may be kept, and six where
// values are written at once, for those lie on the disk before old ones go. That share is no more than what
// the disk has to spare. Values that wait in memory take half of it at most. A segment may become a third
// larger than is said here (PendingIterations::belongsTo).
std::uint64_t segmentBytes(const RecordOptions& options, const Recorder::Place& place, bool inMemory) {
  const auto ranks = static_cast<std::uint64_t>(std::max(1, place.ranks));
  const auto disk = diskSpace(place.run);
  const std::uint64_t spare = disk.ok() ? spareBytes(*disk, options.keepFree) : options.maxBytes;
  const std::uint64_t share = std::min(options.maxBytes, spare) / ranks;
  const std::uint64_t most =
      inMemory ? std::min(options.bufferBytes / 8 * 3, share / 16 * 3) : std::min(kLargestSegment, share / 8);
  return std::max<std::uint64_t>(1, most);
}

}  // namespace

Recorder::Impl::Impl(const Place& where, const RecordOptions& what, std::shared_ptr<JournalWriter> lines,
                     std::unique_ptr<HitWatch> watch)
    : place(where),
      options(what),
      folder(where.run / ("rank_" + std::to_string(where.rank.value))),
      journal(std::move(lines)),
      spareFile(std::make_shared<SpareFile>(folder)),
      hits(std::move(watch)),
      firstFault(where.rank, where.ranks),
      pool(what.bufferBytes),
      pending(what.bufferBytes, segmentBytes(what, where, true), windows()),
      rows({folder, where.threads, what.compress, spareFile, where.pace}, ways(), pool, clock),
      store(folder, static_cast<int>(where.rank.value), retention(), what.keepFree, journal, spareFile),
      segmentInMemory(segmentBytes(what, where, true)),
      segmentInFile(segmentBytes(what, where, false)) {
  store.writer().configure(what.compress, &clock);
}

// Signals are the training thread's: their handlers only wake this one.
void Recorder::Impl::start() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread = std::thread([this] { work(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Recorder::Impl::work() {
  bool spare = true;  // the last quiet moment was long enough for something
  while (true) {
    const PendingIterations::Work work = pending.next(spare && store.hasSpareWork());
    if (std::holds_alternative<PendingIterations::Stop>(work)) return settle();
    if (const auto* job = std::get_if<PendingIterations::Encode>(&work)) {
      store.writer().encode(job->key, *job->row);
      pending.encoded(*job);
    } else if (const auto* moment = std::get_if<PendingIterations::Spare>(&work)) {
      spare = spareWork(*moment);
    } else {
      commit(std::get<PendingIterations::Commit>(work));
      spare = true;
    }
  }
}

void Recorder::Impl::commit(const PendingIterations::Commit& segment) {
  const auto start = PendingIterations::Clock::now();
  std::vector<const IterationRecord*> records;
  for (const auto& record : segment.records) records.push_back(record.get());
  core::Status status = listHits();
  const WritingWay way = writing.load().way;
  store.writeDirect(way.direct && !way.inTeam);
  store.wantRoom(wantedRoom.exchange(0));
  if (status.ok()) status = store.commit(records);
  bytesWritten = store.bytesWritten();
  onlyStatistics = store.onlyStatistics();
  limited = store.limited();
  if (store.wantsCheckpoint()) schedule.request();
  if (!status.ok()) return fail(status.error().in("iteration " + std::to_string(records[0]->iteration)));
  pending.committed(segment, PendingIterations::Clock::now() - start);
}

core::Status Recorder::Impl::listHits() {
  if (!hits) return core::Ok{};
  const std::vector<std::string> lines = hits->takeLines();
  return lines.empty() ? core::Ok{} : journal->append(lines);
}

// What was undecided when the last segment was committed may be decided now.
void Recorder::Impl::settle() {
  if (!hits || !pending.status().ok()) return;
  core::Status status = listHits();
  if (status.ok()) status = store.applyRules();
  if (!status.ok()) fail(status.error());
}

bool Recorder::Impl::spareWork(const PendingIterations::Spare& moment) {
  const core::Result<bool> did = store.spareWork(moment.until, moment.due);
  if (!did.ok()) fail(did.error());
  return did.ok() && *did;
}

void Recorder::Impl::fail(const core::Error& error) {
  if (!pending.status().ok()) return;  // said already
  const core::Error why(error.code(), error.message() + whatToDo(folder));
  core::logError("rank " + std::to_string(place.rank.value) + ": recording stopped: " + why.message() + "; " +
                 (options.onError == OnError::kStop ? "training is stopped (--on-error stop)"
                                                    : "training goes on unrecorded") +
                 (journal && !journal->checkPlace().ok()
                      ? ", and what was recorded before is where the run was moved to, unless it was removed"
                      : ", and what was recorded before stays readable"));
  pending.fail(why);
}

}  // namespace msdbg::dump
