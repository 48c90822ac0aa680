// Where the time of recording goes: seconds and bytes of each stage, on one rank. StageClock is thread-safe
// and cheap enough to be always on (two readings of the clock for a tensor); the rest are values.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace msdbg::dump {

enum class Stage {
  kSnapshot,    // copies of tensors (training thread)
  kStatistics,  // statistics and hashes of tensors, in one pass (training thread)
  kHash,        // of what goes into the file as it is
  kCompress,    // trials, and hashes of what was compressed, included
  kBuild,       // the HDF5 file in memory
  kWrite,       // to the file, fsync and rename included
  kWait,        // of training, for the disk
};
inline constexpr std::size_t kStages = 7;
std::string_view stageName(Stage stage);  // "snapshot"

struct StageTime {
  double seconds = 0;
  std::uint64_t bytes = 0;
};

struct RecordingTimes {
  double wallSeconds = 0;  // from the first iteration to the end of recording
  std::array<StageTime, kStages> stages;
  std::string writtenBy;  // how large values were written in the end: "training's threads, page cache"; or ""

  const StageTime& operator[](Stage stage) const { return stages[static_cast<std::size_t>(stage)]; }
  double seconds() const;  // of all stages; those of two threads overlap
};

class StageClock {
 public:
  using Clock = std::chrono::steady_clock;

  void start();  // the wall time; later calls do nothing
  void add(Stage stage, Clock::duration took, std::uint64_t bytes);
  RecordingTimes times() const;

 private:
  struct Count {
    std::atomic<std::int64_t> nanoseconds{0};
    std::atomic<std::uint64_t> bytes{0};
  };
  std::array<Count, kStages> m_counts;
  std::atomic<std::int64_t> m_start{0};  // of Clock, ns
};

/// Adds the time of a scope. No clock: does nothing.
class StageTimer {
 public:
  StageTimer(StageClock* clock, Stage stage, std::uint64_t bytes)
      : m_clock(clock), m_stage(stage), m_bytes(bytes), m_start(StageClock::Clock::now()) {}
  ~StageTimer() {
    if (m_clock) m_clock->add(m_stage, StageClock::Clock::now() - m_start, m_bytes);
  }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  StageClock* m_clock;
  Stage m_stage;
  std::uint64_t m_bytes;
  StageClock::Clock::time_point m_start;
};

}  // namespace msdbg::dump
