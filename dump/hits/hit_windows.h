// HitWindows: which iterations keep their values because a hit is near, and which are not decided yet: those
// are the flight recorder. Counts recorded iterations only. Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "core_engine/base/ids.h"
#include "dump/writer/retention.h"

namespace msdbg::dump {

class HitWindows {
 public:
  /// So many recorded iterations before and after a hit are kept with it.
  HitWindows(std::int64_t before, std::int64_t after) : m_before(before), m_after(after) {}

  /// A recorded iteration has ended, with or without a hit on some rank; ascending.
  void finished(core::Iteration iteration, bool hit);
  /// Nothing more will happen: what is undecided is not kept.
  void close();
  /// Of any iteration; kUndecided until `before` later ones have ended, and for the one in progress.
  Keep keep(std::int64_t iteration) const { return keep(iteration, iteration); }
  /// The most that is said of any iteration from `first` to `last`.
  Keep keep(std::int64_t first, std::int64_t last) const;
  /// So many undecided iterations may share what keeps or loses its values as a whole.
  std::int64_t mostTogether() const { return m_before < 16 ? 1 : m_before / 8; }

 private:
  struct Range {
    std::int64_t first, last;
  };
  void decideToKeep(std::int64_t first, std::int64_t last);

  const std::int64_t m_before, m_after;
  mutable std::mutex m_mutex;
  std::deque<std::int64_t> m_open;  // ended and undecided, oldest first; at most `before`
  std::vector<Range> m_kept;        // ascending, apart
  std::int64_t m_follow = 0;        // so many iterations to come are kept for the last hit
  std::int64_t m_decided = -1;      // up to here all is decided
};

}  // namespace msdbg::dump
