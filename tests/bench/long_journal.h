// A run whose journal is as long as that of a week: a commit a second, files merged as the recorder merges
// them (its own plan), the newest files really there. What they hold is made up: no statistics, a loss.
#pragma once

#include <cstdint>
#include <filesystem>

namespace msdbg::bench {

struct LongJournal {
  std::int64_t seconds = 7 * 24 * 3600;
  std::int64_t iterationsPerSecond = 10;
  std::uint64_t bytesPerIteration = 1000;  // what the recorder would have written, so that files fill up
};

/// One rank.
void writeLongRun(const std::filesystem::path& run, const LongJournal& what);

}  // namespace msdbg::bench
