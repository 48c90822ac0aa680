#include "dump/stage_times.h"

#include <numeric>

namespace msdbg::dump {
namespace {

std::int64_t nanoseconds(StageClock::Clock::duration d) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
}
std::int64_t now() { return nanoseconds(StageClock::Clock::now().time_since_epoch()); }

}  // namespace

std::string_view stageName(Stage stage) {
  constexpr std::string_view kNames[kStages] = {"snapshot", "statistics", "hash", "compress",
                                                "build",    "write",      "wait"};
  return kNames[static_cast<std::size_t>(stage)];
}

double RecordingTimes::seconds() const {
  return std::accumulate(stages.begin(), stages.end(), 0.0,
                         [](double sum, const StageTime& stage) { return sum + stage.seconds; });
}

void StageClock::start() {
  std::int64_t never = 0;
  m_start.compare_exchange_strong(never, now());
}

void StageClock::add(Stage stage, Clock::duration took, std::uint64_t bytes) {
  Count& count = m_counts[static_cast<std::size_t>(stage)];
  count.nanoseconds.fetch_add(nanoseconds(took), std::memory_order_relaxed);
  count.bytes.fetch_add(bytes, std::memory_order_relaxed);
}

RecordingTimes StageClock::times() const {
  RecordingTimes times;
  const std::int64_t start = m_start;
  if (start != 0) times.wallSeconds = static_cast<double>(now() - start) / 1e9;
  for (std::size_t i = 0; i < kStages; ++i)
    times.stages[i] = {static_cast<double>(m_counts[i].nanoseconds) / 1e9, m_counts[i].bytes};
  return times;
}

}  // namespace msdbg::dump
