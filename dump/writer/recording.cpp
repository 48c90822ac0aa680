#include "dump/writer/recording.h"

#include <cmath>

#include "core_engine/base/log.h"
#include "dump/writer/disk_space.h"

namespace msdbg::dump {

static constexpr std::uint64_t kLargestSegment = 4ull << 30;

Recording::Recording(const Recorder::Place& where, const RecordOptions& what,
                     std::shared_ptr<JournalWriter> lines, std::unique_ptr<HitWatch> watch)
    : place(where),
      options(what),
      folder(where.run / ("rank_" + std::to_string(where.rank.value))),
      journal(std::move(lines)),
      spareFile(std::make_shared<SpareFile>(folder)),
      hits(std::move(watch)),
      firstFault(where.rank, where.ranks),
      pool(what.bufferBytes),
      pending(what.bufferBytes, segmentBytes(true), spools() ? &hits->windows() : nullptr) {
  pending.commitWithin(std::chrono::milliseconds(std::llround(what.commitSeconds * 1000)));
}

// Four segments fit into a rank's share, so that dropping one keeps most of what may be kept, and six where
// values are written at once, for those lie on the disk before old ones go. That share is no more than what
// the disk has to spare. Values that wait in memory take half of it at most. A segment may become a third
// larger than is said here (PendingIterations::belongsTo).
std::uint64_t Recording::segmentBytes(bool inMemory) const {
  const auto ranks = static_cast<std::uint64_t>(std::max(1, place.ranks));
  const auto disk = diskSpace(place.run);
  const std::uint64_t spare = disk.ok() ? spareBytes(*disk, options.keepFree) : options.maxBytes;
  const std::uint64_t room = std::min(options.maxBytes, spare) / ranks;
  const std::uint64_t most =
      inMemory ? std::min(options.bufferBytes / 8 * 3, room / 16 * 3) : std::min(kLargestSegment, room / 8);
  return std::max<std::uint64_t>(1, most);
}

RecordingTimes Recording::times() const {
  RecordingTimes all = clock.times();
  if (wroteLarge) all.writtenBy = writing.load().text();
  return all;
}

void Recording::fail(const core::Error& error) {
  if (!pending.status().ok()) return;  // said already
  gaveUp = !mayLose();
  const core::Error why(error.code(), error.message() + whatToDo(folder));
  const bool here = journal && journal->checkPlace().ok();
  core::logError(
      rankText() + ": recording stopped: " + why.message() + "; " +
      (!gaveUp ? "training goes on unrecorded"
       : options.onError
           ? "training is stopped (--on-error stop)"
           : "training is stopped, for nothing was recorded (--on-error continue lets it go on)") +
      (here ? ", and what was recorded before stays readable"
            : ", and what was recorded before is where the run was moved to, unless it was removed"));
  pending.fail(why);
}

}  // namespace msdbg::dump
