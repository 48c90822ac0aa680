#include "dump/writer/disk_side.h"

#include <signal.h>

#include "core_engine/base/log.h"
#include "core_engine/base/text.h"
#include "dump/writer/disk_space.h"

namespace msdbg::dump {

DiskSide::DiskSide(Recording& recording)
    : m_recording(recording),
      m_pending(recording.pending),
      m_store(recording.folder, static_cast<int>(recording.place.rank.value), retention(recording),
              {recording.options.keepFree, recording.place.disk}, recording.journal, recording.spareFile) {
  m_store.writer().configure(recording.options.compress, &recording.clock);
}

RetentionRules DiskSide::retention(Recording& recording) {
  // Who asks for checkpoints and batches wants them rather than old rows; who does not has most of the rows.
  const RecordOptions& what = recording.options;
  const bool asked = what.restPolicy() == Policy::kRecord || what.checkpointEvery || what.batches;
  RetentionRules rules{.maxBytes = recording.share(),
                       .keepLast = recording.options.keepLast,
                       .keep = {},
                       .quartersForRows = asked ? 1 : 3};
  rules.keep = [&](auto first, auto last) { return recording.firstFault.keep(first, last); };
  if (recording.spools())
    rules.keep = [&](auto first, auto last) { return recording.hits->windows().keep(first, last); };
  return rules;
}

// Signals are the training thread's: their handlers only wake this one.
void DiskSide::start() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  m_thread = std::thread([this] { work(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void DiskSide::work() {
  bool spare = true;  // the last quiet moment was long enough for something
  while (true) {
    const PendingIterations::Work work = m_pending.next(spare && m_store.hasSpareWork());
    if (std::holds_alternative<PendingIterations::Stop>(work)) return settle();
    if (const auto* job = std::get_if<PendingIterations::Encode>(&work)) {
      m_store.writer().encode(job->key, *job->row);
      m_pending.encoded(*job);
    } else if (const auto* moment = std::get_if<PendingIterations::Spare>(&work)) {
      spare = spareWork(*moment);
    } else {
      commit(std::get<PendingIterations::Commit>(work));
      spare = true;
    }
  }
}

void DiskSide::commit(const PendingIterations::Commit& segment) {
  const auto start = PendingIterations::Clock::now();
  std::vector<const IterationRecord*> records;
  for (const auto& record : segment.records) records.push_back(record.get());
  listHits();
  const WritingWay way = m_recording.writing.load().way;
  m_store.writeDirect(way.direct && !way.inTeam);
  m_store.wantRoom(m_recording.wantedRoom);
  const core::Status status = m_store.commit(records);
  m_bytesWritten = m_store.bytesWritten();
  m_recording.onlyStatistics = m_store.onlyStatistics();
  m_recording.limited = m_store.limited();
  if (m_store.limited() && !m_recording.spools())
    m_pending.keepNewest(m_store.rawRoomForValues(), [this](std::int64_t iteration) {
      return m_recording.firstFault.keep(iteration, iteration) > Keep::kYes;
    });
  if (m_store.wantsCheckpoint()) m_recording.schedule.request();
  if (!status.ok()) return endure(status.error().in("iteration " + std::to_string(records[0]->iteration)));
  m_pending.committed(segment, PendingIterations::Clock::now() - start);
  m_recording.recordedAny = true;
  settleJournal();
  if (!m_recording.journal->isBehind()) recovered();
}

// Lines that are not durable yet are kept by the journal: see settleJournal().
void DiskSide::listHits() {
  if (!m_recording.hits) return;
  std::vector<std::string> lines;
  for (const HitLine& hit : m_recording.hits->takeHits()) {
    m_store.keepHit(hit);
    lines.push_back(formatHit(hit));
  }
  if (!lines.empty()) (void)m_recording.journal->append(lines);
}

void DiskSide::settleJournal() {
  core::Status status = m_recording.journal->flush();
  while (!status.ok() && m_pending.status().ok() &&
         !(m_trouble && m_trouble->ended && m_trouble->pauses.longEnough())) {
    endure(status.error());
    status = m_recording.journal->flush();
  }
}

// What was undecided when the last segment was committed may be decided now.
void DiskSide::settle() {
  if (!m_pending.status().ok()) return;
  listHits();
  if (m_recording.hits) {
    const core::Status status = m_store.applyRules();
    if (!status.ok()) core::logWarn("values that are not near a hit stay: " + status.error().message());
  }
  settleJournal();
  noteLost(m_pending.takeGivenUp());
}

bool DiskSide::spareWork(const PendingIterations::Spare& moment) {
  const core::Result<bool> did = m_store.spareWork(moment.until, moment.due);
  if (!did.ok()) m_recording.fail(did.error());
  return did.ok() && *did;
}

// After this the same is tried again, unless recording stopped.
void DiskSide::endure(const core::Error& error) {
  if (error.code() != core::ErrorCode::kIo || !m_recording.journal->checkPlace().ok())
    return m_recording.fail(error);
  if (!m_trouble) {
    m_trouble = {error, unixTime(), Pauses(m_recording.place.patience)};
    core::logWarn(m_recording.rankText() + ": " + error.message() + whatToDo(m_recording.folder) +
                  "; it is tried again, and training goes on meanwhile");
    m_pending.refused();
  }
  if (m_pending.closed() && !std::exchange(m_trouble->ended, true))
    m_trouble->pauses = Pauses(m_recording.place.patience);
  const bool full = m_pending.pauseFor(m_trouble->pauses.next());
  const bool tooLong = m_trouble->pauses.longEnough() && (m_trouble->ended || !m_recording.mayLose());
  if (!full && !tooLong) return;
  if (!m_recording.mayLose() && !m_trouble->ended) return m_recording.fail(error);
  if (m_trouble->ended && tooLong)
    m_pending.giveUpAll();
  else
    m_pending.giveUpSome();
}

void DiskSide::recovered() {
  if (!m_trouble) return;
  const PendingIterations::GivenUp lost = m_pending.takeGivenUp();
  const std::string after = core::formatShort(unixTime() - m_trouble->since, 2) + " s";
  core::logInfo(m_recording.rankText() + ": recording goes on after " + after);
  noteLost(lost);
  m_trouble.reset();
}

// In the journal, on the terminal, and in what finish() returns.
void DiskSide::noteLost(const PendingIterations::GivenUp& lost) {
  if (m_store.takeLostValues() || lost.values) m_recording.lostValues = true;
  if (lost.iterations.empty()) return;
  GapLine gap{lost.iterations, "", 0, unixTime()};
  if (m_trouble) gap.why = m_trouble->error.message(), gap.from = m_trouble->since;
  if (m_missing.empty()) m_whyMissing = gap.why;
  m_missing.append(lost.iterations);
  core::logError(m_recording.rankText() + ": iterations " + gap.iterations.text() +
                 " were not recorded: " + gap.why);
  (void)m_recording.journal->append(formatGap(gap));
  settleJournal();
}

bool DiskSide::finish(const RunEnd& end) {
  m_thread.join();
  const std::string last[] = {formatTiming(m_recording.times()), formatEnd(end)};
  (void)m_recording.journal->append(last);
  settleJournal();
  if (m_recording.journal->isBehind() && m_trouble) m_recording.fail(m_trouble->error);
  const bool here = m_recording.journal->checkPlace().ok();
  m_store.release();
  m_recording.journal.reset();  // the lock with it
  return here;
}

core::Status DiskSide::completeness() const {
  if (!m_missing.empty())
    return core::Error(core::ErrorCode::kIo,
                       "iterations " + m_missing.text() + " are missing: " + m_whyMissing);
  if (m_recording.lostValues)
    return core::Error(core::ErrorCode::kIo, "the values of some iterations could not be written");
  return core::Ok{};
}

}  // namespace msdbg::dump
