#include "dump/writer/pending_iterations.h"

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "dump/statistics_columns.h"
#include "dump/writer/outliers.h"
#include "dump/writer/segment_writer.h"

namespace msdbg::dump {
namespace {

constexpr std::size_t kMostIterations = 4096;                // of a segment
constexpr auto kSpareSlice = std::chrono::milliseconds(20);  // a row may come in to be encoded
constexpr auto kLeastReserve = std::chrono::milliseconds(250), kMostReserve = std::chrono::milliseconds(800);

std::uint64_t statisticsBytes(const IterationRecord& record) {
  return record.statistics.size() * sizeof(watch::StatisticsRow);
}

// A segment keeps or loses its values as a whole: values that are sure to stay do not share one with
// undecided ones, and these only with few others.
class Sharing {
 public:
  explicit Sharing(const HitWindows* windows) : m_windows(windows) {}
  bool takes(const IterationRecord& record) {
    if (!m_windows || record.rows.empty()) return true;
    const bool sure = m_windows->keep(record.iteration) == Keep::kYes;
    ++(sure ? m_sure : m_undecided);
    return m_undecided == 0 || (m_sure == 0 && m_undecided <= m_windows->mostTogether());
  }

 private:
  const HitWindows* m_windows;
  std::int64_t m_sure = 0, m_undecided = 0;
};

}  // namespace

PendingIterations::PendingIterations(std::uint64_t bufferBytes, std::uint64_t segmentBytes,
                                     const HitWindows* windows)
    : m_bufferBytes(bufferBytes), m_segmentBytes(segmentBytes), m_windows(windows) {
  sem_init(&m_wake, 0, 0);
}

PendingIterations::~PendingIterations() { sem_destroy(&m_wake); }

void PendingIterations::wake() noexcept { sem_post(&m_wake); }

bool PendingIterations::open() const {
  const std::lock_guard lock(m_mutex);
  return !m_closed && !m_failure;
}

void PendingIterations::begin(std::shared_ptr<IterationRecord> record) {
  const std::lock_guard lock(m_mutex);
  if (!m_closed && !m_failure) m_current = std::move(record);
}

void PendingIterations::addStatistics(std::int64_t tensor, const watch::StatisticsRow& row) {
  const std::lock_guard lock(m_mutex);
  if (!m_current) return;
  m_current->statistics[static_cast<std::size_t>(tensor)] = row;
  m_current->seen[static_cast<std::size_t>(tensor)] = true;
}

void PendingIterations::addRow(RowKey key, TensorRow row) {
  const std::lock_guard lock(m_mutex);
  if (!m_current) return;
  const std::uint64_t bytes = row.file ? row.newInFile : row.rawBytes, memory = row.memoryBytes();
  const bool encode = row.chunks.empty() && SegmentWriter::ownChunks(row.rawBytes);
  const auto [at, fresh] = m_current->rows.try_emplace(key, std::move(row));
  if (!fresh) return;  // one value per iteration: the first is the one that was computed from
  m_current->segmentBytes += bytes;
  m_current->memoryBytes += memory;
  if (key.section == Section::kTensor && !at->second.file) m_current->valueBytes += at->second.rawBytes;
  m_pendingBytes += memory;
  if (m_windows || !encode) return;  // most undecided values are never written
  ++m_current->toEncode;
  m_toEncode.push_back({m_current, key, &at->second});
  wake();
}

void PendingIterations::forgetStatistics(std::span<const core::TensorId> hashes,
                                         std::span<const core::TensorId> flags,
                                         std::span<const core::TensorId> nothing) {
  const std::lock_guard lock(m_mutex);
  if (!m_current) return;
  for (const core::TensorId id : hashes) {
    watch::StatisticsRow& row = m_current->statistics[id.index()];
    row = hashOnly(row.values.hash);
  }
  for (const core::TensorId id : flags) {
    watch::StatisticsRow& row = m_current->statistics[id.index()];
    row = {core::flagsFrom(row.values), {}, {}};
  }
  for (const core::TensorId id : nothing) m_current->seen[id.index()] = false;
}

void PendingIterations::dropRows() {
  const std::lock_guard lock(m_mutex);
  if (!m_current) return;
  m_current->valuesDropped = true;
  dropRowsOf(m_current);
}

std::shared_ptr<const IterationRecord> PendingIterations::current() const {
  const std::lock_guard lock(m_mutex);
  return m_current;
}

void PendingIterations::finish(const core::Scalars& scalars) {
  const std::lock_guard lock(m_mutex);
  if (!m_current) return;
  m_current->complete = true;
  m_current->finishedAt = unixTime();
  m_current->finished = Clock::now();
  m_current->scalars = scalars;
  enqueue();
  wake();
}

void PendingIterations::enqueue() {
  const std::uint64_t statistics = statisticsBytes(*m_current);
  m_current->segmentBytes += statisticsBytesOf(*m_current->plan);
  m_current->memoryBytes += statistics;
  m_pendingBytes += statistics;
  m_finished.push_back(std::move(m_current));
  m_current.reset();
}

void PendingIterations::force() {
  m_forced = m_finished.size();
  wake();
}

template <typename Done>
void PendingIterations::commitUntil(Done done) {
  std::unique_lock lock(m_mutex);
  const auto enough = [&] { return m_closed || m_failure || m_finished.empty() || done(); };
  if (enough()) return;
  force();
  for (std::int64_t seen = m_commits; !enough();) {
    m_room.wait(lock, [&] { return m_commits != seen || enough(); });
    if (std::exchange(seen, m_commits) != m_commits) m_progress();
  }
}

void PendingIterations::waitForRoom() {
  commitUntil([&] {
    const bool late = !m_refused && Clock::now() > m_finished.front()->finished + m_commitWithin;
    return m_pendingBytes <= m_bufferBytes && !late;
  });
}

bool PendingIterations::cut(Clock::duration next) {
  const std::lock_guard lock(m_mutex);
  if (m_finished.empty() || m_closed || m_failure) return false;
  std::size_t first = m_finished.size() - 1;  // of those in the last file
  while (first > 0 && !m_finished[first]->beginsFile) --first;
  bool isFull = false;
  const bool whole = first + segmentLength(first, isFull) == m_finished.size();
  if (whole && !isFull && nextFits(first) && Clock::now() + next < deadline(first)) return false;
  force();
  return true;
}

void PendingIterations::cutHere() {
  const std::lock_guard lock(m_mutex);
  force();
}

void PendingIterations::waitForFile() {
  commitUntil([&] {
    return m_refused || std::none_of(m_finished.begin() + 1, m_finished.end(),
                                     [](const auto& record) { return record->beginsFile; });
  });
}

void PendingIterations::commitAll() {
  commitUntil([this] { return m_refused; });
}

// An iteration is mostly as large as the one before. One that turned out not to fit would lie in the file
// that the others take, and be read back and written again.
bool PendingIterations::nextFits(std::size_t first) const {
  std::uint64_t bytes = 0;
  for (std::size_t i = first; i < m_finished.size(); ++i) bytes += m_finished[i]->segmentBytes;
  return belongsTo(bytes, m_finished.back()->segmentBytes);
}

// A segment comes as near to its size as it can, and is a third more at most (two iterations of two thirds).
// Were it never more, iterations of just over a half would be one each, and share no equal values.
bool PendingIterations::belongsTo(std::uint64_t segment, std::uint64_t iteration) const {
  return segment + iteration / 2 <= m_segmentBytes;
}

void PendingIterations::setSegmentBytes(std::uint64_t bytes) {
  const std::lock_guard lock(m_mutex);
  m_segmentBytes = bytes;
}

void PendingIterations::requestCommit() noexcept {
  m_commitRequested.store(true);
  wake();
}

void PendingIterations::close() {
  const std::lock_guard lock(m_mutex);
  m_closed = true;
  finishIncomplete();
  m_room.notify_all();
  wake();
}

void PendingIterations::finishIncomplete() {
  if (m_current && std::find(m_current->seen.begin(), m_current->seen.end(), true) != m_current->seen.end()) {
    m_current->finishedAt = unixTime();
    m_current->finished = Clock::now();
    enqueue();
  }
  m_current.reset();
}

void PendingIterations::drop() {
  m_current.reset();
  m_finished.clear();
  m_toEncode.clear();
  m_settled = 0;
  m_pendingBytes = 0;
  m_room.notify_all();
}

void PendingIterations::fail(core::Error error) {
  const std::lock_guard lock(m_mutex);
  if (!m_failure) m_failure = std::move(error);
  drop();
  wake();
}

core::Status PendingIterations::status() const {
  const std::lock_guard lock(m_mutex);
  return m_failure ? core::Status(*m_failure) : core::Status();
}

std::size_t PendingIterations::segmentLength(std::size_t first, bool& isFull) {
  CommonLayouts layouts;
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  isFull = true;
  Sharing sharing(m_windows);
  for (; first + count < m_finished.size(); ++count) {
    IterationRecord& record = *m_finished[first + count];
    m_layouts.settle(record);
    if (!sharing.takes(record)) break;
    const bool fits = count == 0 || (count < kMostIterations && record.plan == m_finished[first]->plan &&
                                     belongsTo(bytes, record.segmentBytes) && !record.beginsFile);
    if (!layouts.takes(record) || !fits) return count;
    bytes += record.segmentBytes;
  }
  isFull = bytes >= m_segmentBytes;  // who does not share may still lose his values: no reason to hurry
  return count;
}

bool PendingIterations::encodedUpTo(std::size_t count) const {
  return std::all_of(m_finished.begin(), m_finished.begin() + static_cast<std::ptrdiff_t>(count),
                     [](const auto& record) { return record->toEncode == 0; });
}

void PendingIterations::queueEncoding(const std::shared_ptr<IterationRecord>& record) {
  if (std::exchange(record->encodingQueued, true)) return;
  for (auto& [tensor, row] : record->rows) {
    if (!row.chunks.empty() || !SegmentWriter::ownChunks(row.rawBytes)) continue;
    ++record->toEncode;
    m_toEncode.push_back({record, tensor, &row});
  }
}

void PendingIterations::dropRowsOf(const std::shared_ptr<IterationRecord>& record) {
  std::erase_if(m_toEncode, [&](const Encode& job) { return job.record == record; });
  const std::uint64_t statistics = record == m_current ? 0 : statisticsBytes(*record);
  m_pendingBytes -= record->memoryBytes - statistics;
  record->rows.clear();
  record->layouts.reset();
  record->segmentBytes = record == m_current ? 0 : statisticsBytesOf(*record->plan);
  record->memoryBytes = statistics;
  record->valueBytes = 0;
  record->toEncode = 0;
  m_room.notify_all();
}

// Only between two jobs: nobody reads these rows now.
void PendingIterations::dropUnwanted() {
  for (const auto& record : m_finished)
    if (!record->rows.empty() && m_windows->keep(record->iteration) == Keep::kNo) dropRowsOf(record);
}

void PendingIterations::keepNewest(std::uint64_t bytes, std::function<bool(std::int64_t)> isNeeded) {
  const std::lock_guard lock(m_mutex);
  // Where memory ends before, all would wait until training has to.
  m_newest = bytes <= m_bufferBytes / 4 ? bytes : 0;
  m_isNeeded = std::move(isNeeded);
}

void PendingIterations::dropValuesOf(const std::shared_ptr<IterationRecord>& record) {
  std::erase_if(m_toEncode, [&](const Encode& job) {
    return job.record == record && job.key.section == Section::kTensor;
  });
  record->toEncode = std::ranges::count(m_toEncode, record, &Encode::record);
  std::uint64_t memory = 0;
  std::erase_if(record->rows, [&](const auto& each) {
    const auto& [key, row] = each;
    if (key.section != Section::kTensor || row.file) return false;
    memory += row.memoryBytes();
    record->segmentBytes -= std::min(record->segmentBytes, row.rawBytes);
    return true;
  });
  record->memoryBytes -= memory;
  m_pendingBytes -= memory;
  record->valueBytes = 0;
  record->layouts.reset();
  record->valuesDropped = true;
  m_room.notify_all();
}

// Only between two jobs. Who has been overtaken has none to count, nor those before him but what is needed.
void PendingIterations::dropOvertaken() {
  std::uint64_t newer = 0;
  for (std::size_t i = m_finished.size(); i-- > m_settled;) {
    const std::shared_ptr<IterationRecord>& record = m_finished[i];
    if (newer >= m_newest && record->valuesDropped) return;
    if (newer >= m_newest && record->valueBytes > 0 && !m_isNeeded(record->iteration)) {
      dropValuesOf(record);
      continue;
    }
    newer += record->valueBytes;
  }
}

// Others may overtake what waits; but who is killed is to find values that are as new as the statistics: so
// these are written with each segment that is full of overtaken ones.
bool PendingIterations::isWorthWriting() const {
  std::uint64_t overtaken = 0;
  for (const auto& record : m_finished) {
    if (!record->valuesDropped) break;
    overtaken += record->segmentBytes;
  }
  return overtaken >= m_segmentBytes || 2 * m_pendingBytes > m_bufferBytes;
}

// Early enough that building and writing are done within the second.
PendingIterations::Clock::time_point PendingIterations::deadline(std::size_t first) const {
  return m_finished[first]->finished + m_commitWithin - m_reserve;
}

PendingIterations::Work PendingIterations::next(bool spareWork) {
  std::unique_lock lock(m_mutex);
  while (true) {
    if (m_commitRequested.exchange(false)) m_forced = m_finished.size();
    if (m_windows) dropUnwanted();
    if (m_newest > 0) dropOvertaken();
    bool isFull = false;
    const std::size_t count = m_finished.empty() ? 0 : segmentLength(0, isFull);
    isFull = isFull && (m_newest == 0 || m_settled > 0 || isWorthWriting());
    const bool due =
        count > 0 && (isFull || m_settled > 0 || m_forced > 0 || m_closed || Clock::now() >= deadline());
    if (due && m_newest > 0 && m_settled == 0) m_settled = m_finished.size();
    if (due && m_windows)
      for (std::size_t i = 0; i < count; ++i) queueEncoding(m_finished[i]);
    if (due && encodedUpTo(count)) {
      return Commit{{m_finished.begin(), m_finished.begin() + static_cast<std::ptrdiff_t>(count)}};
    }
    if (!m_toEncode.empty()) {
      Encode job = m_toEncode.front();
      m_toEncode.pop_front();
      return job;
    }
    if (m_closed) return Stop{};
    if (spareWork)
      return Spare{Clock::now() + kSpareSlice, count > 0 ? deadline() : Clock::time_point::max()};
    sleepUntil(lock, count > 0 ? std::optional(deadline()) : std::nullopt);
  }
}

void PendingIterations::sleepUntil(std::unique_lock<std::mutex>& lock,
                                   std::optional<Clock::time_point> until) {
  lock.unlock();
  if (until) {
    const auto sinceStart =
        std::chrono::duration_cast<std::chrono::nanoseconds>(until->time_since_epoch()).count();
    const timespec time = {static_cast<time_t>(sinceStart / 1000000000),
                           static_cast<long>(sinceStart % 1000000000)};
    sem_clockwait(&m_wake, CLOCK_MONOTONIC, &time);  // libstdc++'s steady_clock
  } else {
    sem_wait(&m_wake);
  }
  while (sem_trywait(&m_wake) == 0) continue;  // one look at the state answers all of them
  lock.lock();
}

void PendingIterations::encoded(const Encode& job) {
  const std::lock_guard lock(m_mutex);
  if (m_failure) return;
  const std::uint64_t now = job.row->memoryBytes();
  --job.record->toEncode;
  m_pendingBytes = m_pendingBytes - job.row->rawBytes + now;
  job.record->memoryBytes = job.record->memoryBytes - job.row->rawBytes + now;
  m_room.notify_all();
}

void PendingIterations::committed(const Commit& segment, Clock::duration took) {
  const std::lock_guard lock(m_mutex);
  if (m_failure) return;
  for (const auto& record : segment.records) m_pendingBytes -= record->memoryBytes;
  m_finished.erase(m_finished.begin(),
                   m_finished.begin() + static_cast<std::ptrdiff_t>(segment.records.size()));
  m_forced -= std::min(m_forced, segment.records.size());
  m_settled -= std::min(m_settled, segment.records.size());
  m_reserve = std::clamp<Clock::duration>(took * 2, kLeastReserve, kMostReserve);
  m_refused = false;
  ++m_commits;
  m_room.notify_all();
}

void PendingIterations::refused() {
  const std::lock_guard lock(m_mutex);
  m_refused = true;
  m_room.notify_all();
}

bool PendingIterations::pauseFor(Clock::duration time) {
  std::unique_lock lock(m_mutex);
  const Clock::time_point until = Clock::now() + time;
  const auto full = [this] { return m_pendingBytes > m_bufferBytes && !m_finished.empty(); };
  const bool ended = m_closed;
  while (!full() && m_closed == ended && Clock::now() < until) sleepUntil(lock, until);
  return full();
}

// More than what is too much, so that it is not asked again for every iteration.
void PendingIterations::giveUpSome() {
  const std::lock_guard lock(m_mutex);
  const std::uint64_t enough = m_bufferBytes / 4 * 3;
  for (std::size_t i = 0; i < m_finished.size() && m_pendingBytes > enough; ++i) {
    if (m_finished[i]->rows.empty()) continue;
    m_finished[i]->valuesDropped = m_givenUp.values = true;
    dropRowsOf(m_finished[i]);
  }
  while (!m_finished.empty() && m_pendingBytes > enough) giveUpOldest();
}

void PendingIterations::giveUpOldest() {
  const std::shared_ptr<IterationRecord> oldest = m_finished.front();
  dropRowsOf(oldest);
  m_pendingBytes -= oldest->memoryBytes;
  m_givenUp.iterations.push_back(oldest->iteration);
  m_finished.pop_front();
  m_forced -= std::min<std::size_t>(m_forced, 1);
  m_settled -= std::min<std::size_t>(m_settled, 1);
  m_room.notify_all();
}

void PendingIterations::giveUpAll() {
  const std::lock_guard lock(m_mutex);
  while (!m_finished.empty()) giveUpOldest();
}

bool PendingIterations::closed() const {
  const std::lock_guard lock(m_mutex);
  return m_closed;
}

PendingIterations::GivenUp PendingIterations::takeGivenUp() {
  const std::lock_guard lock(m_mutex);
  return std::exchange(m_givenUp, {});
}

}  // namespace msdbg::dump
