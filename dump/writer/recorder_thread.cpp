#include <signal.h>

#include <cmath>

#include "core_engine/base/log.h"
#include "core_engine/base/text.h"
#include "dump/writer/disk_space.h"
#include "dump/writer/recorder_internal.h"

namespace msdbg::dump {
namespace {

constexpr std::uint64_t kLargestSegment = 4ull << 30;

double unixTime() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

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
  pending.commitWithin(std::chrono::milliseconds(std::llround(what.commitSeconds * 1000)));
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
  listHits();
  const WritingWay way = writing.load().way;
  store.writeDirect(way.direct && !way.inTeam);
  store.wantRoom(wantedRoom.exchange(0));
  const core::Status status = store.commit(records);
  bytesWritten = store.bytesWritten();
  onlyStatistics = store.onlyStatistics();
  limited = store.limited();
  if (store.wantsCheckpoint()) schedule.request();
  if (!status.ok()) return endure(status.error().in("iteration " + std::to_string(records[0]->iteration)));
  pending.committed(segment, PendingIterations::Clock::now() - start);
  recordedAny = true;
  settleJournal();
  if (!journal->isBehind()) recovered();
}

// Lines that are not durable yet are kept by the journal: see settleJournal().
void Recorder::Impl::listHits() {
  if (!hits) return;
  const std::vector<std::string> lines = hits->takeLines();
  store.keepHits(lines);
  if (!lines.empty()) (void)journal->append(lines);
}

void Recorder::Impl::settleJournal() {
  core::Status status = journal->flush();
  while (!status.ok() && pending.status().ok() &&
         !(trouble && trouble->ended && trouble->pauses.longEnough())) {
    endure(status.error());
    status = journal->flush();
  }
}

// What was undecided when the last segment was committed may be decided now.
void Recorder::Impl::settle() {
  if (!pending.status().ok()) return;
  listHits();
  if (hits) {
    const core::Status status = store.applyRules();
    if (!status.ok()) core::logWarn("values that are not near a hit stay: " + status.error().message());
  }
  settleJournal();
  noteLost(pending.takeGivenUp());
}

bool Recorder::Impl::spareWork(const PendingIterations::Spare& moment) {
  const core::Result<bool> did = store.spareWork(moment.until, moment.due);
  if (!did.ok()) fail(did.error());
  return did.ok() && *did;
}

// --on-error says whether training is worth going on while something is missing; unless it says so, a
// recording that never began is not.
bool Recorder::Impl::mayLose() const {
  return options.onError ? *options.onError == OnError::kContinue : recordedAny.load();
}

// After this the same is tried again, unless recording stopped.
void Recorder::Impl::endure(const core::Error& error) {
  if (error.code() != core::ErrorCode::kIo || !journal->checkPlace().ok()) return fail(error);
  if (!trouble) {
    trouble = {error, unixTime(), Pauses(place.patience)};
    core::logWarn("rank " + std::to_string(place.rank.value) + ": " + error.message() + whatToDo(folder) +
                  "; it is tried again, and training goes on meanwhile");
    pending.refused();
  }
  if (pending.closed() && !std::exchange(trouble->ended, true)) trouble->pauses = Pauses(place.patience);
  const bool full = pending.pauseFor(trouble->pauses.next());
  const bool tooLong = trouble->pauses.longEnough() && (trouble->ended || !mayLose());
  if (!full && !tooLong) return;
  if (!mayLose() && !trouble->ended) return fail(error);
  if (trouble->ended && tooLong)
    pending.giveUpAll();
  else
    pending.giveUpSome();
}

void Recorder::Impl::recovered() {
  if (!trouble) return;
  const PendingIterations::GivenUp lost = pending.takeGivenUp();
  const std::string after = core::formatShort(unixTime() - trouble->since, 2) + " s";
  core::logInfo("rank " + std::to_string(place.rank.value) + ": recording goes on after " + after);
  noteLost(lost);
  trouble.reset();
}

// In the journal, on the terminal, and in what finish() returns.
void Recorder::Impl::noteLost(const PendingIterations::GivenUp& lost) {
  if (store.takeLostValues() || lost.values || lostValues)
    complete = core::Error(core::ErrorCode::kIo, "the values of some iterations could not be written");
  if (lost.iterations.empty()) return;
  GapLine gap{core::formatRanges(lost.iterations), "", 0, unixTime()};
  if (trouble) gap.why = trouble->error.message(), gap.from = trouble->since;
  complete =
      core::Error(core::ErrorCode::kIo, std::to_string(lost.iterations.size()) + " iterations are missing (" +
                                            gap.iterations + "): " + gap.why);
  core::logError("rank " + std::to_string(place.rank.value) + ": " + complete.error().message());
  (void)journal->append(formatGap(gap));
  settleJournal();
}

void Recorder::Impl::fail(const core::Error& error) {
  if (!pending.status().ok()) return;  // said already
  gaveUp = !mayLose();
  const core::Error why(error.code(), error.message() + whatToDo(folder));
  const bool here = journal && journal->checkPlace().ok();
  core::logError(
      "rank " + std::to_string(place.rank.value) + ": recording stopped: " + why.message() + "; " +
      (!gaveUp ? "training goes on unrecorded"
       : options.onError
           ? "training is stopped (--on-error stop)"
           : "training is stopped, for nothing was recorded (--on-error continue lets it go on)") +
      (here ? ", and what was recorded before stays readable"
            : ", and what was recorded before is where the run was moved to, unless it was removed"));
  pending.fail(why);
}

}  // namespace msdbg::dump
